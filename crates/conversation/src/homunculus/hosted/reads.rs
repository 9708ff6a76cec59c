//! The matters that a strategy reads and is told of only then, found in the expressions of its program.

use plumb::graph::{Graph, Kind, Op};
use plumb::types::Type;
use plumb::value::Value;

use super::{heard, news, vitals};

/// The matters that a program reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    /// The agent's behavior: records of the kind `pulse`.
    pub pulses: bool,
    /// The words of turns as they are said: records of the kind `turn`.
    pub said: bool,
    /// The agent's regrets: records of the kind `regret`.
    pub regrets: bool,
    /// The turns in a memory.
    pub turns: bool,
    /// The pins in a memory.
    pub pinned: bool,
}

impl Reads {
    /// The matters that the expressions of this program read.
    pub fn of(graph: &Graph) -> Self {
        let of_memory = |name: &'static str| {
            any(
                graph,
                |op, message| matches!(op, Op::Field(of, field) if &**field == name && is_memory(of, message)),
            )
        };
        Self {
            pulses: any(graph, |op, _| vitals::is_read_by(op)),
            said: any(graph, |op, _| heard::is_read_by(op)),
            regrets: any(graph, |op, _| news::is_read_by(op)),
            turns: of_memory("turns"),
            pinned: of_memory("pinned"),
        }
    }
}

/// Returns true if an expression of the program, or a part of one, passes the test, which is given the type of
/// the message too. A constant of a `once` counts as an expression.
fn any(graph: &Graph, test: impl Fn(&Op, &Type) -> bool) -> bool {
    graph.nodes.iter().any(|node| {
        let input = node.inputs.first();
        let edge = input.and_then(|edge| graph.edges.get(usize::try_from(edge.0).ok()?));
        let message = edge.map_or(&Type::Json, |edge| &edge.kind);
        match &node.kind {
            Kind::Map(code) | Kind::Filter(code, _) => passes(&code.op, message, &test),
            Kind::Once(value) => test(&Op::Constant(value.clone()), message),
            _ => false,
        }
    })
}

fn passes(op: &Op, message: &Type, test: &impl Fn(&Op, &Type) -> bool) -> bool {
    let part = |op: &Op| passes(op, message, test);
    test(op, message)
        || match op {
            Op::Message | Op::Constant(_) => false,
            Op::Field(of, _)
            | Op::Part(of, _)
            | Op::Is(of, _)
            | Op::Unary(_, of)
            | Op::Len(of)
            | Op::Defined(of) => part(of),
            Op::Record(fields) => fields.iter().any(|(_, op)| part(op)),
            Op::List(items) => items.iter().any(part),
            Op::Binary(_, one, other) | Op::Contains(one, other) => part(one) || part(other),
            Op::If(when, then, other) => [when, then, other].into_iter().any(|op| part(op)),
        }
}

/// Returns true if a value whose fields are read may be a memory. A message of unknown type is none: records of
/// telemetry have fields of these names too.
fn is_memory(of: &Op, message: &Type) -> bool {
    let lists = |kind: &Type| match kind {
        Type::Record(fields) => fields.iter().any(|field| {
            let is_list = matches!(field.kind, Type::List(_));
            &*field.name == "turns" && is_list
        }),
        _ => false,
    };
    *of != Op::Message || message.variants().iter().any(lists)
}

/// Returns true if a value is this word, or contains it.
pub(super) fn says(value: &Value, word: &str) -> bool {
    value.as_text() == Some(word)
        || value
            .items()
            .is_some_and(|items| items.iter().any(|item| says(item, word)))
        || value
            .fields()
            .is_some_and(|fields| fields.iter().any(|(_, value)| says(value, word)))
}
