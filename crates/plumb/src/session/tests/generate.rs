//! Protocols and events by lot.

use std::sync::Arc;

use super::super::Scope;
use super::super::steps::{Action, Step, Steps};
use super::traces::{Event, Run};
use crate::span::{SourceId, Span};
use crate::syntax::ast::{
    Bind, Body, Declaration, DeclarationKind, Endpoint, Field, Let, Name, Path, Plumb, Presence,
    Program, Protocol, ProtocolKind, Side, Signature, Statement, StatementKind, Type, TypeKind,
    Wire,
};
use crate::types;
use crate::value::Value;

/// Choices from a list of bytes, zeros when it is used up, so that a shorter list is a simpler case.
pub(super) struct Lot<'a> {
    bytes: &'a [u8],
}

impl<'a> Lot<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn of(&mut self, several: usize) -> usize {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        usize::from(*first) % several.max(1)
    }
}

/// Makes protocols whose steps have spans of their own.
struct Draw<'a, 'b> {
    lot: &'b mut Lot<'a>,
    next: u32,
}

pub(super) fn name(text: &str) -> Name {
    Name {
        text: text.into(),
        span: Span::default(),
    }
}

pub(super) fn path(text: &str) -> Path {
    Path {
        module: None,
        name: name(text),
    }
}

fn named(text: &str) -> TypeKind {
    TypeKind::Named(path(text))
}

impl Draw<'_, '_> {
    fn span(&mut self) -> Span {
        self.next += 1;
        Span::new(SourceId(0), self.next, self.next + 1)
    }

    /// One of four disjoint types.
    fn kind(&mut self) -> Type {
        let record = |field: &str| {
            TypeKind::Record(vec![Field {
                name: name(field),
                presence: Presence::Required,
                kind: Type {
                    span: Span::default(),
                    kind: named("int"),
                },
            }])
        };
        let kind = match self.lot.of(4) {
            0 => record("a"),
            1 => record("b"),
            2 => named("int"),
            _ => named("string"),
        };
        Type {
            span: self.span(),
            kind,
        }
    }

    /// `guarded` says how many of the variables around may be jumped to: those with a step since.
    fn protocol(&mut self, depth: usize, around: usize, guarded: usize) -> Protocol {
        let span = self.span();
        let leaf = if guarded > 0 { 4 } else { 1 };
        let kind = match self.lot.of(if depth == 0 { 1 } else { 8 }) {
            0 => match self.lot.of(leaf) {
                1 => ProtocolKind::Loop,
                2 if around > 0 && guarded > 1 => {
                    let variable = self.lot.of(around.min(guarded - 1));
                    ProtocolKind::Named(path(&format!("X{variable}")))
                }
                3 => ProtocolKind::Named(path("Other")),
                _ => ProtocolKind::End,
            },
            1 => ProtocolKind::Rec(
                name(&format!("X{around}")),
                Box::new(self.protocol(depth - 1, around + 1, guarded)),
            ),
            2 => ProtocolKind::Select(self.arms(depth, around)),
            3 => ProtocolKind::Offer(self.arms(depth, around)),
            4 | 6 => ProtocolKind::Send(
                self.kind(),
                Box::new(self.protocol(depth - 1, around, around + 1)),
            ),
            _ => ProtocolKind::Recv(
                self.kind(),
                Box::new(self.protocol(depth - 1, around, around + 1)),
            ),
        };
        Protocol { span, kind }
    }

    fn arms(&mut self, depth: usize, around: usize) -> Vec<(Name, Protocol)> {
        let arms = 1 + self.lot.of(3);
        let labels = ["x", "y", "z"].into_iter().take(arms);
        labels
            .map(|label| (name(label), self.protocol(depth - 1, around, around + 1)))
            .collect()
    }
}

/// A protocol, and another that it may go on as.
pub(super) struct Protocols {
    pub(super) main: Protocol,
    pub(super) other: Protocol,
}

impl Protocols {
    pub(super) fn draw(lot: &mut Lot<'_>) -> Self {
        let mut draw = Draw { lot, next: 0 };
        let main = draw.protocol(7, 0, 0);
        let other = ProtocolKind::Send(draw.kind(), Box::new(draw.protocol(3, 0, 1)));
        let other = Protocol {
            span: draw.span(),
            kind: other,
        };
        Self { main, other }
    }
}

impl Scope for Protocols {
    fn protocol(&self, path: &Path) -> Option<Protocol> {
        match &*path.name.text {
            "Main" => Some(self.main.clone()),
            "Other" => Some(self.other.clone()),
            _ => None,
        }
    }

    fn resolve(&self, kind: &Type) -> Option<types::Type> {
        Some(match &kind.kind {
            TypeKind::Named(path) if &*path.name.text == "int" => types::Type::Int,
            TypeKind::Named(path) if &*path.name.text == "string" => types::Type::Text,
            TypeKind::Record(fields) => types::Type::record(vec![types::Field::required(
                &fields.first()?.name.text,
                types::Type::Int,
            )]),
            _ => types::Type::Json,
        })
    }
}

/// A program that wires every endpoint of the session to a port of its own.
pub(super) fn program(steps: &Steps, side: Side, scope: &dyn Scope) -> Program {
    let mut ports: Vec<String> = vec!["trigger".into(), "incoming".into()];
    let mut sources: Vec<String> = vec!["outgoing".into(), "started".into(), "wrong".into()];
    let mut statements = vec![
        wire(vec![at("trigger"), Wire::Port(name("s"), name("trigger"))]),
        wire(vec![Wire::Port(name("s"), name("trigger")), at("started")]),
        wire(vec![Wire::Port(name("s"), name("error")), at("wrong")]),
    ];
    statements.push(Statement {
        span: Span::default(),
        kind: StatementKind::Bind(Bind {
            incoming: name("incoming"),
            outgoing: name("outgoing"),
            side,
            protocol: path("Main"),
            session: name("s"),
            within: Some((30_000, Span::default())),
        }),
    });
    for (index, step) in steps.steps.iter().enumerate() {
        for (port, endpoint, is_sink) in endpoints(steps, index, step, scope) {
            let step = Wire::Step(Box::new(crate::syntax::ast::Step {
                span: step.span,
                session: name("s"),
                endpoint,
            }));
            if is_sink {
                statements.push(wire(vec![at(&port), step]));
                ports.push(port);
            } else {
                statements.push(wire(vec![step, at(&port)]));
                sources.push(port);
            }
        }
    }
    ports.append(&mut sources);
    let plumb = Plumb {
        span: Span::default(),
        ports: ports.iter().map(|port| name(port)).collect(),
        statements,
    };
    Program {
        declarations: vec![Declaration {
            span: Span::default(),
            kind: DeclarationKind::Let(Let {
                name: name("main"),
                signature: Signature {
                    span: Span::default(),
                    inputs: Vec::new(),
                    outputs: Vec::new(),
                },
                body: Body::Plumb(plumb),
            }),
        }],
        comments: Vec::new(),
    }
}

fn at(port: &str) -> Wire {
    Wire::Named(path(port))
}

fn wire(wires: Vec<Wire>) -> Statement {
    Statement {
        span: Span::default(),
        kind: StatementKind::Wire(Wire::Sequence(wires)),
    }
}

/// The endpoints of a step, each with a port of its own, and whether it is a sink.
pub(super) fn endpoints(
    steps: &Steps,
    index: usize,
    step: &Step,
    scope: &dyn Scope,
) -> Vec<(String, Endpoint, bool)> {
    let start = step.span.start;
    let before = steps.steps.iter().take(index);
    let count = |fits: &dyn Fn(&Step) -> bool| {
        Some(1 + u32::try_from(before.clone().filter(|step| fits(step)).count()).unwrap())
    };
    let same = |one: &Type, other: &Type| scope.resolve(one) == scope.resolve(other);
    match &step.action {
        Action::Send(kind, _) | Action::Recv(kind, _) => {
            let sends = matches!(step.action, Action::Send(..));
            let mine = count(&|step| match &step.action {
                Action::Send(other, _) => sends && same(kind, other),
                Action::Recv(other, _) => !sends && same(kind, other),
                _ => false,
            });
            let any = count(&|step| match &step.action {
                Action::Send(other, _) | Action::Recv(other, _) => same(kind, other),
                _ => false,
            });
            let done = Endpoint::Done(kind.clone(), single(steps, any, scope, kind, None));
            let mine = single(steps, mine, scope, kind, Some(sends));
            let payload = if sends {
                (
                    format!("pay{start}"),
                    Endpoint::Send(kind.clone(), mine),
                    true,
                )
            } else {
                (
                    format!("got{start}"),
                    Endpoint::Recv(kind.clone(), mine),
                    false,
                )
            };
            vec![payload, (format!("done{start}"), done, false)]
        }
        Action::Select(arms) | Action::Offer(arms) => {
            let sends = matches!(step.action, Action::Select(_));
            let arm = |arm: &super::super::steps::Arm| {
                let label = &arm.label.text;
                let mine = count(&|step| match &step.action {
                    Action::Select(arms) => {
                        sends && arms.iter().any(|arm| arm.label.text == *label)
                    }
                    Action::Offer(arms) => {
                        !sends && arms.iter().any(|arm| arm.label.text == *label)
                    }
                    _ => false,
                });
                let endpoint = if sends {
                    Endpoint::Select(arm.label.clone(), mine)
                } else {
                    Endpoint::Offer(arm.label.clone(), mine)
                };
                (format!("arm{start}{label}"), endpoint, sends)
            };
            arms.iter().map(arm).collect()
        }
    }
}

/// No number where the type stands only once, so that both forms are tried.
fn single(
    steps: &Steps,
    number: Option<u32>,
    scope: &dyn Scope,
    kind: &Type,
    sends: Option<bool>,
) -> Option<u32> {
    let all = steps.steps.iter().filter(|step| match &step.action {
        Action::Send(other, _) => {
            sends != Some(false) && scope.resolve(kind) == scope.resolve(other)
        }
        Action::Recv(other, _) => {
            sends != Some(true) && scope.resolve(kind) == scope.resolve(other)
        }
        _ => false,
    });
    if all.count() == 1 { None } else { number }
}

/// A message of one of the types, or of none.
pub(super) fn message(which: usize, number: i64) -> Value {
    let record = |field: &str, value: Value| Value::record([(Arc::from(field), value)]).unwrap();
    let tagged = |label: &str| {
        let value = ("value".into(), Value::Int(number));
        Value::record([("tag".into(), Value::text(label)), value]).unwrap()
    };
    match which {
        0 => record("a", Value::Int(number)),
        1 => record("b", Value::Int(number)),
        2 => Value::Int(number),
        3 => Value::text(number.to_string()),
        4 => tagged("x"),
        5 => tagged("y"),
        6 => tagged("z"),
        7 => record("a", Value::text("not a number")),
        8 => Value::record([
            ("a".into(), Value::Int(number)),
            ("b".into(), Value::Int(number)),
        ])
        .unwrap(),
        _ => Value::Null,
    }
}

/// The next event: mostly what the run waits for, sometimes anything else.
pub(super) fn event(lot: &mut Lot<'_>, steps: &Steps, run: &Run<'_>, number: i64) -> Event {
    let mood = lot.of(16);
    if mood == 15 {
        return Event::Late;
    }
    if mood == 14 || (!run.running() && mood > 5) {
        return Event::Trigger(Value::Int(number));
    }
    let stands = run.stands_at();
    let current = steps.steps.iter().find(|step| Some(step.span) == stands);
    let random = steps.steps.get(lot.of(steps.steps.len()));
    match if mood < 11 {
        current.or(random)
    } else {
        random
    } {
        Some(step) => serve(lot, step, number),
        None => Event::Message(message(lot.of(10), number)),
    }
}

/// The event that a step waits for, or now and then another message.
fn serve(lot: &mut Lot<'_>, step: &Step, number: i64) -> Event {
    match &step.action {
        Action::Send(kind, _) => Event::Payload(step.span, message(of(kind), number)),
        Action::Select(arms) => {
            let arm = &arms[lot.of(arms.len())];
            Event::Choice(step.span, arm.label.text.clone(), Value::Int(number))
        }
        Action::Recv(kind, _) => {
            let which = [of(kind), of(kind), of(kind), lot.of(10)][lot.of(4)];
            Event::Message(message(which, number))
        }
        Action::Offer(arms) => {
            let which = 4 + lot.of(arms.len() + 1).min(3);
            Event::Message(message(which, number))
        }
    }
}

/// The kind of message that a type takes.
fn of(kind: &Type) -> usize {
    match &kind.kind {
        TypeKind::Record(fields) => usize::from(&*fields[0].name.text == "b"),
        TypeKind::Named(path) if &*path.name.text == "int" => 2,
        _ => 3,
    }
}
