//! The functor: a session as channels and wiring statements of the plain morphisms.
//!
//! Two parts. The *gate* (`gate`) is one feedback loop with the state of the session in it; everything that
//! happens goes through it one by one, as an *event*, and leaves it as an *act*. The *steps*, here, are what
//! leads from their endpoints to the gate and back:
//!
//! ```text
//!  send     map (wrap) → gate → filter by step → outgoing stream, done
//!  recv     gate → filter by step → map (unwrap)
//!  select   tag, then as send
//!  offer    as recv; copy, a filter for each label
//!  rec      a jump in the state of the gate, as is every step to the next
//! ```
//!
//! A payload that comes before its turn is held at its step's barrier, marked with the run in which it came.
//! When the step before is done, the gate calls: a *token* goes to the barrier, and the two ask the gate to let
//! the payload out. A payload that was held for an earlier run goes back as `old`, and the gate calls again. A
//! run that is ended before its time while a step is called sends that step something to take the token away
//! with. So every token is answered by what came to the barrier no later than in its run, what is left over
//! from one run never meets the next, and tokens never overtake each other.

use std::collections::BTreeSet;

use super::make::Make;
use super::steps::{Action, Arm, Next};
use super::wiring::{EndpointId, Session};
use crate::syntax::ast::{
    Binary, Body, Declaration, DeclarationKind, Expr, Let, Setting, Signature, Statement, Type,
    TypeKind, Wire,
};

/// The statements that stand for a binding.
pub(super) fn statements(session: &Session, outgoing: Option<&Type>) -> Vec<Statement> {
    let mut network = Network {
        make: Make { span: session.span },
        session,
        made: Vec::new(),
    };
    network.endpoints();
    network.gate(outgoing);
    for (index, step) in session.steps.steps.iter().enumerate() {
        network.step(index, &step.action);
    }
    network.made
}

/// The timer tool of a session, if it has a time limit.
pub(super) fn timer(session: &Session) -> Option<Declaration> {
    session.bind.within?;
    let make = Make { span: session.span };
    let wait = || {
        make.fields([
            ("run", make.kind("int")),
            ("step", make.kind("int")),
            ("ms", make.kind("int")),
        ])
    };
    Some(Declaration {
        span: session.span,
        kind: DeclarationKind::Let(Let {
            name: make.name(&format!("{}timer", session.prefix)),
            signature: Signature {
                span: session.span,
                inputs: vec![wait()],
                outputs: vec![wait()],
            },
            body: Body::Tool(
                session.span,
                vec![Setting {
                    key: make.name("timer"),
                    value: make.bool(true),
                }],
            ),
        }),
    })
}

/// The number of a step in the state of the gate; 0 is none.
pub(super) fn number(next: Next) -> u64 {
    match next {
        Next::Step(index) => index as u64 + 1,
        Next::End => 0,
    }
}

pub(super) struct Network<'a> {
    pub(super) make: Make,
    pub(super) session: &'a Session,
    pub(super) made: Vec<Statement>,
}

impl Network<'_> {
    /// The name of a channel.
    pub(super) fn named(&self, what: &str) -> String {
        format!("{}{what}", self.session.prefix)
    }

    pub(super) fn at(&self, what: &str) -> Wire {
        self.make.at(&self.named(what))
    }

    pub(super) fn channel(&mut self, what: &str, kind: Type) {
        let statement = self.make.channel(&self.named(what), kind);
        self.made.push(statement);
    }

    pub(super) fn flow<const N: usize>(&mut self, wires: [Wire; N]) {
        let statement = self.make.flow(wires);
        self.made.push(statement);
    }

    /// The type of the gate's output.
    pub(super) fn act(&self) -> Type {
        let make = self.make;
        make.fields([
            ("do", make.kind("string")),
            ("step", make.kind("int")),
            ("run", make.kind("int")),
            ("body", make.kind("json")),
        ])
    }

    /// The leave to send that the gate gives to a step.
    pub(super) fn token(&self) -> Type {
        let make = self.make;
        make.fields([("run", make.kind("int")), ("step", make.kind("int"))])
    }

    /// Returns true if any step sends.
    pub(super) fn has_sends(&self) -> bool {
        let mut steps = self.session.steps.steps.iter();
        steps.any(|step| step.action.sends())
    }

    /// Declares the channels of the endpoints that the body names. Unfed ones are fed by `empty`, so that a
    /// mistake is reported once.
    fn endpoints(&mut self) {
        let make = self.make;
        let session = self.session;
        let used = session.uses.iter().map(|(place, _)| *place);
        let reported = [EndpointId::Error];
        let places = used.chain(session.missing()).chain(reported);
        let places: BTreeSet<EndpointId> = places.collect();
        for place in places {
            let channel = make.channel(&session.channel(place), self.kind(place));
            self.made.push(channel);
        }
        for place in session.missing() {
            let target = make.at(&session.channel(place));
            self.flow([Wire::Empty(make.span), target]);
        }
    }

    /// The type of an endpoint's messages.
    fn kind(&self, place: EndpointId) -> Type {
        let make = self.make;
        let payload = |step: usize| match self.session.steps.steps.get(step).map(|s| &s.action) {
            Some(Action::Send(kind, _) | Action::Recv(kind, _)) => kind.clone(),
            _ => make.kind("json"),
        };
        match place {
            EndpointId::Send(step) | EndpointId::Recv(step) => payload(step),
            EndpointId::Done(_) => make.kind("unit"),
            EndpointId::Error => make.fields([
                ("error", make.kind("string")),
                ("category", make.kind("string")),
                ("detail", make.kind("string")),
                ("message", make.kind("json")),
            ]),
            EndpointId::Trigger
            | EndpointId::Started
            | EndpointId::Select(..)
            | EndpointId::Offer(..) => make.kind("json"),
        }
    }

    /// The image of one step.
    fn step(&mut self, index: usize, action: &Action) {
        match action {
            Action::Send(..) => {
                let payload = self.make.at(&self.session.channel(EndpointId::Send(index)));
                let admit = self.make.admit(self.payload(index));
                self.flow([payload, admit, self.at("event")]);
                self.holds(index);
                self.done(index, "send");
            }
            Action::Select(arms) => {
                for (arm, Arm { label, .. }) in arms.iter().enumerate() {
                    let place = EndpointId::Select(index, arm);
                    let payload = self.make.at(&self.session.channel(place));
                    let tag = Wire::Tag(self.make.span, label.clone());
                    let admit = self.make.admit(self.payload(index));
                    self.flow([payload, tag, admit, self.at("event")]);
                }
                self.holds(index);
            }
            Action::Recv(..) => {
                if self.session.uses(EndpointId::Recv(index)) {
                    let body = self.make.map(self.make.read("body"));
                    let to = self.make.at(&self.session.channel(EndpointId::Recv(index)));
                    self.flow([self.at("act"), self.acts(index, "recv"), body, to]);
                }
                self.done(index, "recv");
            }
            Action::Offer(arms) => self.offers(index, arms),
        }
    }

    /// A payload as an event.
    fn payload(&self, index: usize) -> Expr {
        let make = self.make;
        make.record([
            ("kind", make.text("payload")),
            ("step", make.int(index as u64 + 1)),
            ("run", make.int(0)),
            ("body", make.read("value")),
        ])
    }

    /// The acts of this step of one kind.
    fn acts(&self, index: usize, does: &str) -> Wire {
        let make = self.make;
        let here = make.counts("step", index as u64 + 1);
        make.filter(make.and(here, make.says("do", does)))
    }

    /// Payloads that came before their turn, and the leave to send: they meet, and ask the gate to let the
    /// payload out.
    fn holds(&mut self, index: usize) {
        let (make, span) = (self.make, self.make.span);
        let step = index as u64 + 1;
        let [held, token, pair] = ["held", "token", "pair"].map(|what| format!("{what}_{step}"));
        let product = TypeKind::Product(vec![self.act(), self.token()]);
        self.channel(&held, self.act());
        self.channel(&token, self.token());
        self.channel(&pair, make.typed(product));
        let ends = make.or(make.says("do", "unexpected"), make.says("do", "late"));
        let comes = make.and(
            make.counts("step", step),
            make.or(make.says("do", "hold"), ends),
        );
        self.flow([self.at("act"), make.filter(comes), self.at(&held)]);
        self.flow([
            self.at("call"),
            make.filter(make.counts("step", step)),
            self.at(&token),
        ]);
        let both = vec![self.at(&held), self.at(&token)];
        self.flow([
            Wire::Parallel(span, both),
            Wire::Barrier(span),
            self.at(&pair),
        ]);
        let same = make.binary(
            Binary::Equal,
            make.read("value.0.run"),
            make.read("value.1.run"),
        );
        let of_run = make.and(make.says("value.0.do", "hold"), same);
        let answer = make.map(make.record([
            (
                "kind",
                make.choose(of_run, make.text("ready"), make.text("old")),
            ),
            ("step", make.int(step)),
            ("run", make.read("value.1.run")),
            ("body", make.read("value.0.body")),
        ]));
        self.flow([self.at(&pair), answer, self.at("event")]);
    }

    /// Routes the choice of the other side to the arm of its label.
    fn offers(&mut self, index: usize, arms: &[Arm]) {
        let make = self.make;
        let used = |arm: &usize| self.session.uses(EndpointId::Offer(index, *arm));
        let used: Vec<usize> = (0..arms.len()).filter(used).collect();
        if used.is_empty() {
            return;
        }
        let chosen = format!("chosen_{}", index + 1);
        self.channel(&chosen, self.act());
        self.flow([self.at("act"), self.acts(index, "recv"), self.at(&chosen)]);
        for arm in used {
            let label = arms.get(arm).map_or("", |arm| &arm.label.text);
            let labelled = make.filter(make.is("body", make.tagged(&[label])));
            let unwrap = make.map(make.read("body.value"));
            let to = make.at(&self.session.channel(EndpointId::Offer(index, arm)));
            self.flow([self.at(&chosen), labelled, unwrap, to]);
        }
    }

    /// After a step without a choice.
    fn done(&mut self, index: usize, does: &str) {
        if self.session.uses(EndpointId::Done(index)) {
            let (from, mine) = (self.at("act"), self.acts(index, does));
            let signal = self.make.map(self.make.null());
            let to = self.make.at(&self.session.channel(EndpointId::Done(index)));
            self.flow([from, mine, signal, to]);
        }
    }
}
