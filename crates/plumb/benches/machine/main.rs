//! Messages through chains, fans and feedback loops: the machine, the same written by hand in Rust, and
//! the same as tasks with channels between them.

mod by_hand;
mod channels;

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use plumb::graph::{Builder, Code, Graph, Kind, NodeId, Op, Selector};
use plumb::machine::{Machine, Program};
use plumb::span::Span;
use plumb::syntax::ast::Binary;
use plumb::types::Type;
use plumb::value::Value;

use channels::Tasks;

/// Calls of `map` and `filter` alternate in a chain.
const CHAINS: [usize; 3] = [1, 10, 100];
const FAN: usize = 8;
const ROUNDS: i64 = 100;

fn record(number: i64) -> Value {
    let field = |name: &str, value: Value| (Arc::<str>::from(name), value);
    let fields = vec![
        field("kind", Value::from("usage")),
        field("count", Value::Int(number)),
    ];
    Value::record(fields).unwrap_or(Value::Null)
}

fn field(name: &str) -> Op {
    Op::Field(Box::new(Op::Message), name.into())
}

fn binary(operator: Binary, one: Op, two: i64) -> Op {
    Op::Binary(
        operator,
        Box::new(one),
        Box::new(Op::Constant(Value::Int(two))),
    )
}

fn code(op: Op) -> Arc<Code> {
    let (text, span) = ("".into(), Span::default());
    Arc::new(Code { op, text, span })
}

/// `{ kind: kind, count: count + 1 }`.
fn next() -> Kind {
    let fields = vec![
        ("kind".into(), field("kind")),
        ("count".into(), binary(Binary::Plus, field("count"), 1)),
    ];
    Kind::Map(code(Op::Record(fields)))
}

/// `count < bound`.
fn below(bound: i64) -> Kind {
    Kind::Filter(
        code(binary(Binary::Less, field("count"), bound)),
        Selector::Partial,
    )
}

/// Input, so many maps and filters in turn, output.
fn chain(length: usize) -> Graph {
    let mut builder = Builder::new("chain");
    let mut last = builder.node(Kind::Input, "in", Span::default());
    for at in 0..length {
        let kind = if at % 2 == 0 { next() } else { below(i64::MAX) };
        let node = builder.node(kind, "node", Span::default());
        builder.edge((last, 0), (node, 0), Type::Json);
        last = node;
    }
    end(builder, last)
}

fn end(mut builder: Builder, last: NodeId) -> Graph {
    let out = builder.node(Kind::Output, "out", Span::default());
    builder.edge((last, 0), (out, 0), Type::Json);
    builder.finish()
}

/// A copy to eight maps and a merge of them.
fn fan() -> Graph {
    let mut builder = Builder::new("fan");
    let input = builder.node(Kind::Input, "in", Span::default());
    let copy = builder.node(Kind::Copy, "copy", Span::default());
    builder.edge((input, 0), (copy, 0), Type::Json);
    let maps: Vec<NodeId> = (0..FAN)
        .map(|_| builder.node(next(), "map", Span::default()))
        .collect();
    let merge = builder.node(Kind::Merge, "merge", Span::default());
    for (port, map) in (0..).zip(maps) {
        builder.edge((copy, port), (map, 0), Type::Json);
        builder.edge((map, 0), (merge, port), Type::Json);
    }
    end(builder, merge)
}

/// Goes round until it has counted to a hundred.
fn feedback() -> Graph {
    let mut builder = Builder::new("loop");
    let mut node = |kind, name: &str| builder.node(kind, name, Span::default());
    let (input, merge, map) = (
        node(Kind::Input, "in"),
        node(Kind::Merge, "merge"),
        node(next(), "map"),
    );
    let (copy, again, done) = (
        node(Kind::Copy, "copy"),
        node(below(ROUNDS), "again"),
        node(
            Kind::Filter(
                code(binary(Binary::AtLeast, field("count"), ROUNDS)),
                Selector::Partial,
            ),
            "done",
        ),
    );
    for (from, to) in [
        ((input, 0), (merge, 0)),
        ((merge, 0), (map, 0)),
        ((map, 0), (copy, 0)),
        ((copy, 0), (again, 0)),
        ((copy, 1), (done, 0)),
        ((again, 0), (merge, 1)),
    ] {
        builder.edge(from, to, Type::Json);
    }
    end(builder, done)
}

fn machine(graph: &Graph) -> Option<Machine> {
    Some(Machine::new(Arc::new(Program::new(graph).ok()?)))
}

/// One network in three ways, a message at a time and a thousand at once. `times` is how many messages come out
/// of one.
fn compare(
    criterion: &mut Criterion,
    name: &str,
    graph: &Graph,
    (mut tasks, times): (Tasks, usize),
    by_hand: impl Fn(Value),
) {
    let message = record(0);
    let Some(mut machine) = machine(graph) else {
        return;
    };
    for batch in [1, 1_000] {
        let mut group = criterion.benchmark_group(format!("{name}, {batch}"));
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_function("machine", |bencher| {
            bencher.iter(|| {
                for _ in 0..batch {
                    let _ = black_box(machine.push(0, message.clone()));
                }
            });
        });
        group.bench_function("by hand", |bencher| {
            bencher.iter(|| {
                for _ in 0..batch {
                    by_hand(black_box(message.clone()));
                }
            });
        });
        group.bench_function("tokio channels", |bencher| {
            bencher.iter(|| black_box(tasks.run(&message, batch, times)));
        });
        group.finish();
    }
}

fn networks(criterion: &mut Criterion) {
    for length in CHAINS {
        if let Some(tasks) = Tasks::chain(length) {
            let name = format!("chain of {length}");
            let by_hand = |message| {
                black_box(by_hand::chain(length, message));
            };
            compare(criterion, &name, &chain(length), (tasks, 1), by_hand);
        }
    }
    if let Some(tasks) = Tasks::fan() {
        let by_hand = |message| {
            black_box(by_hand::fan(&message));
        };
        compare(criterion, "fan of 8", &fan(), (tasks, FAN), by_hand);
    }
    if let Some(tasks) = Tasks::feedback() {
        let by_hand = |message| {
            black_box(by_hand::feedback(message));
        };
        compare(
            criterion,
            "loop of 100 rounds",
            &feedback(),
            (tasks, 1),
            by_hand,
        );
    }
}

/// The cost of a conversation in which nothing happens: a state of its own, stored and restored.
fn states(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("state");
    let Some(machine) = machine(&feedback()) else {
        return;
    };
    group.bench_function("new", |bencher| {
        bencher.iter(|| black_box(Machine::new(Arc::clone(machine.program()))));
    });
    let text = serde_json::to_string(machine.state()).unwrap_or_default();
    group.bench_function("to JSON", |bencher| {
        bencher.iter(|| black_box(serde_json::to_string(machine.state())));
    });
    group.bench_function("from JSON", |bencher| {
        bencher.iter(|| {
            let state = serde_json::from_str(&text).ok()?;
            Machine::resume(Arc::clone(machine.program()), black_box(state)).ok()
        });
    });
    group.finish();
}

criterion_group!(benches, networks, states);
criterion_main!(benches);
