//! One decision of each shipped strategy: below its threshold, which is nearly every request, and inside a
//! compaction. The budget is 10 µs a request.
#![expect(
    clippy::expect_used,
    reason = "a bench that cannot be set up has nothing to measure"
)]

use std::hint::black_box;

use context::turn::{CallId, Outcome, ToolCall, ToolResult};
use context::{Heuristic, Part, Role, Tokens, Turn, TurnDraft, TurnId};
use conversation::homunculus::hosted::{HostSettings, Hosted, StrategyProgram};
use conversation::homunculus::{Action, Event, Homunculus, Limits, Outline, Path, Prices, When};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use history::MarkId;
use jiff::{SignedDuration, Timestamp};
use plumb::modules::BuiltIn;

const TURNS: usize = 400;

fn outline() -> Outline {
    let mut parent = TurnId::ROOT;
    let turns: Vec<Turn> = (0..TURNS)
        .map(|index| {
            let role = if index % 2 == 0 {
                Role::User
            } else {
                Role::Assistant
            };
            let turn = TurnDraft::text(role, "abcd".repeat(496)).after(parent, &Heuristic);
            parent = turn.id();
            turn
        })
        .collect();
    Outline::of(&turns)
}

fn machine(program: &std::sync::Arc<StrategyProgram>, window: u64) -> Homunculus<Hosted> {
    let prices = Prices {
        input: 3.0,
        output: 15.0,
        cache_read: 0.3,
        cache_write: 3.75,
        ttl: SignedDuration::from_mins(5),
        cache_minimum: Tokens::new(1024),
    };
    let limits = Limits::for_window(Tokens::new(window), prices).unguarded();
    let strategy = Hosted::new(std::sync::Arc::clone(program), HostSettings::default());
    Homunculus::new(strategy, limits)
}

fn decide(criterion: &mut Criterion) {
    let outline = outline();
    let now = Timestamp::from_second(1_000_000).expect("a time");
    for program in StrategyProgram::all() {
        let path = Path::new(&outline, TURNS, &[]);
        let mut group = criterion.benchmark_group(&**program.name());
        // A third of the window.
        let mut below = machine(&program, 600_000);
        below.on(Event::Request(path), now);
        group.bench_function("below the threshold", |bencher| {
            bencher.iter(|| black_box(below.on(Event::Request(path), now)));
        });
        let full = 215_000;
        let fresh = machine(&program, full);
        group.bench_function("begins to compact", |bencher| {
            bencher.iter_batched_ref(
                || fresh.clone(),
                |machine| black_box(machine.on(Event::Request(path), now)),
                BatchSize::SmallInput,
            );
        });
        let mut waiting = fresh.clone();
        let begun = waiting.on(Event::Request(path), now);
        let order = begun.iter().find_map(|action| match action {
            Action::Prepare(order) => Some(*order),
            _ => None,
        });
        if let Some(order) = order {
            let made = Event::Prepared {
                job: order.job,
                mark: MarkId::from_bytes([1; 16]),
                tokens: Tokens::new(2_000),
            };
            waiting.on(made, now);
            group.bench_function("swaps", |bencher| {
                bencher.iter_batched_ref(
                    || waiting.clone(),
                    |machine| black_box(machine.on(Event::Request(path), now)),
                    BatchSize::SmallInput,
                );
            });
        }
        group.finish();
    }
}

/// The cost of each step of the agent for a strategy that reads pulses, and for others.
fn hear(criterion: &mut Criterion) {
    let call = ToolCall {
        id: CallId::from("call"),
        name: "read".into(),
        arguments: "{\"path\":\"src/main.rs\"}".into(),
    };
    let result = ToolResult {
        call: call.id.clone(),
        text: "the parser reads the next line and looks at it. "
            .repeat(1_000)
            .into(),
        outcome: Outcome::Succeeded,
    };
    let drafts = [
        TurnDraft::said(Role::Assistant, vec![Part::Call(call)]),
        TurnDraft::said(Role::Tool, vec![Part::Result(result)]),
    ];
    let step = drafts.map(|draft| draft.after(TurnId::ROOT, &Heuristic));
    let outline = outline();
    let path = Path::new(&outline, TURNS, &[]);
    let now = Timestamp::from_second(1_000_000).expect("a time");
    let reads = StrategyProgram::new("reads", READS, &BuiltIn).expect("it checks");
    let mut group = criterion.benchmark_group("a step of 48 kB");
    for program in [StrategyProgram::default_one(), reads] {
        let mut machine = machine(&program, 600_000);
        group.bench_function(&**program.name(), |bencher| {
            bencher.iter(|| {
                machine.on(Event::Said(When::Now, &step), now);
                black_box(machine.on(Event::Request(path), now))
            });
        });
    }
    group.finish();
}

const READS: &str =
    "let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(kind = \"pulse\" && repeats > 100) ; map({ swap: true }) ; commands
  answers ; discard
}";

criterion_group!(benches, decide, hear);
criterion_main!(benches);
