//! Extractive compaction of 150,000 tokens: the budget is 50 ms on one core.

use std::fmt::Write as _;
use std::hint::black_box;

use context::turn::{Outcome, ToolCall, ToolResult};
use context::{Heuristic, Part, Role, Tokens, Turn, TurnDraft, TurnId, extract};
use criterion::{Criterion, criterion_group, criterion_main};

/// A session of reads, edits and test runs of at least `size` tokens, the same each time.
fn session(size: u64) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut parent = TurnId::ROOT;
    let mut held = 0;
    let mut round: u64 = 0;
    while held < size {
        for draft in exchange(round) {
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            held += turn.tokens().get();
            turns.push(turn);
        }
        round += 1;
    }
    turns
}

fn exchange(round: u64) -> [TurnDraft; 4] {
    let path = format!("crates/core_{}/src/module_{}.rs", round % 7, round % 41);
    let mut listing = String::new();
    for line in 1..90_u64 {
        let name = (line * 31 + round * 17) % 997;
        let _ = writeln!(
            listing,
            "{line:>5}→    let value_{name} = self.loadRecord{}(index, {}); // read the row",
            name % 83,
            line * round % 4_000
        );
    }
    let id = format!("call_{round}");
    [
        TurnDraft::text(
            Role::User,
            format!("Please fix the row order in {path}, never drop a row."),
        ),
        TurnDraft::said(
            Role::Assistant,
            vec![
                Part::Text(
                    format!("I will read {path} first and then change value_{round}.").into(),
                ),
                Part::Call(ToolCall {
                    id: id.as_str().into(),
                    name: "Read".into(),
                    arguments: format!("{{\"file_path\":\"/home/me/project/{path}\"}}").into(),
                }),
            ],
        ),
        TurnDraft::said(
            Role::Tool,
            vec![Part::Result(ToolResult {
                call: id.as_str().into(),
                text: listing.into(),
                outcome: Outcome::Succeeded,
            })],
        ),
        TurnDraft::text(
            Role::Assistant,
            "The order is right now; next I run the tests.",
        ),
    ]
}

fn compaction(criterion: &mut Criterion) {
    let turns = session(158_000);
    let tail = turns.len() - 8;
    let (old, tail) = turns.split_at_checked(tail).unwrap_or_default();
    let mut group = criterion.benchmark_group("extract 150k tokens");
    group.sample_size(20);
    for budget in [2_000, 4_000, 8_000] {
        group.bench_function(format!("to {budget}"), |bencher| {
            bencher
                .iter(|| extract::extract(black_box(old), tail, Tokens::new(budget), &Heuristic));
        });
    }
    group.finish();
}

criterion_group!(benches, compaction);
criterion_main!(benches);
