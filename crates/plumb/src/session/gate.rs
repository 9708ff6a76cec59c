//! The gate of a session: one feedback loop, whose state says which run and which step it stands at.
//!
//! ```text
//!  once ──► state ─┐                       ┌─► state (round again)
//!                  ├ barrier ─ map ─► turn ┤
//!  event ──────────┘                       └─► act ─► the chain, the outgoing stream
//! ```
//!
//! | event | from | what the gate does |
//! |---|---|---|
//! | `trigger` | `s@trigger` | `start` a run, or `drop` it during one |
//! | `message` | the incoming stream | `recv` where the step expects it, else `unexpected` |
//! | `payload` | `s@send`, `s@select` | `hold` it for its step, marked with the run; `drop` after a failed run |
//! | `ready` | a step's barrier | `send`, where the run still stands at that step |
//! | `late` | the timer | `late`, where nothing has happened since |
//!
//! `turn` in the state counts what has moved it, so that a timer that was overtaken is recognised. `stale`
//! holds from a failed run to the next trigger: a payload that comes then was made for the failed run, and
//! must not open the next one.

use super::make::Make;
use super::network::{Network, number};
use super::steps::{Action, Arm, Next};
use super::wiring::{Place, describe};
use crate::syntax::ast::{Binary, Expr, Type, Wire};

impl Network<'_> {
    /// The gate, and what leads into it and out of it.
    pub(super) fn gate(&mut self, outgoing: Option<&Type>) {
        let make = self.make;
        let channels = [
            ("state", state(make)),
            ("event", event(make)),
            ("turn", turn(make)),
            ("act", self.act()),
        ];
        for (name, kind) in channels {
            self.channel(name, kind);
        }
        self.comes_in();
        self.turns();
        self.goes_out(outgoing);
        self.reports();
        self.waits();
    }

    fn comes_in(&mut self) {
        let make = self.make;
        let event = |kind: &str| {
            make.admit(make.record([
                ("kind", make.text(kind)),
                ("step", make.int(0)),
                ("run", make.int(0)),
                ("body", make.read("value")),
            ]))
        };
        let from = make.at(&self.session.channel(Place::Trigger));
        let ([wrap, admit], to) = (event("trigger"), self.at("event"));
        self.flow([from, wrap, admit, to]);
        let from = make.at(&self.session.bind.incoming.text);
        let ([wrap, admit], to) = (event("message"), self.at("event"));
        self.flow([from, wrap, admit, to]);
    }

    /// The loop itself.
    fn turns(&mut self) {
        let make = self.make;
        let begin = make.record([
            ("run", make.int(0)),
            ("step", make.int(0)),
            ("turn", make.int(0)),
            ("stale", make.bool(false)),
        ]);
        let to = self.at("state");
        self.flow([Wire::Once(make.span, begin), to]);
        let both = vec![self.at("state"), self.at("event")];
        let decide = make.map(make.record([
            ("state", make.read("value.0")),
            ("event", make.read("value.1")),
            ("do", self.decision()),
            ("to", self.successor()),
        ]));
        let to = self.at("turn");
        self.flow([
            Wire::Parallel(make.span, both),
            Wire::Barrier(make.span),
            decide,
            to,
        ]);
        let (from, to) = (self.at("turn"), self.at("state"));
        self.flow([from, make.map(self.moved()), to]);
        let (from, to) = (self.at("turn"), self.at("act"));
        self.flow([from, make.map(self.let_out()), to]);
    }

    /// What the gate does about an event.
    fn decision(&self) -> Expr {
        let make = self.make;
        let idle = make.counts("value.0.step", 0);
        let trigger = make.choose(idle, make.text("start"), make.text("drop"));
        let payload = make.choose(
            make.read("value.0.stale"),
            make.text("drop"),
            make.text("hold"),
        );
        let same =
            |one: &str, other: &str| make.binary(Binary::Equal, make.read(one), make.read(other));
        let stands = make.and(
            same("value.1.run", "value.0.run"),
            same("value.1.step", "value.0.step"),
        );
        let ready = make.choose(stands, make.text("send"), make.text("drop"));
        let running = make.binary(Binary::Greater, make.read("value.0.step"), make.int(0));
        let waited = make.and(running, same("value.1.run", "value.0.turn"));
        let late = make.choose(waited, make.text("late"), make.text("drop"));
        let message = make.choose(self.expected(), make.text("recv"), make.text("unexpected"));
        let kinds = [
            ("trigger", trigger),
            ("payload", payload),
            ("ready", ready),
            ("late", late),
        ];
        kinds.into_iter().rev().fold(message, |no, (kind, yes)| {
            make.choose(make.says("value.1.kind", kind), yes, no)
        })
    }

    /// Whether the step that the gate stands at receives this message.
    fn expected(&self) -> Expr {
        let make = self.make;
        let steps = self.session.steps.steps.iter();
        let leaf = |action: &Action| match action {
            Action::Recv(kind, _) => make.is("value.1.body", kind.clone()),
            Action::Offer(arms) => make.is("value.1.body", make.tagged(&labels(arms))),
            Action::Send(..) | Action::Select(_) => make.bool(false),
        };
        let mut leaves = vec![make.bool(false)];
        leaves.extend(steps.map(|step| leaf(&step.action)));
        make.by_number("value.0.step", 0, &leaves)
    }

    /// The step after the one that the gate stands at, if it is done with this event.
    fn successor(&self) -> Expr {
        let make = self.make;
        let steps = self.session.steps.steps.iter();
        let leaf = |action: &Action| match action {
            Action::Send(_, next) | Action::Recv(_, next) => make.int(number(*next)),
            Action::Select(arms) | Action::Offer(arms) => by_label(make, arms),
        };
        let mut leaves = vec![make.int(number(self.session.steps.first))];
        leaves.extend(steps.map(|step| leaf(&step.action)));
        make.by_number("value.0.step", 0, &leaves)
    }

    /// The state after an event.
    fn moved(&self) -> Expr {
        let make = self.make;
        let next = |run: Expr, step: Expr, stale: bool| {
            make.record([
                ("run", run),
                ("step", step),
                ("turn", make.after("state.turn")),
                ("stale", make.bool(stale)),
            ])
        };
        let start = next(make.after("state.run"), make.read("to"), false);
        let forward = next(make.read("state.run"), make.read("to"), false);
        let fail = next(make.read("state.run"), make.int(0), true);
        let kept = make.choose(failed(make), fail, make.read("state"));
        let moves = make.or(make.says("do", "send"), make.says("do", "recv"));
        let moved = make.choose(moves, forward, kept);
        make.choose(make.says("do", "start"), start, moved)
    }

    /// What the chain is told. A payload that comes between runs is for the next one.
    fn let_out(&self) -> Expr {
        let make = self.make;
        let held = make.says("do", "hold");
        let started = make.says("do", "start");
        let step = make.choose(
            started.clone(),
            make.read("to"),
            make.choose(
                held.clone(),
                make.read("event.step"),
                make.read("state.step"),
            ),
        );
        let early = make.and(held, make.counts("state.step", 0));
        let run = make.choose(
            make.or(started, early),
            make.after("state.run"),
            make.read("state.run"),
        );
        make.record([
            ("do", make.read("do")),
            ("step", step),
            ("run", run),
            ("body", make.read("event.body")),
        ])
    }

    /// One way out for all that is sent, so that its order is the order in which the gate let it go.
    fn goes_out(&mut self, outgoing: Option<&Type>) {
        let make = self.make;
        let to = make.at(&self.session.bind.outgoing.text);
        let (from, sent) = (self.at("act"), make.filter(make.says("do", "send")));
        let body = make.map(make.read("body"));
        match outgoing {
            Some(kind) => {
                self.channel("out", kind.clone());
                let out = self.at("out");
                self.flow([from, sent, body, out]);
                let out = self.at("out");
                self.flow([out, to]);
            }
            None => self.flow([from, sent, body, to]),
        }
        let (from, start) = (self.at("act"), make.filter(make.says("do", "start")));
        if self.session.uses(Place::Started) {
            let body = make.map(make.read("body"));
            let to = make.at(&self.session.channel(Place::Started));
            self.flow([from.clone(), start.clone(), body, to]);
        }
        match self.session.steps.first {
            Next::End => {}
            Next::Step(first) => {
                let token = make.map(make.record([("run", make.read("run"))]));
                let to = self.at(&format!("token_{}", first + 1));
                self.flow([from, start, token, to]);
            }
        }
        let dropped = make.filter(make.says("do", "drop"));
        let from = self.at("act");
        self.flow([from, dropped, Wire::Discard(make.span)]);
    }

    /// What went wrong, for `s@error`.
    fn reports(&mut self) {
        if !self.session.uses(Place::Error) {
            return;
        }
        let make = self.make;
        let late = || make.says("do", "late");
        let wrong = make.filter(make.or(make.says("do", "unexpected"), late()));
        let steps = self.session.steps.steps.iter().enumerate();
        let mut leaves = vec![make.text("no run")];
        leaves.extend(steps.map(|(index, step)| {
            make.text(&format!("step {}: {}", index + 1, describe(&step.action)))
        }));
        let report = make.map(make.record([
            (
                "error",
                make.choose(
                    late(),
                    make.text("timeout"),
                    make.text("unexpected_message"),
                ),
            ),
            (
                "category",
                make.choose(late(), make.text("unavailable"), make.text("invalid")),
            ),
            ("detail", make.by_number("step", 0, &leaves)),
            ("message", make.read("body")),
        ]));
        let (from, to) = (self.at("act"), make.at(&self.session.channel(Place::Error)));
        self.flow([from, wrong, report, to]);
    }

    /// The time limit of each step. A wait of 0 ms only takes the last one back, when a run is over.
    fn waits(&mut self) {
        let Some((limit, _)) = self.session.bind.within else {
            return;
        };
        let make = self.make;
        let moves = ["start", "send", "recv"].map(|what| make.says("do", what));
        let moves = moves
            .into_iter()
            .fold(failed(make), |some, more| make.or(more, some));
        let over = make.or(failed(make), make.counts("to", 0));
        let wait = make.map(make.record([
            ("run", make.read("state.run")),
            ("step", make.after("state.turn")),
            ("ms", make.choose(over, make.int(0), make.int(limit))),
        ]));
        let (from, to) = (self.at("turn"), self.at("timer"));
        self.flow([from, make.filter(moves), wait, to]);
        let late = make.map(make.record([
            ("kind", make.text("late")),
            ("step", make.int(0)),
            ("run", make.read("step")),
            ("body", make.null()),
        ]));
        let (from, to) = (self.at("timer"), self.at("event"));
        self.flow([from, late, to]);
    }
}

fn state(make: Make) -> Type {
    make.fields([
        ("run", make.kind("int")),
        ("step", make.kind("int")),
        ("turn", make.kind("int")),
        ("stale", make.kind("bool")),
    ])
}

fn event(make: Make) -> Type {
    make.fields([
        ("kind", make.kind("string")),
        ("step", make.kind("int")),
        ("run", make.kind("int")),
        ("body", make.kind("json")),
    ])
}

fn turn(make: Make) -> Type {
    make.fields([
        ("state", state(make)),
        ("event", event(make)),
        ("do", make.kind("string")),
        ("to", make.kind("int")),
    ])
}

/// Whether a run was ended before its time.
fn failed(make: Make) -> Expr {
    make.and(
        make.or(make.says("do", "unexpected"), make.says("do", "late")),
        make.binary(Binary::Greater, make.read("state.step"), make.int(0)),
    )
}

fn labels(arms: &[Arm]) -> Vec<&str> {
    arms.iter().map(|arm| &*arm.label.text).collect()
}

/// What comes after a choice, by halving its labels.
fn by_label(make: Make, arms: &[Arm]) -> Expr {
    match arms {
        [] => make.int(0),
        [first, rest @ ..] if rest.iter().all(|arm| arm.next == first.next) => {
            make.int(number(first.next))
        }
        _ => {
            let (left, right) = arms.split_at(arms.len() / 2);
            make.choose(
                make.is("value.1.body", make.tagged(&labels(left))),
                by_label(make, left),
                by_label(make, right),
            )
        }
    }
}
