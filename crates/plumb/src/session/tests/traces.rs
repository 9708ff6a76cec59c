//! The reference semantics of sessions, without a network.
//!
//! This is the meaning of a protocol: [`Run`] walks the protocol as it is written and unfolds `rec`, names
//! and `loop` where it meets them. The network of a session does the same, event for event; tests compare
//! the two.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::super::Scope;
use crate::span::Span;
use crate::syntax::ast::{Name, Protocol, ProtocolKind, Side, Type};
use crate::value::Value;

/// The maximum number of jumps before a protocol counts as looping without a step.
const MOST_JUMPS: usize = 4096;

/// An event of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something wants a run.
    Trigger(Value),
    /// A message from the other side.
    Message(Value),
    /// The payload of the step that is written there.
    Payload(Span, Value),
    /// This arm of the choice that is written there is chosen.
    Choice(Span, Arc<str>, Value),
    /// The time limit of the step that the run stands at has passed.
    Late,
}

/// An action of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionOutput {
    /// A run has started.
    Started(Value),
    /// A message to the other side.
    Sent(Value),
    /// A step, by its span, received this value.
    Received(Span, Value),
    /// The other side chose this arm of the choice that is written there.
    Offered(Span, Arc<str>, Value),
    /// The step that is written there is over.
    Done(Span),
    /// No step expects this message; with it, a run that stood ends.
    Unexpected(Value),
    /// The run ends because a step took too long.
    Timeout,
    /// A trigger during a run, or a payload that was made for a failed one.
    Dropped,
}

/// A session: its protocol, and the run that it is in.
pub struct Run<'a> {
    scope: &'a dyn Scope,
    /// Tests the type of a message.
    fits: &'a dyn Fn(&Type, &Value) -> bool,
    side: Side,
    protocol: Protocol,
    /// The step that the run stands at.
    at: Option<Position>,
    /// True if the last run failed and no other has started.
    stale: bool,
    /// Payloads that came before their turn.
    held: BTreeMap<Span, VecDeque<Value>>,
}

/// A rest of a protocol and what its names mean.
#[derive(Clone)]
struct Position {
    rest: Protocol,
    top: Protocol,
    around: Vec<(Name, Protocol)>,
}

impl<'a> Run<'a> {
    /// A session before its first run.
    pub fn new(
        protocol: Protocol,
        side: Side,
        scope: &'a dyn Scope,
        fits: &'a dyn Fn(&Type, &Value) -> bool,
    ) -> Self {
        Self {
            scope,
            fits,
            side,
            protocol,
            at: None,
            stale: false,
            held: BTreeMap::new(),
        }
    }

    /// Returns true if a run is in progress.
    #[must_use]
    pub fn running(&self) -> bool {
        self.at.is_some()
    }

    /// The span of the current step.
    #[must_use]
    pub fn stands_at(&self) -> Option<Span> {
        let rest = &self.at.as_ref()?.rest;
        match &rest.kind {
            ProtocolKind::Send(kind, _) | ProtocolKind::Recv(kind, _) => Some(kind.span),
            _ => Some(rest.span),
        }
    }

    /// Handles an event.
    pub fn on(&mut self, event: Event) -> Vec<SessionOutput> {
        let mut outcomes = Vec::new();
        match event {
            Event::Trigger(_) if self.running() => outcomes.push(SessionOutput::Dropped),
            Event::Trigger(value) => {
                outcomes.push(SessionOutput::Started(value));
                self.stale = false;
                let begin = Position {
                    rest: self.protocol.clone(),
                    top: self.protocol.clone(),
                    around: Vec::new(),
                };
                self.enter(begin);
            }
            Event::Message(message) => outcomes.extend(self.message(message)),
            Event::Payload(..) | Event::Choice(..) if self.stale => {
                outcomes.push(SessionOutput::Dropped)
            }
            Event::Payload(step, value) => self.held.entry(step).or_default().push_back(value),
            Event::Choice(step, label, value) => {
                let held = self.held.entry(step).or_default();
                held.extend(tagged(&label, value));
            }
            Event::Late if self.running() => {
                self.fail();
                outcomes.push(SessionOutput::Timeout);
            }
            Event::Late => {}
        }
        self.send(&mut outcomes);
        outcomes
    }

    /// Moves on to the next step. If there is none, the run is over and held messages are dropped.
    fn enter(&mut self, position: Position) {
        self.at = self.unfold(position);
        if self.at.is_none() {
            self.held.clear();
        }
    }

    fn fail(&mut self) {
        self.at = None;
        self.stale = true;
        self.held.clear();
    }

    /// The position with a step in front.
    fn unfold(&self, mut position: Position) -> Option<Position> {
        for _ in 0..MOST_JUMPS {
            match position.rest.kind.clone() {
                ProtocolKind::Rec(name, body) => {
                    position.around.push((name, position.rest));
                    position.rest = *body;
                }
                ProtocolKind::Loop => {
                    position.rest = position.top.clone();
                    position.around.clear();
                }
                ProtocolKind::Named(path) => {
                    let meant = position.around.iter().rposition(|(name, _)| {
                        path.module.is_none() && name.text == path.name.text
                    });
                    if let Some(meant) = meant {
                        position.around.truncate(meant + 1);
                        position.rest = position.around.pop()?.1;
                    } else {
                        position.rest = self.scope.protocol(&path)?;
                        position.top = position.rest.clone();
                        position.around.clear();
                    }
                }
                ProtocolKind::End | ProtocolKind::Broken => return None,
                _ => return Some(position),
            }
        }
        None
    }

    /// A message from the other side, in its turn or not.
    fn message(&mut self, message: Value) -> Vec<SessionOutput> {
        let expected = self.at.clone().and_then(|at| {
            let (next, outcomes) = match (&at.rest.kind, self.side) {
                (ProtocolKind::Recv(kind, next), Side::Itself)
                | (ProtocolKind::Send(kind, next), Side::Dual) => {
                    let fits = (self.fits)(kind, &message);
                    let outcomes = [
                        SessionOutput::Received(kind.span, message.clone()),
                        SessionOutput::Done(kind.span),
                    ];
                    fits.then(|| ((**next).clone(), outcomes.to_vec()))?
                }
                (ProtocolKind::Offer(arms), Side::Itself)
                | (ProtocolKind::Select(arms), Side::Dual) => {
                    let (label, value) = untagged(&message)?;
                    let (_, next) = arms.iter().find(|(name, _)| *name.text == *label)?;
                    let outcome = SessionOutput::Offered(at.rest.span, label, value);
                    (next.clone(), vec![outcome])
                }
                _ => return None,
            };
            Some((Position { rest: next, ..at }, outcomes))
        });
        match expected {
            Some((next, outcomes)) => {
                self.enter(next);
                outcomes
            }
            None => {
                if self.running() {
                    self.fail();
                }
                vec![SessionOutput::Unexpected(message)]
            }
        }
    }

    /// Sends what can be sent: the steps in whose turn a payload is there.
    fn send(&mut self, outcomes: &mut Vec<SessionOutput>) {
        while let Some(at) = self.at.clone() {
            let (step, arms, next) = match (&at.rest.kind, self.side) {
                (ProtocolKind::Send(kind, next), Side::Itself)
                | (ProtocolKind::Recv(kind, next), Side::Dual) => (kind.span, None, Some(next)),
                (ProtocolKind::Select(arms), Side::Itself)
                | (ProtocolKind::Offer(arms), Side::Dual) => (at.rest.span, Some(arms), None),
                _ => return,
            };
            let Some(payload) = self.held.get_mut(&step).and_then(VecDeque::pop_front) else {
                return;
            };
            let chosen = || {
                let (label, _) = untagged(&payload)?;
                let (_, next) = arms?.iter().find(|(name, _)| *name.text == *label)?;
                Some(next.clone())
            };
            let Some(rest) = next.map(|next| (**next).clone()).or_else(chosen) else {
                return;
            };
            outcomes.push(SessionOutput::Sent(payload));
            if arms.is_none() {
                outcomes.push(SessionOutput::Done(step));
            }
            self.enter(Position { rest, ..at });
        }
    }
}

/// `{ tag: "l", value: message }`, if that is not too deep or too large to be a message.
fn tagged(label: &str, value: Value) -> Option<Value> {
    let fields = [("tag".into(), Value::text(label)), ("value".into(), value)];
    Value::record(fields).ok()
}

/// The label and the message, of exactly such a record.
fn untagged(message: &Value) -> Option<(Arc<str>, Value)> {
    let fields = message.fields()?;
    match (fields.len(), message.get("tag"), message.get("value")) {
        (2, Some(Value::Text(label)), Some(value)) => Some((label.clone(), value.clone())),
        _ => None,
    }
}
