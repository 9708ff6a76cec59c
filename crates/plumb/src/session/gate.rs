//! The gate of a session: one feedback loop, whose state says which run and which step it stands at.
//!
//! ```text
//!  once ──► state ─┐                       ┌─► state (round again)
//!                  ├ barrier ─ map ─► turn ┼─► act ─► the steps, the outgoing stream
//!  event ──────────┘                       └─► call ─► the step whose turn it is
//! ```
//!
//! | event | from | what the gate does |
//! |---|---|---|
//! | `trigger` | `s@trigger` | `start` a run, or `drop` it during one |
//! | `message` | the incoming stream | `recv` where the step expects it, else `unexpected` |
//! | `payload` | `s@send`, `s@select` | `send` it in its turn, else `hold` it for its step, marked with the run; `drop` after a failed run |
//! | `ready` | a step's barrier | `send`, where the run still stands at that step |
//! | `old` | a step's barrier | `drop`: it was held for an earlier run |
//! | `late` | the timer | `late`, where nothing has happened since |
//!
//! The state:
//!
//! | field | what it says |
//! |---|---|
//! | `run` | how many runs have started |
//! | `step` | where the run stands; 0 is none, and -1 none since one failed: a payload that comes then was made for the failed run and must not open the next one |
//! | `held` | how many payloads wait at the barriers of their steps |
//! | `called` | whether the step that the run stands at was called, and its barrier has not answered yet |
//! | `turn` | with a time limit: how often the state has moved, so that a timer that was overtaken is recognised |
//!
//! A step is called when its turn comes and payloads are held, its own or others. Where none is called, none
//! of its own is held, so a payload that comes goes out at once.

mod decision;

use decision::{answers, failed};

use super::make::Make;
use super::network::Network;
use super::wiring::{EndpointId, describe};
use crate::syntax::ast::{Binary, Expr, Type, Wire};

impl Network<'_> {
    /// The gate, and what leads into it and out of it.
    pub(super) fn gate(&mut self, outgoing: Option<&Type>) {
        let make = self.make;
        let channels = [
            ("state", self.state()),
            ("event", event(make)),
            ("turn", self.turn()),
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

    /// The type of the gate's state.
    fn state(&self) -> Type {
        let make = self.make;
        let int = || make.kind("int");
        let fields = [
            ("run", int()),
            ("step", int()),
            ("held", int()),
            ("called", make.kind("bool")),
            ("turn", int()),
        ];
        make.fields(self.of_state(fields))
    }

    fn state_of(&self, values: [Expr; 5]) -> Expr {
        let [run, step, held, called, turn] = values;
        let fields = [
            ("run", run),
            ("step", step),
            ("held", held),
            ("called", called),
            ("turn", turn),
        ];
        self.make.record(self.of_state(fields))
    }

    /// Only time limits ask how often the state has moved.
    fn of_state<T>(
        &self,
        fields: [(&'static str, T); 5],
    ) -> impl Iterator<Item = (&'static str, T)> {
        let kept = if self.is_timed() { 5 } else { 4 };
        fields.into_iter().take(kept)
    }

    fn turn(&self) -> Type {
        let make = self.make;
        make.fields([
            ("state", self.state()),
            ("event", event(make)),
            ("do", make.kind("string")),
            ("to", make.kind("int")),
        ])
    }

    fn is_timed(&self) -> bool {
        self.session.bind.within.is_some()
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
        let from = make.at(&self.session.channel(EndpointId::Trigger));
        let (admit, to) = (event("trigger"), self.at("event"));
        self.flow([from, admit, to]);
        let from = make.named(&self.session.bind.incoming);
        let (admit, to) = (event("message"), self.at("event"));
        self.flow([from, admit, to]);
    }

    /// The loop itself.
    fn turns(&mut self) {
        let make = self.make;
        let begin = self.state_of([
            make.int(0),
            make.int(0),
            make.int(0),
            make.bool(false),
            make.int(0),
        ]);
        self.flow([Wire::Once(make.span, begin), self.at("state")]);
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
        self.flow([self.at("turn"), make.map(self.moved()), self.at("state")]);
        self.flow([self.at("turn"), make.map(self.let_out()), self.at("act")]);
        self.calls();
    }

    /// Calls the step whose turn it is, where payloads are held; again where its barrier has answered with
    /// one of an earlier run.
    fn calls(&mut self) {
        let make = self.make;
        if !self.has_sends() {
            return;
        }
        self.channel("call", self.token());
        let enters = make.or(
            make.says("do", "start"),
            make.or(make.says("do", "send"), make.says("do", "recv")),
        );
        let enters = make.and(make.and(self.awaits(), enters), self.sends());
        let again = make.and(
            make.says("event.kind", "old"),
            make.and(answers(make), self.more()),
        );
        let waits = make.binary(Binary::Greater, make.read("state.held"), make.int(0));
        let calls = make.filter(make.and(waits, make.or(enters, again)));
        let token = make.map(make.record([
            (
                "run",
                make.choose(
                    make.says("do", "start"),
                    make.after("state.run"),
                    make.read("state.run"),
                ),
            ),
            (
                "step",
                make.choose(
                    make.says("event.kind", "old"),
                    make.read("state.step"),
                    make.read("to"),
                ),
            ),
        ]));
        self.flow([self.at("turn"), calls, token, self.at("call")]);
    }

    /// Merges everything that is sent into one path, in the order in which the gate releases it.
    fn goes_out(&mut self, outgoing: Option<&Type>) {
        let make = self.make;
        let to = make.named(&self.session.bind.outgoing);
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
        if self.session.uses(EndpointId::Started) {
            let (from, start) = (self.at("act"), make.filter(make.says("do", "start")));
            let to = make.at(&self.session.channel(EndpointId::Started));
            self.flow([from, start, make.map(make.read("body")), to]);
        }
        let dropped = make.filter(make.says("do", "drop"));
        self.flow([self.at("act"), dropped, Wire::Discard(make.span)]);
    }

    /// Wires the errors of the session to `s@error`. If nothing reads that, the machine reports what is discarded
    /// there.
    fn reports(&mut self) {
        let make = self.make;
        if !self.session.uses(EndpointId::Error) {
            let error = make.at(&self.session.channel(EndpointId::Error));
            self.flow([error, Wire::Discard(make.span)]);
        }
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
            ("detail", make.by_number("state.step", 0, &leaves)),
            ("message", make.read("event.body")),
        ]));
        let (from, to) = (
            self.at("turn"),
            make.at(&self.session.channel(EndpointId::Error)),
        );
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
        self.flow([self.at("turn"), make.filter(moves), wait, self.at("timer")]);
        let late = make.map(make.record([
            ("kind", make.text("late")),
            ("step", make.int(0)),
            ("run", make.read("step")),
            ("body", make.null()),
        ]));
        self.flow([self.at("timer"), late, self.at("event")]);
    }
}

fn event(make: Make) -> Type {
    make.fields([
        ("kind", make.kind("string")),
        ("step", make.kind("int")),
        ("run", make.kind("int")),
        ("body", make.kind("json")),
    ])
}
