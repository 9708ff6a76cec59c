//! One call: what is ready moves, the first node in graph order first, until nothing can.

use std::borrow::Cow;
use std::sync::Arc;

use super::ending;
use super::fault::{Fault, FaultKind};
use super::program::{Act, Pipe, Program, Unit};
use super::state::{Effect, EffectId, Flight, Phase, Request, State, milliseconds};
use super::{Step, cycle};
use crate::graph::{ExternalId, Flow, NodeId, Selector};
use crate::value::Value;

/// The units of weight that cost as much as a step: 4 KiB.
const WORK_PER_STEP: u64 = 256;

/// A call under way.
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) state: &'a mut State,
    pub(super) step: &'a mut Step,
}

/// What came of looking at a ready node.
enum Fired {
    /// It moved something; it took this much beyond a step.
    Moved(u64),
    /// It cannot, until something arrives or gives way.
    Waits,
}

impl Run<'_> {
    /// Puts the messages that the program begins with on their edges, at the very start.
    fn begin(&mut self) {
        if self.state.phase != Phase::New {
            return;
        }
        self.state.phase = Phase::Running;
        let program = self.program;
        for (node, unit) in (0..).zip(&program.units) {
            if let (Act::Once(value), Some(out)) = (&unit.act, unit.outputs.first()) {
                self.state.counters.begun += 1;
                self.deliver(*out, value.clone());
                self.state.ended.put(node);
            }
        }
    }

    /// Starts, where that has not been done, and comes to rest.
    pub(super) fn start(&mut self) {
        if self.state.phase == Phase::New {
            self.begin();
            self.rest();
        }
    }

    /// Moves until nothing can, then ends what has ended.
    pub(super) fn rest(&mut self) {
        let mut fuel = self.program.limits.fuel;
        loop {
            while let Some(node) = self.state.ready.first() {
                match self.fire(node) {
                    Fired::Waits => self.state.ready.remove(node),
                    Fired::Moved(work) => match fuel.checked_sub(1 + work / WORK_PER_STEP) {
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

    /// Moves one message at a node, where it can.
    fn fire(&mut self, node: u32) -> Fired {
        let program = self.program;
        let Some(unit) = program.unit(node) else {
            return Fired::Waits;
        };
        if self.state.ended.has(node) {
            return Fired::Waits;
        }
        match &unit.act {
            Act::Input | Act::Empty | Act::Once(_) => Fired::Waits,
            Act::Barrier => self.barrier(unit),
            Act::External(external) => self.external(node, unit, *external),
            _ => self.one(node, unit),
        }
    }

    /// The nodes that take one message at a time.
    fn one(&mut self, node: u32, unit: &Unit) -> Fired {
        if !unit
            .outputs
            .iter()
            .all(|out| self.state.has_room(self.program, *out))
        {
            return Fired::Waits;
        }
        let input = match unit.inputs.as_ref() {
            [only] => Some(*only),
            several => self.earliest(several),
        };
        let Some(message) = input.and_then(|input| self.take(input)) else {
            return Fired::Waits;
        };
        let mut work = 0;
        let counters = &mut self.state.counters;
        match &unit.act {
            Act::Output(port) => {
                counters.delivered += 1;
                self.step.outputs.push((*port, message));
            }
            Act::Discard => counters.discarded += 1,
            Act::Copy => self.copy(unit, message),
            Act::Filter(expression, selector) => match expression.holds(&message, &mut work) {
                Ok(true) => self.send(unit, message),
                Ok(false) => counters.dropped += 1,
                Err(stop) if *selector == Selector::Partial && stop.is_absence() => {
                    counters.dropped += 1;
                }
                Err(stop) => {
                    let (kind, detail) = (stop.fault(), stop.detail());
                    self.lose(node, kind, detail, message);
                }
            },
            Act::Map(expression) => {
                let made = expression.get(&message, &mut work).map(Cow::into_owned);
                match made.map_err(|stop| (stop.fault(), stop.detail())) {
                    Ok(made) => self.send(unit, made),
                    Err((kind, detail)) => self.lose(node, kind, detail, message),
                }
            }
            Act::Narrow(shape, kind) => {
                work = u64::from(message.weight());
                if shape.takes_all() || shape.fits(&message) {
                    self.send(unit, message);
                } else {
                    let detail = super::shape::mismatch(kind, &message)
                        .map_or_else(String::new, |it| it.to_string());
                    self.lose(node, FaultKind::Narrowing, detail, message);
                }
            }
            Act::Project(part) => match message.items().map(|items| items.get(*part).cloned()) {
                Some(Some(item)) => self.send(unit, item),
                Some(None) => {
                    let detail = format!("the message has no part {part}");
                    self.lose(node, FaultKind::MissingField, detail, message);
                }
                None => {
                    let detail = format!("expected a list, found {}", message.kind());
                    self.lose(node, FaultKind::Mismatch, detail, message);
                }
            },
            Act::Tag(label) => self.tag(node, unit, label, message),
            Act::Timer => self.timer(node, unit, message),
            _ => self.send(unit, message),
        }
        Fired::Moved(work)
    }

    fn copy(&mut self, unit: &Unit, message: Value) {
        if let Some((last, others)) = unit.outputs.split_last() {
            self.state.counters.copied += others.len() as u64;
            for out in others {
                self.deliver(*out, message.clone());
            }
            self.deliver(*last, message);
        }
    }

    fn tag(&mut self, node: u32, unit: &Unit, label: &Value, message: Value) {
        let fields = [
            ("tag".into(), label.clone()),
            ("value".into(), message.clone()),
        ];
        match Value::record(fields) {
            Ok(made) => self.send(unit, made),
            Err(oversize) => self.lose(node, FaultKind::Oversize, oversize.to_string(), message),
        }
    }

    fn barrier(&mut self, unit: &Unit) -> Fired {
        let queues = &self.state.queues;
        let complete = unit.inputs.iter().all(|input| queues.length(*input) > 0);
        if !complete
            || !unit
                .outputs
                .iter()
                .all(|out| self.state.has_room(self.program, *out))
        {
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
                for part in parts.iter().cloned() {
                    let fault = fault_at(unit, FaultKind::Oversize, oversize.to_string());
                    self.lost(fault, part);
                }
            }
        }
        Fired::Moved(0)
    }

    fn external(&mut self, node: u32, unit: &Unit, external: ExternalId) -> Fired {
        if self.state.flights_of(node) >= self.program.limits.queue as usize {
            return Fired::Waits;
        }
        let input = self.earliest(&unit.inputs);
        let port = unit.inputs.iter().position(|edge| Some(*edge) == input);
        let (Some(port), Some(message)) = (port, input.and_then(|input| self.take(input))) else {
            return Fired::Waits;
        };
        let port = u32::try_from(port).unwrap_or_default();
        let request = Request::Ask {
            external,
            port,
            message: message.clone(),
        };
        self.ask(node, port, message, request);
        Fired::Moved(0)
    }

    /// A message to a timer replaces the wait there is; one without a time ends it.
    fn timer(&mut self, node: u32, unit: &Unit, message: Value) {
        self.cancel(node);
        match milliseconds(&message) {
            Some(milliseconds) => {
                let request = Request::Wait {
                    milliseconds,
                    message: message.clone(),
                };
                self.ask(node, 0, message, request);
            }
            None if matches!(message.get("ms"), None | Some(Value::Null | Value::Int(0))) => {
                self.state.counters.discarded += 1;
                self.state.ending = true;
            }
            None => {
                let detail = "expected milliseconds in the field `ms`".to_owned();
                let fault = fault_at(unit, FaultKind::Mismatch, detail);
                self.lost(fault, message);
            }
        }
    }

    fn ask(&mut self, node: u32, port: u32, message: Value, request: Request) {
        let id = EffectId(self.state.next_effect);
        self.state.next_effect += 1;
        self.state.counters.asked += 1;
        self.state.flights.push(Flight {
            id,
            node,
            port,
            message,
        });
        self.step.effects.push(Effect {
            id,
            node: NodeId(node),
            request,
        });
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

    /// The edge whose first message came before those of the others.
    fn earliest(&self, edges: &[u32]) -> Option<u32> {
        let stamped = edges
            .iter()
            .filter_map(|edge| Some((self.state.queues.stamp(*edge)?, *edge)));
        stamped.min().map(|(_, edge)| edge)
    }

    /// The first message of an edge. Whoever waited for room on it may go on.
    fn take(&mut self, edge: u32) -> Option<Value> {
        let (message, left) = self.state.queues.pop(edge)?;
        let pipe = self.program.pipe(edge)?;
        if left == 0 && self.state.ended.has(pipe.from) {
            self.state.ending = true;
        }
        if left + 1 >= self.program.limits.queue {
            self.state.ready.put(pipe.from);
        }
        Some(message)
    }

    fn send(&mut self, unit: &Unit, message: Value) {
        if let Some(out) = unit.outputs.first() {
            self.deliver(*out, message);
        }
    }

    /// Puts a message on an edge.
    pub(super) fn deliver(&mut self, edge: u32, message: Value) {
        let Some(pipe) = self.program.pipe(edge) else {
            return;
        };
        if self.state.ended.has(pipe.to) {
            self.state.counters.left_over += 1;
            return;
        }
        let stamp = self.state.clock;
        self.state.clock += 1;
        let length = self.state.queues.push(edge, message, stamp);
        self.state.ready.put(pipe.to);
        if pipe.flow == Flow::Cycle {
            self.watch(pipe, length);
        }
    }

    /// Warns when the queue of a loop has come to its mark, and at each doubling.
    fn watch(&mut self, pipe: &Pipe, length: u32) {
        let mark = self.program.limits.high_water;
        if !length.is_multiple_of(mark) || !(length / mark).is_power_of_two() {
            return;
        }
        if let Some(unit) = self.program.unit(pipe.to) {
            let detail = format!("{length} messages wait here, in a feedback loop");
            self.step
                .warnings
                .push(fault_at(unit, FaultKind::HighWater, detail));
        }
    }

    /// A message goes to the error stream.
    fn lose(&mut self, node: u32, kind: FaultKind, detail: String, message: Value) {
        if let Some(unit) = self.program.unit(node) {
            self.lost(fault_at(unit, kind, detail), message);
        }
    }

    fn lost(&mut self, fault: Fault, message: Value) {
        match fault.kind {
            FaultKind::Narrowing => self.state.counters.narrowed += 1,
            _ => self.state.counters.failed += 1,
        }
        self.step.errors.push(Fault {
            message: Some(message),
            ..fault
        });
    }

    /// The fuel is used up: names the cycle, and ends everything.
    fn stop(&mut self, node: u32) {
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
