//! The machine: runs a graph, synchronously, one call at a time.
//!
//! ```text
//!  push(port, message) ──►┌─────────┐──► outputs   messages that left the network
//!  answer(effect, …)   ──►│ Machine │──► effects   what an agent, a tool or a clock is asked
//!  finished(effect)    ──►│         │──► errors    what could not be done, with its message
//!  close(port)         ──►└─────────┘──► ended     outputs on which no more will come
//! ```
//!
//! There is no thread, no clock and no I/O. Messages are first in, first out on every edge; of the nodes
//! that can do something the first in graph order does; so equal calls give equal steps. A call returns
//! when nothing can move any more, or when its fuel is used up, which stops the network for good.
//!
//! The program is shared ([`Program`] in an `Arc`), the state belongs to one network and is a value:
//! [`Machine::state`] can be stored at any moment between two calls, and [`Machine::resume`] goes on from
//! it.

mod cycle;
mod edges;
mod ending;
mod expression;
mod fan;
mod fault;
mod gap;
mod gate;
mod program;
mod queue;
mod record;
mod run;
mod shape;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use fault::{CODES, Category, Failure, Fault, FaultKind, error_value};
pub use program::{GraphError, Limits, Program, ProgramId};
pub use shape::{Mismatch, mismatch};
pub use state::{Counters, Effect, EffectId, Request, State, StateError};

use crate::value::Value;
use program::Act;
use run::Run;
use state::Phase;

/// The result of one call, with everything in the order in which it happened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Messages that left the network, with the number of their output.
    pub outputs: Vec<(u32, Value)>,
    /// Requests to the driver.
    pub effects: Vec<Effect>,
    /// The errors.
    pub errors: Vec<Fault>,
    /// Warnings about queues that have become long.
    pub warnings: Vec<Fault>,
    /// Violations of sessions that nothing in the program hears of. The host says what follows.
    pub violations: Vec<Fault>,
    /// Outputs on which no more will come.
    pub ended: Vec<u32>,
}

/// A call that the machine cannot take now. Nothing has changed by it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// Why.
    pub why: Refusal,
    /// The message that was to go in, back.
    pub message: Option<Value>,
}

impl Refused {
    /// Its stable code.
    #[must_use]
    pub const fn code(&self) -> crate::diagnostic::Code {
        fault::REFUSED
    }
}

/// Why a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The queue behind the port is full: when something has been answered or another input been fed,
    /// there may be room.
    #[error("the queue is full")]
    Full,
    /// The input has been closed.
    #[error("the input is closed")]
    Closed,
    /// The network ran out of fuel.
    #[error("the network has stopped")]
    Stopped,
    /// There is no such input or output.
    #[error("there is no such port")]
    NoSuchPort,
    /// There is no such effect, or it is finished.
    #[error("there is no such effect in flight")]
    NoSuchEffect,
}

impl Refusal {
    const fn with(self, message: Value) -> Refused {
        Refused {
            why: self,
            message: Some(message),
        }
    }

    const fn alone(self) -> Refused {
        Refused {
            why: self,
            message: None,
        }
    }
}

/// A network, running.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Arc<Program>,
    state: State,
}

impl Machine {
    /// A network that has not started. The first call starts it; [`Machine::start`] does only that.
    #[must_use]
    pub fn new(program: Arc<Program>) -> Self {
        let state = State::new(&program);
        Self { program, state }
    }

    /// Goes on from a state.
    ///
    /// # Errors
    /// If the state is of another program, or damaged.
    pub fn resume(program: Arc<Program>, state: State) -> Result<Self, StateError> {
        let state = state.fitted(&program)?;
        Ok(Self { program, state })
    }

    /// The program.
    #[must_use]
    pub const fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The state, to be stored.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The state, out of the machine.
    #[must_use]
    pub fn into_state(self) -> State {
        self.state
    }

    /// Gives back the memory that is kept for the next messages: for a network that will be idle for long.
    pub fn shrink(&mut self) {
        self.state.queues.shrink();
        self.state.flights.shrink_to_fit();
    }

    /// The message counts so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.state.counters
    }

    /// Returns true if everything has ended and nothing is in flight; also true after it has stopped.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.stopped() || self.state.ended(&self.program)
    }

    /// Returns true if it has stopped for lack of fuel.
    #[must_use]
    pub const fn stopped(&self) -> bool {
        matches!(self.state.phase, Phase::Stopped)
    }

    /// The effects that have not been finished, as they were asked for: what a driver that resumes has
    /// to ask again.
    pub fn in_flight(&self) -> impl Iterator<Item = Effect> {
        let program = &self.program;
        self.state
            .flights
            .iter()
            .filter_map(|it| it.effect(program))
    }

    /// Starts: the messages that the program begins with move. A second time it does nothing.
    pub fn start(&mut self) -> Step {
        self.call(|_| ())
    }

    /// Puts a message into an input. One that is not of its type is an error in the step, and no
    /// process sees it.
    ///
    /// # Errors
    /// If there is no such input, it is closed or its queue full, or the network has stopped. The message is
    /// in the error.
    pub fn push(&mut self, port: u32, message: Value) -> Result<Step, Refused> {
        if self.stopped() {
            return Err(Refusal::Stopped.with(message));
        }
        let Some(edge) = self.program.inputs.get(port as usize).copied() else {
            return Err(Refusal::NoSuchPort.with(message));
        };
        let input = self.program.pipe(edge).map_or(0, |pipe| pipe.from);
        if self.state.ended.has(input) {
            return Err(Refusal::Closed.with(message));
        }
        self.put(edge, message, FaultKind::Input)
    }

    /// An answer of an agent or a tool on one of its outputs; there may be more. One that is not of the
    /// type of the output is an error in the step, and no process sees it.
    ///
    /// # Errors
    /// If there is no such effect or output, the queue behind it is full, or the network has stopped. The
    /// message is in the error.
    pub fn answer(&mut self, effect: EffectId, port: u32, message: Value) -> Result<Step, Refused> {
        if self.stopped() {
            return Err(Refusal::Stopped.with(message));
        }
        let flight = self
            .state
            .flight(effect)
            .and_then(|at| self.state.flights.get(at));
        let Some(node) = flight.map(|flight| flight.node) else {
            return Err(Refusal::NoSuchEffect.with(message));
        };
        let unit = self.program.unit(node);
        let outputs = unit.filter(|unit| matches!(unit.act, Act::External(_)));
        let Some(edge) = outputs
            .and_then(|unit| unit.outputs.get(port as usize))
            .copied()
        else {
            return Err(Refusal::NoSuchPort.with(message));
        };
        self.put(edge, message, FaultKind::Answer)
    }

    /// The agent or tool has no more to say to this; the time of a wait has passed, and its message goes
    /// on.
    ///
    /// # Errors
    /// If there is no such effect, the network has stopped, or the queue behind a timer is full.
    pub fn finished(&mut self, effect: EffectId) -> Result<Step, Refused> {
        if self.stopped() {
            return Err(Refusal::Stopped.alone());
        }
        let Some(at) = self.state.flight(effect) else {
            return Err(Refusal::NoSuchEffect.alone());
        };
        let node = self.state.flights.get(at).map_or(0, |flight| flight.node);
        let program = Arc::clone(&self.program);
        let timer = program
            .unit(node)
            .filter(|unit| matches!(unit.act, Act::Timer));
        let out = timer.and_then(|unit| unit.outputs.first().copied());
        if out.is_some_and(|edge| !self.state.has_room(&program, edge)) {
            return Err(Refusal::Full.alone());
        }
        Ok(self.call(|run| {
            let flight = run.state.flights.remove(at);
            if let Some(edge) = out {
                run.state.counters.answered += 1;
                run.deliver(edge, flight.message);
            }
            run.state.ready.put(node);
            run.state.ending = true;
        }))
    }

    /// The agent or tool has failed: there is no answer to this. If its output has the type `Failed` among its
    /// variants, the failure is the answer. Otherwise its port `error` tells of it, or the step has an error,
    /// and what depends on the answer ends.
    ///
    /// # Errors
    /// If there is no such effect, the network has stopped, or a queue behind it is full.
    pub fn failed(&mut self, effect: EffectId, failure: &Failure) -> Result<Step, Refused> {
        if self.stopped() {
            return Err(Refusal::Stopped.alone());
        }
        let at = self.state.flight(effect);
        let Some(flight) = at.and_then(|at| self.state.flights.get(at)) else {
            return Err(Refusal::NoSuchEffect.alone());
        };
        let program = Arc::clone(&self.program);
        let unit = program.unit(flight.node);
        let unit = unit.filter(|unit| matches!(unit.act, Act::External(_)));
        let Some(unit) = unit else {
            return Err(Refusal::NoSuchEffect.alone());
        };
        let behind = program.answers(unit, flight.port).into_iter();
        let mut behind = behind.chain(unit.told);
        if !behind.all(|edge| self.state.has_room(&program, edge)) {
            return Err(Refusal::Full.alone());
        }
        Ok(self.call(|run| run.unanswered(effect, failure)))
    }

    /// Stops the network for good. A second time it does nothing.
    pub fn stop(&mut self) -> Step {
        let mut step = Step::default();
        if !self.stopped() {
            self.begin(&mut step);
            self.under_way(&mut step).end_all();
        }
        step
    }

    /// The messages that were left over where something had ended: why, and how many.
    #[must_use]
    pub fn left_over(&self) -> Vec<(Fault, u64)> {
        let left = self.state.left.iter();
        let told = left.filter_map(|(node, count)| {
            let unit = self.program.unit(*node)?;
            let detail = match count {
                1 => "1 message was left over".to_owned(),
                several => format!("{several} messages were left over"),
            };
            Some((run::fault_at(unit, FaultKind::LeftOver, detail), *count))
        });
        told.collect()
    }

    /// No more will come on this input. A second time it does nothing.
    ///
    /// # Errors
    /// If there is no such input, or the network has stopped.
    pub fn close(&mut self, port: u32) -> Result<Step, Refused> {
        if self.stopped() {
            return Err(Refusal::Stopped.alone());
        }
        let edge = self.program.inputs.get(port as usize);
        let pipe = edge.and_then(|edge| self.program.pipe(*edge));
        let Some(input) = pipe.map(|pipe| pipe.from) else {
            return Err(Refusal::NoSuchPort.alone());
        };
        Ok(self.call(|run| {
            run.state.ending |= run.state.ended.put(input);
        }))
    }

    /// Puts a message on an edge.
    fn put(&mut self, edge: u32, message: Value, otherwise: FaultKind) -> Result<Step, Refused> {
        if !self.state.has_room(&self.program, edge) {
            return Err(Refusal::Full.with(message));
        }
        let program = Arc::clone(&self.program);
        let pipe = program.pipe(edge);
        Ok(
            self.call(|run| match pipe.filter(|pipe| !pipe.shape.fits(&message)) {
                Some(pipe) => {
                    let detail = shape::mismatch(&pipe.kind, &message);
                    let detail = detail.map_or_else(String::new, |it| it.to_string());
                    if let Some(unit) = run.program.unit(pipe.from) {
                        run.step.errors.push(Fault {
                            message: Some(message),
                            ..run::fault_at(unit, otherwise, detail)
                        });
                    }
                }
                None => {
                    let counters = &mut run.state.counters;
                    match otherwise {
                        FaultKind::Input => counters.accepted += 1,
                        _ => counters.answered += 1,
                    }
                    run.deliver(edge, message);
                }
            }),
        )
    }

    /// Starts the network if necessary, applies a change and runs until it is at rest.
    fn call(&mut self, change: impl FnOnce(&mut Run<'_>)) -> Step {
        let mut step = Step::default();
        self.begin(&mut step);
        let mut run = self.under_way(&mut step);
        // Where the start used up the fuel, everything has ended and the change meets that.
        change(&mut run);
        run.rest();
        step
    }

    /// Starts the network if it has not started. All networks of a program start alike, so a start without
    /// output is computed once.
    fn begin(&mut self, step: &mut Step) {
        if self.state.phase != Phase::New {
            return;
        }
        let program = Arc::clone(&self.program);
        let started = program.started.get_or_init(|| {
            let mut first = Self::new(Arc::clone(&program));
            let mut step = Step::default();
            first.under_way(&mut step).start();
            (step == Step::default()).then_some(first.state)
        });
        match started {
            Some(started) => self.state = started.clone(),
            None => self.under_way(step).start(),
        }
    }

    fn under_way<'a>(&'a mut self, step: &'a mut Step) -> Run<'a> {
        Run {
            program: &self.program,
            state: &mut self.state,
            step,
            hand: None,
        }
    }
}
