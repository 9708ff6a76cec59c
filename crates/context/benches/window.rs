//! The cost of a position of a window, by the number of turns: it should not depend on it.

use std::hint::black_box;

use context::window::ContextWindow;
use context::{Heuristic, Role, Tokens, TurnDraft};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn window(turns: usize) -> ContextWindow {
    let drafts = (0..turns).map(|at| {
        let role = if at % 2 == 0 {
            Role::User
        } else {
            Role::Assistant
        };
        TurnDraft::text(role, format!("turn {at}"))
    });
    let empty = ContextWindow::new(Tokens::new(1_000_000));
    drafts.fold(empty, |window, draft| window.append(draft, &Heuristic))
}

/// `duplicate` at every position; the figure per element is the cost of one position.
fn duplicate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("duplicate, per position");
    for turns in [1_000, 10_000, 100_000] {
        let store = window(turns).duplicate();
        group.throughput(Throughput::Elements(turns as u64 + 1));
        group.bench_with_input(
            BenchmarkId::from_parameter(turns),
            &store,
            |bencher, store| {
                bencher.iter(|| {
                    for here in store.values() {
                        black_box(&here);
                    }
                });
            },
        );
    }
    group.finish();
}

/// One more turn at the end of a long window.
fn append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append one turn");
    for turns in [1_000, 10_000, 100_000] {
        let window = window(turns);
        group.bench_with_input(
            BenchmarkId::from_parameter(turns),
            &window,
            |bencher, window| {
                bencher.iter(|| window.append(TurnDraft::text(Role::User, "one more"), &Heuristic));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, duplicate, append);
criterion_main!(benches);
