//! Graphs by hand, for the tests.

use std::collections::HashMap;
use std::sync::Arc;

use crate::graph::{
    Builder, Code, External, ExternalKind, ExternalPort, Graph, Kind, NodeId, Op, Selector,
};
use crate::machine::{Limits, Machine, Program, Refused, Step};
use crate::span::Span;
use crate::syntax::ast::Binary;
use crate::types::Type;
use crate::value::Value;

pub fn value(text: &str) -> Value {
    Value::parse(text).unwrap()
}

pub fn code(op: Op) -> Arc<Code> {
    Arc::new(Code {
        op,
        text: "".into(),
        span: Span::default(),
    })
}

pub fn field(name: &str) -> Op {
    Op::Field(Box::new(Op::Message), name.into())
}

pub fn lit(text: &str) -> Op {
    Op::Constant(value(text))
}

pub fn binary(operator: Binary, one: Op, two: Op) -> Op {
    Op::Binary(operator, Box::new(one), Box::new(two))
}

pub fn map(op: Op) -> Kind {
    Kind::Map(code(op))
}

pub fn filter(op: Op) -> Kind {
    Kind::Filter(code(op), Selector::Partial)
}

/// `value < n`.
pub fn below(number: i64) -> Op {
    binary(Binary::Less, Op::Message, Op::Constant(Value::Int(number)))
}

/// `value + n`.
pub fn plus(number: i64) -> Op {
    binary(Binary::Plus, Op::Message, Op::Constant(Value::Int(number)))
}

/// A tool with these ports.
pub fn tool(inputs: &[&str], outputs: &[(&str, Type)]) -> External {
    let port = |name: &str, kind: &Type| ExternalPort {
        name: name.into(),
        kind: kind.clone(),
    };
    External {
        name: "tool".into(),
        kind: ExternalKind::Agent,
        inputs: inputs.iter().map(|name| port(name, &Type::Json)).collect(),
        outputs: outputs
            .iter()
            .map(|(name, kind)| port(name, kind))
            .collect(),
        settings: Vec::new(),
        span: Span::default(),
    }
}

/// A net of named nodes; joints are `a > b` or, with ports, `a.1 > b.0`, separated by commas. A type after
/// a colon is that of the edge: `in > out : int`; else it is json.
pub fn net(nodes: Vec<(&str, Kind)>, externals: Vec<External>, joints: &str) -> Graph {
    let mut builder = Builder::new("net");
    for external in externals {
        builder.external(external);
    }
    let names: HashMap<&str, NodeId> = nodes
        .into_iter()
        .map(|(name, kind)| (name, builder.node(kind, name, Span::default())))
        .collect();
    for joint in joints.split(',') {
        let (joint, kind) = joint.split_once(':').unwrap_or((joint, "json"));
        let kind = match kind.trim() {
            "int" => Type::Int,
            "string" => Type::Text,
            _ => Type::Json,
        };
        let (from, to) = joint.split_once('>').unwrap();
        let end = |text: &str| {
            let (name, port) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
            (names[name], port.parse().unwrap())
        };
        builder.edge(end(from), end(to), kind);
    }
    builder.finish()
}

pub fn machine(graph: &Graph) -> Machine {
    Machine::new(Arc::new(Program::new(graph).unwrap()))
}

pub fn limited(graph: &Graph, limits: Limits) -> Machine {
    Machine::new(Arc::new(Program::with_limits(graph, limits).unwrap()))
}

/// A step as a line: outputs as `port=message`, then errors by their word, ended outputs as `port.`.
pub fn shown(step: &Step) -> String {
    let outputs = step
        .outputs
        .iter()
        .map(|(port, value)| format!("{port}={value}"));
    let errors = step
        .errors
        .iter()
        .map(|fault| format!("!{}", fault.kind.word()));
    let warnings = step
        .warnings
        .iter()
        .map(|fault| format!("?{}", fault.kind.word()));
    let effects = step
        .effects
        .iter()
        .map(|effect| format!("#{}", effect.id.0));
    let ended = step.ended.iter().map(|port| format!("{port}."));
    let all: Vec<String> = outputs
        .chain(errors)
        .chain(warnings)
        .chain(effects)
        .chain(ended)
        .collect();
    all.join(" ")
}

/// Plays a line of calls: `0=1` pushes 1 into input 0, `0.` closes it, `#3=1` answers effect 3 on
/// its first output, `#3.` says it is finished. Steps are separated by ` | `.
pub fn play(machine: &mut Machine, calls: &str) -> String {
    let steps = calls
        .split_whitespace()
        .map(|call| match one(machine, call) {
            Ok(step) => shown(&step),
            Err(refused) => format!("refused: {refused}"),
        });
    steps.collect::<Vec<_>>().join(" | ")
}

fn one(machine: &mut Machine, call: &str) -> Result<Step, Refused> {
    let id = |text: &str| crate::machine::EffectId(text.trim_start_matches('#').parse().unwrap());
    match call.split_once('=') {
        Some((to, message)) if to.starts_with('#') => machine.answer(id(to), 0, value(message)),
        Some((to, message)) => machine.push(to.parse().unwrap(), value(message)),
        None if call.starts_with('#') => machine.finished(id(call.trim_end_matches('.'))),
        None => machine.close(call.trim_end_matches('.').parse().unwrap()),
    }
}

#[track_caller]
pub fn check(graph: &Graph, calls: &str, steps: &str) {
    let mut machine = machine(graph);
    assert_eq!(play(&mut machine, calls), steps);
    assert!(balanced(&machine), "{:?}", machine.counters());
}

/// Every message that there was is somewhere.
pub fn balanced(machine: &Machine) -> bool {
    let it = machine.counters();
    let there_were = it.accepted + it.answered + it.begun + it.copied + it.told;
    let gone = it.delivered + it.asked + it.joined + it.dropped;
    let gone = gone + it.narrowed + it.failed + it.parted + it.discarded + it.left_over;
    there_were == gone + machine.state().waiting() as u64
}
