//! Networks and calls from bytes: for property tests and for fuzzing.
//!
//! Any bytes give a network that holds together: nodes of all kinds, joined at random, cycles and all.

use std::sync::Arc;

use plumb::graph::{
    Builder, Code, External, ExternalId, ExternalKind, ExternalPort, Graph, Kind, NodeId, Op,
    Selector,
};
use plumb::machine::{EffectId, Limits, Machine, Program, Refused, Step};
use plumb::span::Span;
use plumb::syntax::ast::{Binary, Unary};
use plumb::types::Type;
use plumb::value::Value;

/// Bytes to choose by; zeros when they are used up.
#[derive(Clone, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.next()) % bound.max(1)
    }

    fn text(&mut self) -> &'static str {
        ["a", "b", "run", "ms", "tag", "value"][self.below(6)]
    }

    /// A message.
    pub fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => Value::Bool(self.next().is_multiple_of(2)),
            2 | 3 => Value::Int(i64::from(self.next())),
            4 => Value::Number(f64::from(self.next()) / 4.0),
            5 => Value::from(self.text()),
            6 => Value::list(vec![self.value(depth - 1), self.value(depth - 1)]).unwrap(),
            7 => Value::number("9223372036854775807").unwrap(),
            _ => {
                let name: Arc<str> = self.text().into();
                Value::record(vec![(name, self.value(depth - 1))]).unwrap()
            }
        }
    }

    fn kind(&mut self) -> Type {
        match self.below(8) {
            0 => Type::Int,
            1 => Type::Number,
            2 => Type::Text,
            3 => Type::Bool,
            4 => Type::List(Arc::new(Type::Json)),
            5 => Type::Sum(vec![Type::Int, Type::Text].into()),
            6 => Type::Product(vec![Type::Json, Type::Json].into()),
            _ => Type::Json,
        }
    }

    /// An expression.
    pub fn op(&mut self, depth: usize) -> Op {
        if depth == 0 {
            return match self.below(3) {
                0 => Op::Constant(self.value(1)),
                _ => Op::Message,
            };
        }
        let depth = depth - 1;
        let mut boxed = || Box::new(self.op(depth));
        match boxed() {
            first if matches!(*first, Op::Constant(_)) => *first,
            first => match self.below(13) {
                0 => Op::Field(first, self.text().into()),
                1 => Op::Part(first, self.below(3) as u32),
                2 => Op::Is(first, self.kind()),
                3 => Op::Record(vec![(self.text().into(), *first)]),
                4 => Op::List(vec![*first, self.op(depth)]),
                5 => Op::Unary(Unary::Minus, first),
                6 => Op::Unary(Unary::Not, first),
                7 => Op::If(first, Box::new(self.op(depth)), Box::new(self.op(depth))),
                8 => Op::Len(first),
                9 => Op::Contains(first, Box::new(self.op(depth))),
                10 => Op::Defined(first),
                _ => Op::Binary(self.operator(), first, Box::new(self.op(depth))),
            },
        }
    }

    fn operator(&mut self) -> Binary {
        use Binary::{
            And, AtLeast, AtMost, Equal, Greater, Less, Minus, Or, Over, Plus, Times, Unequal,
        };
        let all = [
            And, Or, Equal, Unequal, Less, AtMost, Greater, AtLeast, Plus, Minus, Times, Over,
        ];
        all[self.below(all.len())]
    }

    fn code(&mut self) -> Arc<Code> {
        Arc::new(Code {
            op: self.op(2),
            text: "".into(),
            span: Span::default(),
        })
    }
}

/// A node and how many inputs and outputs it has.
fn node(
    bytes: &mut Bytes<'_>,
    builder: &mut Builder,
    externals: &mut u32,
) -> (NodeId, usize, usize) {
    let several = 1 + bytes.below(3);
    let (kind, inputs, outputs) = match bytes.below(16) {
        0 => (Kind::Input, 0, 1),
        1 => (Kind::Output, 1, 0),
        2 => (Kind::Id, 1, 1),
        3 | 4 => (Kind::Copy, 1, several),
        5 | 6 => (Kind::Merge, several, 1),
        7 => (Kind::Once(bytes.value(2)), 0, 1),
        8 => (Kind::Barrier, several, 1),
        9 => (Kind::Map(bytes.code()), 1, 1),
        10 => {
            let selector = [Selector::Partial, Selector::Total][bytes.below(2)];
            (Kind::Filter(bytes.code(), selector), 1, 1)
        }
        11 => (Kind::Project(bytes.below(3) as u32), 1, 1),
        12 => (Kind::Tag(bytes.text().into()), 1, 1),
        13 => (Kind::Narrow(bytes.kind()), 1, 1),
        14 => (Kind::Timer, 1, 1),
        _ => {
            let outputs = bytes.below(3);
            let port = |_| ExternalPort {
                name: "port".into(),
                kind: Type::Json,
            };
            builder.external(External {
                name: "tool".into(),
                kind: ExternalKind::Tool,
                inputs: (0..several).map(port).collect(),
                outputs: (0..outputs).map(port).collect(),
                settings: Vec::new(),
                span: Span::default(),
            });
            *externals += 1;
            (Kind::External(ExternalId(*externals - 1)), several, outputs)
        }
    };
    (builder.node(kind, "node", Span::default()), inputs, outputs)
}

/// A network.
pub fn graph(bytes: &mut Bytes<'_>) -> Graph {
    let mut builder = Builder::new("random");
    let (mut sources, mut sinks) = (Vec::new(), Vec::new());
    let mut externals = 0;
    let first = builder.node(Kind::Input, "first", Span::default());
    sources.push((first, 0));
    for _ in 0..1 + bytes.below(14) {
        let (id, inputs, outputs) = node(bytes, &mut builder, &mut externals);
        sinks.extend((0..inputs as u32).map(|port| (id, port)));
        sources.extend((0..outputs as u32).map(|port| (id, port)));
    }
    for sink in sinks {
        let from = if sources.is_empty() {
            (builder.node(Kind::Empty, "empty", Span::default()), 0)
        } else {
            sources.swap_remove(bytes.below(sources.len()))
        };
        let kind = if bytes.below(4) == 0 {
            bytes.kind()
        } else {
            Type::Json
        };
        builder.edge(from, sink, kind);
    }
    for source in sources {
        let kind = if bytes.below(3) == 0 {
            Kind::Discard
        } else {
            Kind::Output
        };
        let end = builder.node(kind, "end", Span::default());
        builder.edge(source, (end, 0), Type::Json);
    }
    builder.finish()
}

/// Small limits, so that they are met.
pub fn limits(bytes: &mut Bytes<'_>) -> Limits {
    Limits {
        fuel: 1_000 + 8 * u64::from(bytes.next()),
        queue: 1 + bytes.below(4) as u32,
        high_water: 2,
    }
}

/// A machine for a network.
pub fn machine(bytes: &mut Bytes<'_>) -> Machine {
    let limits = limits(bytes);
    let graph = graph(bytes);
    Machine::new(Arc::new(Program::with_limits(&graph, limits).unwrap()))
}

/// A call.
#[derive(Clone, Debug)]
pub enum Call {
    Push(u32, Value),
    Answer(EffectId, u32, Value),
    Finished(EffectId),
    Close(u32),
}

impl Call {
    /// One that mostly makes sense for a machine with so many inputs and these effects in flight.
    pub fn new(bytes: &mut Bytes<'_>, machine: &Machine) -> Self {
        let port = bytes.below(machine.program().inputs() + 1) as u32;
        let effects: Vec<EffectId> = machine.in_flight().map(|effect| effect.id).collect();
        let effect = effects.get(bytes.below(effects.len())).copied();
        match (bytes.below(16), effect) {
            (0, _) => Self::Close(port),
            (1..5, Some(effect)) => Self::Answer(effect, bytes.below(3) as u32, bytes.value(2)),
            (5..8, Some(effect)) => Self::Finished(effect),
            (8, _) => Self::Finished(EffectId(u64::from(bytes.next()))),
            _ => Self::Push(port, bytes.value(2)),
        }
    }

    /// Makes it.
    pub fn make(&self, machine: &mut Machine) -> Result<Step, Refused> {
        match self.clone() {
            Self::Push(port, value) => machine.push(port, value),
            Self::Answer(effect, port, value) => machine.answer(effect, port, value),
            Self::Finished(effect) => machine.finished(effect),
            Self::Close(port) => machine.close(port),
        }
    }
}
