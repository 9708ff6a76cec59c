//! The functor: a session as channels and wiring statements of the plain morphisms.
//!
//! Two parts. The *gate* (`gate`) is one feedback loop with the state of the session in it; everything that
//! happens goes through it one by one, as an *event*, and leaves it as an *act*. The *chain*, here, is the
//! image of each step, and these are joined by tokens, which are the `done` of one step and the leave to
//! begin of the next:
//!
//! ```text
//!  send     map (wrap) → gate → filter by step ─┐
//!                                 token ────────┴ barrier → map → gate → filter by step → token
//!  recv     gate → filter by step ─┐
//!                         token ───┴ barrier → map (unwrap), token
//!  select   tag, then as send; a filter for each label routes the token
//!  offer    as recv; copy, a filter for each label
//!  rec      the channel of a step's tokens, into which its entry and its jumps lead (merge)
//!  end      discard
//! ```
//!
//! Payloads wait at their step's barrier, marked with the run in which they came. A pair whose payload is
//! older than the token drops the payload and leads the token back; a run that is ended before its time
//! sends a *flush* to the step that it stands at, which takes the waiting token away. So what is left over
//! from one run never meets another, and tokens never overtake each other.

use std::collections::BTreeMap;

use super::make::Make;
use super::steps::{Action, Arm, Next};
use super::wiring::{Place, Session};
use crate::syntax::ast::{
    Binary, Body, Declaration, DeclarationKind, Expr, Let, Name, Setting, Signature, Statement,
    Type, Wire,
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

/// The tool that stands for the time limit of a session, where it has one.
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

    /// What the gate lets out.
    pub(super) fn act(&self) -> Type {
        let make = self.make;
        make.fields([
            ("do", make.kind("string")),
            ("step", make.kind("int")),
            ("run", make.kind("int")),
            ("body", make.kind("json")),
        ])
    }

    fn token(&self) -> Type {
        self.make.fields([("run", self.make.kind("int"))])
    }

    /// The channels of the endpoints that the body names; what it forgets to feed is fed by `empty`, so that
    /// one mistake is told once.
    fn endpoints(&mut self) {
        let make = self.make;
        let session = self.session;
        let mut places: BTreeMap<Place, Name> = BTreeMap::new();
        let used = session.uses.iter().map(|(place, _)| *place);
        for place in used.chain(session.missing()) {
            let name = make.name(&session.channel(place));
            places.insert(place, name);
        }
        for (place, name) in places {
            let kind = self.kind(place);
            self.made.push(make.channel(&name.text, kind));
        }
        for place in session.missing() {
            let target = make.at(&session.channel(place));
            self.flow([Wire::Empty(make.span), target]);
        }
    }

    /// What goes through an endpoint.
    fn kind(&self, place: Place) -> Type {
        let make = self.make;
        let payload = |step: usize| match self.session.steps.steps.get(step).map(|s| &s.action) {
            Some(Action::Send(kind, _) | Action::Recv(kind, _)) => kind.clone(),
            _ => make.kind("json"),
        };
        match place {
            Place::Send(step) | Place::Recv(step) => payload(step),
            Place::Done(_) => make.kind("unit"),
            Place::Error => make.fields([
                ("error", make.kind("string")),
                ("category", make.kind("string")),
                ("detail", make.kind("string")),
                ("message", make.kind("json")),
            ]),
            Place::Trigger | Place::Started | Place::Select(..) | Place::Offer(..) => {
                make.kind("json")
            }
        }
    }

    /// The image of one step.
    fn step(&mut self, index: usize, action: &Action) {
        let token = self.token();
        self.channel(&format!("token_{}", index + 1), token);
        match action {
            Action::Send(_, next) => {
                let payload = self.make.at(&self.session.channel(Place::Send(index)));
                let [wrap, admit] = self.make.admit(self.payload(index));
                let event = self.at("event");
                self.flow([payload, wrap, admit, event]);
                self.sends(index);
                self.done(index, *next);
            }
            Action::Select(arms) => {
                for (arm, Arm { label, .. }) in arms.iter().enumerate() {
                    let place = Place::Select(index, arm);
                    let payload = self.make.at(&self.session.channel(place));
                    let tag = Wire::Tag(self.make.span, label.clone());
                    let [wrap, admit] = self.make.admit(self.payload(index));
                    let event = self.at("event");
                    self.flow([payload, tag, wrap, admit, event]);
                }
                self.sends(index);
                self.route(index, arms);
            }
            Action::Recv(_, next) => {
                self.receives(index);
                if self.session.uses(Place::Recv(index)) {
                    let (after, unwrap) =
                        (self.after(index), self.make.map(self.make.read("body")));
                    let to = self.make.at(&self.session.channel(Place::Recv(index)));
                    self.flow([after, unwrap, to]);
                }
                self.done(index, *next);
            }
            Action::Offer(arms) => {
                self.receives(index);
                for (arm, Arm { label, .. }) in arms.iter().enumerate() {
                    let place = Place::Offer(index, arm);
                    if self.session.uses(place) {
                        let after = self.after(index);
                        let chosen = self.labelled(label);
                        let unwrap = self.make.map(self.make.read("body.value"));
                        let to = self.make.at(&self.session.channel(place));
                        self.flow([after, chosen, unwrap, to]);
                    }
                }
                self.route(index, arms);
            }
        }
    }

    fn after(&self, index: usize) -> Wire {
        self.at(&format!("after_{}", index + 1))
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

    /// Those acts of this step that do what is said, and those that flush it.
    fn acts(&self, index: usize, does: &str) -> Wire {
        let make = self.make;
        let flush = make.or(make.says("do", "unexpected"), make.says("do", "late"));
        make.filter(make.and(
            make.counts("step", index as u64 + 1),
            make.or(make.says("do", does), flush),
        ))
    }

    /// A payload and the token of its step meet, and ask the gate to let it out. Then the step is over.
    fn sends(&mut self, index: usize) {
        let make = self.make;
        let step = index + 1;
        let [held, pair, token] = ["held", "pair", "token"].map(|what| format!("{what}_{step}"));
        self.meet(index, "hold", &held);
        let same = make.binary(
            Binary::Equal,
            make.read("value.0.run"),
            make.read("value.1.run"),
        );
        let ready = make.record([
            ("kind", make.text("ready")),
            ("step", make.int(step as u64)),
            ("run", make.read("value.1.run")),
            ("body", make.read("value.0.body")),
        ]);
        let held = make.filter(make.and(make.says("value.0.do", "hold"), same));
        let (from, to) = (self.at(&pair), self.at("event"));
        self.flow([from, held, make.map(ready), to]);
        let older = make.filter(make.binary(
            Binary::Less,
            make.read("value.0.run"),
            make.read("value.1.run"),
        ));
        let (from, to) = (self.at(&pair), self.at(&token));
        self.flow([from, older, Wire::Project(make.span, 1), to]);
        let act = self.act();
        self.channel(&format!("after_{step}"), act);
        let sent = make.filter(make.and(make.says("do", "send"), make.counts("step", step as u64)));
        let (from, to) = (self.at("act"), self.after(index));
        self.flow([from, sent, to]);
    }

    /// What came in for this step and its token meet.
    fn receives(&mut self, index: usize) {
        let make = self.make;
        let step = index + 1;
        let [got, pair, after] = ["got", "pair", "after"].map(|what| format!("{what}_{step}"));
        self.meet(index, "recv", &got);
        let act = self.act();
        self.channel(&after, act);
        let (from, to) = (self.at(&pair), self.after(index));
        let come = make.filter(make.says("value.0.do", "recv"));
        self.flow([from, come, Wire::Project(make.span, 0), to]);
    }

    /// The acts of a step and its tokens, in pairs.
    fn meet(&mut self, index: usize, does: &str, acts: &str) {
        let (step, span) = (index + 1, self.make.span);
        let (act, token) = (self.act(), self.token());
        let pair = format!("pair_{step}");
        self.channel(acts, act.clone());
        let product = crate::syntax::ast::TypeKind::Product(vec![act, token]);
        self.channel(&pair, self.make.typed(product));
        let (from, mine, to) = (self.at("act"), self.acts(index, does), self.at(acts));
        self.flow([from, mine, to]);
        let both = vec![self.at(acts), self.at(&format!("token_{step}"))];
        let to = self.at(&pair);
        self.flow([Wire::Parallel(span, both), Wire::Barrier(span), to]);
    }

    /// After a step without a choice.
    fn done(&mut self, index: usize, next: Next) {
        if self.session.uses(Place::Done(index)) {
            let (after, signal) = (self.after(index), self.make.map(self.make.null()));
            let to = self.make.at(&self.session.channel(Place::Done(index)));
            self.flow([after, signal, to]);
        }
        let after = self.after(index);
        self.go_on(vec![after], next);
    }

    /// After a step with a choice: a filter for each label.
    fn route(&mut self, index: usize, arms: &[Arm]) {
        for arm in arms {
            let wires = vec![self.after(index), self.labelled(&arm.label)];
            self.go_on(wires, arm.next);
        }
    }

    fn labelled(&self, label: &Name) -> Wire {
        let make = self.make;
        make.filter(make.is("body", make.tagged(&[&label.text])))
    }

    /// The token goes on to the next step, or nowhere.
    fn go_on(&mut self, mut wires: Vec<Wire>, next: Next) {
        let make = self.make;
        match next {
            Next::End => wires.push(Wire::Discard(make.span)),
            Next::Step(index) => {
                wires.push(make.map(make.record([("run", make.read("run"))])));
                wires.push(self.at(&format!("token_{}", index + 1)));
            }
        }
        let statement = crate::syntax::ast::StatementKind::Wire(Wire::Sequence(wires));
        self.made.push(make.statement(statement));
    }
}
