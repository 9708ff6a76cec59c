//! The cost of counting regret in a request: the budget is 30 µs. Beside it, in the same run, the whole request: a
//! body of about 0.8 MB that is read, recognised and decided about.
#![expect(
    clippy::expect_used,
    reason = "a bench that cannot be set up has nothing to measure"
)]

use std::hint::black_box;

use context::regret::{Hidden, Sight, Trail};
use context::turn::{CallId, Outcome, ToolCall, ToolResult};
use context::{Heuristic, Part, Role, Turn, TurnDraft, TurnId};
use conversation::{Commons, Conversation, Input, Joining, Kin, Origin, Relation, Terms, new_id};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use history::{Labels, Tenant};
use jiff::Timestamp;
use memchr::memmem::find;
use serde_json::json;
use wire::api::Dialect;

/// The steps of the conversation.
const STEPS: usize = 280;

/// The text of a tool result: 2.7 kB.
fn output(step: usize) -> String {
    format!("{step:>6} let window = parse(body)?; // crates/wire/src/api\n").repeat(50)
}

/// A step: a call of a tool, and what it got.
fn step(index: usize, tool: &str, arguments: &str) -> [Turn; 2] {
    let call = CallId::from(&*format!("call-{index}"));
    let asked = Part::Call(ToolCall {
        id: call.clone(),
        name: tool.into(),
        arguments: arguments.into(),
    });
    let got = Part::Result(ToolResult {
        call,
        text: output(index).into(),
        outcome: Outcome::Succeeded,
    });
    [(Role::Assistant, asked), (Role::Tool, got)]
        .map(|(role, part)| TurnDraft::said(role, vec![part]).after(TurnId::ROOT, &Heuristic))
}

/// A model that no longer sees most of the conversation, which has to be searched.
struct Saw {
    hidden: Hidden,
    text: String,
}

impl Sight for Saw {
    fn hidden(&self) -> Hidden {
        self.hidden
    }

    fn shows(&self, _: &str) -> bool {
        false
    }

    fn hides(&self, identifier: &str) -> bool {
        find(self.text.as_bytes(), identifier.as_bytes()).is_some()
    }

    fn front(&self) -> Vec<&str> {
        Vec::new()
    }
}

fn trails(criterion: &mut Criterion) {
    let mut known = Trail::default();
    for index in 0..STEPS {
        let arguments = format!(r#"{{"file_path":"/src/file_{index}.rs"}}"#);
        known.take(index * 2, &step(index, "Read", &arguments), None);
    }
    let saw = |turns: usize| Saw {
        hidden: Hidden {
            turns,
            results: turns,
        },
        text: (0..STEPS).map(output).collect(),
    };
    let read = step(STEPS, "Read", r#"{"file_path":"/src/file_3.rs"}"#);
    let search = step(
        STEPS,
        "Grep",
        r#"{"pattern":"never_said_before","path":"src"}"#,
    );
    let mut group = criterion.benchmark_group("regret");
    for (name, sight, new) in [
        ("a step, nothing hidden", saw(0), &read),
        ("a step after a swap", saw(500), &read),
        ("a search after a swap, through 0.8 MB", saw(500), &search),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || known.clone(),
                |trail| black_box(trail.take(STEPS * 2, new, Some(&sight))),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

/// The body of a request with so many steps.
fn body(steps: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "Port the parser."})];
    for index in 0..steps {
        let id = format!("toolu_{index:024}");
        let path = format!("/src/file_{index}.rs");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": output(index)}]}));
    }
    json!({"model": "claude-opus-5-5", "max_tokens": 32_000, "messages": messages}).to_string()
}

/// Brings a request to its conversation and has it decided about.
fn send(commons: &Commons, conversation: &mut Option<Conversation>, body: &str) {
    let read = commons.read(Tenant::ANONYMOUS, Dialect::Anthropic, body.as_bytes());
    let (request, elements) = read.expect("a request");
    let now = Timestamp::from_second(1_000_000).expect("a time");
    let from = Origin {
        tenant: Tenant::ANONYMOUS,
        url: "bench",
        labels: Labels::default(),
        names_agents: false,
    };
    let incoming = commons.incoming(&request, elements, from, now);
    let conversation = conversation.get_or_insert_with(|| {
        let id = new_id(&[0; 32], incoming.tenant, (TurnId::ROOT, 0), now);
        Conversation::begin(id, Terms::default().into(), &incoming, Kin::default()).0
    });
    let joining = conversation.join(&incoming, Relation::GoesOn, Some(&[]));
    commons
        .elements()
        .remember(incoming.keyed, incoming.head(), &incoming.elements);
    let Joining::Joined(mut flight) = joining else {
        return;
    };
    black_box(conversation.on(Input::Request(&incoming, &mut flight), now));
    flight.take_pending();
    conversation.on(Input::Landed(&flight), now);
}

fn requests(criterion: &mut Criterion) {
    let (before, after) = (body(STEPS), body(STEPS + 1));
    let mut group = criterion.benchmark_group("request");
    group.sample_size(20);
    group.bench_function("the next step of 0.8 MB", |bencher| {
        bencher.iter_batched_ref(
            || {
                let commons = Commons::new([0; 32]);
                let mut conversation = None;
                send(&commons, &mut conversation, &before);
                (commons, conversation)
            },
            |(commons, conversation)| send(commons, conversation, &after),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, trails, requests);
criterion_main!(benches);
