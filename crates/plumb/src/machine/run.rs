//! Runs one call: ready nodes fire, the first in graph order first, until none can.

use std::borrow::Cow;
use std::sync::Arc;

use super::edges::{InHand, steps};
use super::ending;
use super::fault::{Fault, FaultKind};
use super::program::{Act, Program, Unit};
use super::state::{Effect, EffectId, Flight, Phase, Request, State, milliseconds};
use super::{Step, cycle};
use crate::graph::{NodeId, Selector};
use crate::value::Value;

/// A call under way.
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) state: &'a mut State,
    pub(super) step: &'a mut Step,
    pub(super) hand: Option<InHand>,
}

/// The result of trying a ready node.
pub(super) enum Fired {
    /// The node moved a message, in this many steps.
    Moved(u64),
    /// The node waits for a message or for room.
    Waits,
}

impl Run<'_> {
    /// Puts the messages that the program begins with on their edges, and comes to rest.
    pub(super) fn start(&mut self) {
        self.state.phase = Phase::Running;
        let program = self.program;
        for (node, unit) in (0..).zip(&program.units) {
            if let (Act::Once(value), Some(out)) = (&unit.act, unit.outputs.first()) {
                self.state.counters.begun += 1;
                self.deliver(*out, value.clone());
                self.state.ended.put(node);
            }
        }
        self.rest();
    }

    /// Moves until nothing can, then ends what has ended.
    pub(super) fn rest(&mut self) {
        let mut fuel = self.program.limits.fuel;
        loop {
            while let Some((node, fired)) = self.turn(fuel) {
                match fired {
                    Fired::Waits => self.state.ready.remove(node),
                    Fired::Moved(steps) => match fuel.checked_sub(steps) {
                        Some(left) => fuel = left,
                        None => return self.stop(node),
                    },
                }
            }
            if !self.state.ending || !ending::settle(self) {
                break;
            }
        }
        self.state.queues.rest();
    }

    /// Lets the first ready node fire; `None` if none is ready.
    fn turn(&mut self, fuel: u64) -> Option<(u32, Fired)> {
        if let Some(hand) = self.hand.take()
            && let Some((node, steps)) = self.pass(hand, fuel)
        {
            return Some((node, Fired::Moved(steps)));
        }
        let node = self.state.ready.first()?;
        Some((node, self.fire(node)))
    }

    /// Lets the node behind a message in hand fire, if it is the first one, and on through nodes that only
    /// pass messages on, until the fuel is used up. In how many steps; `None` if the message has to wait.
    fn pass(&mut self, mut hand: InHand, fuel: u64) -> Option<(u32, u64)> {
        let program = self.program;
        let first = self.state.ready.first();
        let mut passed = 0;
        loop {
            let pipe = program.pipe(hand.edge)?;
            let is_next = first.is_none_or(|first| first > pipe.to);
            let unit = program.unit(pipe.to);
            let Some(unit) = unit.filter(|unit| is_next && self.has_room(unit)) else {
                self.put_down(hand, pipe.to);
                return (passed > 0).then_some((pipe.from, passed));
            };
            self.state.ending |= self.state.ended.has(pipe.from);
            if !matches!(unit.act, Act::Id | Act::Merge) {
                let steps = self.work(pipe.to, unit, hand.message);
                return Some((pipe.to, passed + steps));
            }
            passed += 1;
            self.send(unit, hand.message);
            match self.hand.take_if(|_| passed <= fuel) {
                Some(next) => hand = next,
                None => return Some((pipe.to, passed)),
            }
        }
    }

    /// Moves one message at a node, if possible.
    fn fire(&mut self, node: u32) -> Fired {
        let program = self.program;
        let Some(unit) = program.unit(node) else {
            return Fired::Waits;
        };
        if self.state.ended.has(node) {
            return Fired::Waits;
        }
        let gaps = !self.state.gaps.is_empty();
        if let Some(fired) = gaps.then(|| self.gap(node, unit)).flatten() {
            return fired;
        }
        match &unit.act {
            Act::Input | Act::Empty | Act::Once(_) | Act::Failures => Fired::Waits,
            Act::Barrier => self.barrier(unit),
            Act::External(_) => self.external(node, unit),
            _ => self.one(node, unit),
        }
    }

    /// The nodes that take one message at a time.
    fn one(&mut self, node: u32, unit: &Unit) -> Fired {
        if !self.has_room(unit) {
            return Fired::Waits;
        }
        let input = match unit.inputs.as_ref() {
            [only] => Some(*only),
            several => self.earliest(node, several),
        };
        let Some(message) = input.and_then(|input| self.take(input)) else {
            return Fired::Waits;
        };
        if self.is_idle(node, unit) {
            self.state.ready.remove(node);
        }
        Fired::Moved(self.work(node, unit, message))
    }

    /// Lets a node do with a message what it does. In how many steps.
    fn work(&mut self, node: u32, unit: &Unit, message: Value) -> u64 {
        let mut work = 0;
        let counters = &mut self.state.counters;
        match &unit.act {
            Act::Output(port) => {
                counters.delivered += 1;
                self.step.outputs.push((*port, message));
            }
            Act::Discard => counters.discarded += 1,
            Act::Unheard(session) => {
                counters.discarded += 1;
                let gate = self.program.gates.get(*session);
                let violation = gate.map(|gate| super::gate::violation(gate, &message));
                self.step.violations.extend(violation);
            }
            Act::Copy => return 1 + self.copy(node, unit, message),
            Act::Filter(expression, selector) => match expression.holds(&message, &mut work) {
                Ok(true) => self.send(unit, message),
                Ok(false) => counters.dropped += 1,
                Err(stop) if *selector == Selector::Partial && stop.is_absence() => {
                    counters.dropped += 1;
                }
                Err(stop) => {
                    let (kind, detail) = (stop.fault(), stop.detail());
                    self.lose(unit, kind, detail, message);
                }
            },
            Act::Map(expression) => {
                let made = expression.get(&message, &mut work).map(Cow::into_owned);
                match made.map_err(|stop| (stop.fault(), stop.detail())) {
                    Ok(made) => self.send(unit, made),
                    Err((kind, detail)) => self.lose(unit, kind, detail, message),
                }
            }
            Act::Narrow(shape, kind) => {
                work = u64::from(message.weight());
                if shape.takes_all() || shape.fits(&message) {
                    self.send(unit, message);
                } else {
                    let detail = super::shape::mismatch(kind, &message)
                        .map_or_else(String::new, |it| it.to_string());
                    self.lose(unit, FaultKind::Narrowing, detail, message);
                }
            }
            Act::Timer => self.timer(node, unit, message),
            _ => self.send(unit, message),
        }
        steps(work)
    }

    fn barrier(&mut self, unit: &Unit) -> Fired {
        let queues = &self.state.queues;
        let complete = unit.inputs.iter().all(|input| queues.length(*input) > 0);
        if !complete || !self.has_room(unit) {
            return Fired::Waits;
        }
        let parts = unit.inputs.iter().filter_map(|input| self.take(*input));
        let parts: Arc<[Value]> = parts.collect();
        match Value::list(Arc::clone(&parts)) {
            Ok(list) => {
                self.state.counters.joined += parts.len() as u64 - 1;
                self.send(unit, list);
            }
            Err(oversize) => {
                // The parts are lost, and leave one gap.
                self.state.counters.parted += parts.len() as u64 - 1;
                let first = parts.first().cloned().unwrap_or(Value::Null);
                self.lose(unit, FaultKind::Oversize, oversize.to_string(), first);
            }
        }
        Fired::Moved(1)
    }

    fn external(&mut self, node: u32, unit: &Unit) -> Fired {
        if self.state.flights_of(node) >= self.program.limits.queue as usize {
            return Fired::Waits;
        }
        let input = self.earliest(node, &unit.inputs);
        let port = unit.inputs.iter().position(|edge| Some(*edge) == input);
        let (Some(port), Some(message)) = (port, input.and_then(|input| self.take(input))) else {
            return Fired::Waits;
        };
        self.ask(node, u32::try_from(port).unwrap_or_default(), message);
        Fired::Moved(1)
    }

    /// A message to a timer replaces the wait there is; one without a time ends it.
    fn timer(&mut self, node: u32, unit: &Unit, message: Value) {
        self.cancel(node);
        match milliseconds(&message) {
            Some(_) => self.ask(node, 0, message),
            None if matches!(message.get("ms"), None | Some(Value::Null | Value::Int(0))) => {
                self.state.counters.discarded += 1;
                self.state.ending = true;
            }
            None => {
                let detail = "expected milliseconds in the field `ms`".to_owned();
                self.lose(unit, FaultKind::Mismatch, detail, message);
            }
        }
    }

    fn ask(&mut self, node: u32, port: u32, message: Value) {
        let id = EffectId(self.state.next_effect);
        self.state.next_effect += 1;
        self.state.counters.asked += 1;
        let flight = Flight {
            id,
            node,
            port,
            message,
        };
        self.step.effects.extend(flight.effect(self.program));
        self.state.flights.push(flight);
    }

    /// Takes back what a node has asked and not got. The messages count as asked.
    pub(super) fn cancel(&mut self, node: u32) {
        let effects = &mut self.step.effects;
        self.state.flights.retain(|flight| {
            if flight.node == node {
                effects.push(Effect {
                    id: flight.id,
                    node: NodeId(node),
                    request: Request::Cancel,
                });
            }
            flight.node != node
        });
    }

    /// The fuel is used up: names the cycle, and ends everything.
    fn stop(&mut self, node: u32) {
        if let Some(hand) = self.hand.take() {
            let to = self.program.pipe(hand.edge).map_or(0, |pipe| pipe.to);
            self.put_down(hand, to);
        }
        let waiting: Vec<u32> = self.state.queues.edges().collect();
        let found = cycle::through(self.program, node, &waiting);
        let name = |node: &u32| self.program.unit(*node).map_or("", |unit| &unit.name);
        let at = found.first().copied().unwrap_or(node);
        let mut detail = format!("not at rest after {} steps", self.program.limits.fuel);
        if !found.is_empty() {
            let names: Vec<&str> = found.iter().chain(found.first()).map(name).collect();
            detail = format!("{detail}; the cycle: {}", names.join(" -> "));
        }
        if let Some(unit) = self.program.unit(at) {
            self.step
                .errors
                .push(fault_at(unit, FaultKind::Fuel, detail));
        }
        self.end_all();
    }

    /// Ends everything.
    pub(super) fn end_all(&mut self) {
        self.state.phase = Phase::Stopped;
        ending::end_all(self);
    }
}

/// A fault at a node, without a message.
pub(super) fn fault_at(unit: &Unit, kind: FaultKind, detail: String) -> Fault {
    Fault {
        kind,
        node: unit.number,
        at: Arc::clone(&unit.name),
        span: unit.span,
        detail,
        message: None,
    }
}
