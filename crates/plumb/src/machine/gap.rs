//! Gaps: the places of messages that failed.
//!
//! A node that makes one message of each leaves a gap where it could make none, and so does an agent or a tool
//! that failed. A gap goes the way of the message that is missing, in its order, past agents and tools, which
//! are not asked. At a barrier it takes the other sides' messages with it, so that none of them meets a message
//! that came later. A filter ends it, as it may end any message, and so does the beginning of a feedback loop, to
//! which it comes round: what had to come of the round does not come.
//!
//! One side of a barrier is no partner: the *state* of a loop, which gets its messages only from the barrier's
//! own output. It waits for the next message instead.

use serde::{Deserialize, Serialize};

use super::fault::{Failure, Fault, FaultKind};
use super::program::{Act, Program, Unit};
use super::run::{Fired, Run, fault_at};
use super::state::{EffectId, State};
use crate::graph::Flow;
use crate::types::without_failed;
use crate::value::Value;

/// The place of a message that failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Gap {
    /// The barriers that it has passed.
    passed: Vec<u32>,
}

impl Gap {
    fn past(mut self, node: u32) -> Self {
        if !self.passed.contains(&node) {
            self.passed.push(node);
        }
        self
    }

    fn joined(mut self, other: &Self) -> Self {
        for node in &other.passed {
            self = self.past(*node);
        }
        self
    }
}

/// A gap on an edge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GapOnEdge {
    pub(super) edge: u32,
    pub(super) stamp: u64,
    gap: Gap,
}

/// A gap at an agent or a tool, until it has answered what came before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HeldGap {
    pub(super) node: u32,
    port: u32,
    /// The next effect's number: the gap waits until its node has answered the lower ones.
    before: u64,
    gap: Gap,
}

/// All gaps of a network.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Gaps {
    /// Those on edges, in order of arrival.
    pub(super) edges: Vec<GapOnEdge>,
    /// Those at agents and tools.
    pub(super) held: Vec<HeldGap>,
}

impl Gaps {
    /// Returns true if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.held.is_empty()
    }
}

impl State {
    /// The number of gaps on an edge.
    pub(super) fn gaps_on(&self, edge: u32) -> usize {
        self.gaps
            .edges
            .iter()
            .filter(|gap| gap.edge == edge)
            .count()
    }

    /// Returns true if a message or a gap waits on an edge.
    pub(super) fn waits_on(&self, edge: u32) -> bool {
        self.queues.length(edge) > 0 || self.gaps.edges.iter().any(|gap| gap.edge == edge)
    }

    /// Returns true if the first on an edge is a gap.
    fn starts_with_gap(&self, edge: u32) -> bool {
        let mut gaps = self.gaps.edges.iter();
        let first = gaps.find(|gap| gap.edge == edge).map(|gap| gap.stamp);
        first.is_some_and(|gap| self.queues.stamp(edge).is_none_or(|stamp| gap < stamp))
    }

    /// The first gap before a node: its number in the list, and its edge.
    fn first_gap(&self, unit: &Unit) -> Option<(usize, u32)> {
        let mut gaps = self.gaps.edges.iter().enumerate();
        let (at, gap) = gaps.find(|(_, gap)| unit.inputs.contains(&gap.edge))?;
        Some((at, gap.edge))
    }
}

impl Run<'_> {
    /// Lets a node pass on a gap, if one is the first to come to its turn.
    pub(super) fn gap(&mut self, node: u32, unit: &Unit) -> Option<Fired> {
        match unit.act {
            Act::Barrier => self.gap_at_barrier(node, unit),
            Act::External(_) => self
                .release(node, unit)
                .or_else(|| self.passed_over(node, unit)),
            _ => {
                let edge = self.first_is_gap(node, unit)?;
                if !self.has_room(unit) {
                    return Some(Fired::Waits);
                }
                let gap = self.take_gap(edge)?;
                let ends = match unit.act {
                    Act::Filter(..) | Act::Discard | Act::Output(_) | Act::Timer => true,
                    Act::Merge => self.program.comes_back(unit, edge),
                    _ => false,
                };
                if !ends {
                    self.leave(unit, &gap);
                }
                Some(Fired::Moved(1))
            }
        }
    }

    /// The edge of the gap that came before everything else that waits before a node.
    fn first_is_gap(&self, node: u32, unit: &Unit) -> Option<u32> {
        let (at, edge) = self.state.first_gap(unit)?;
        let gap = self.state.gaps.edges.get(at)?.stamp;
        let message = self.earliest(node, &unit.inputs);
        let message = message.and_then(|edge| self.state.queues.stamp(edge));
        message.is_none_or(|message| gap < message).then_some(edge)
    }

    /// Leaves a gap on all outputs of a node.
    pub(super) fn leave(&mut self, unit: &Unit, gap: &Gap) {
        for edge in &unit.outputs {
            self.put_gap(*edge, gap.clone());
        }
    }

    fn put_gap(&mut self, edge: u32, gap: Gap) {
        let Some(pipe) = self.program.pipe(edge) else {
            return;
        };
        // A gap that comes round to the barrier where it met the state of a loop must not become that state.
        let round = gap.passed.contains(&pipe.to) && self.program.is_state(edge);
        if round || self.state.ended.has(pipe.to) {
            return;
        }
        let stamp = self.state.clock;
        self.state.clock += 1;
        self.state.gaps.edges.push(GapOnEdge { edge, stamp, gap });
        self.state.ready.put(pipe.to);
    }

    /// Takes the first gap of an edge. A node that waited for room on it becomes ready.
    fn take_gap(&mut self, edge: u32) -> Option<Gap> {
        let at = self
            .state
            .gaps
            .edges
            .iter()
            .position(|gap| gap.edge == edge)?;
        let taken = self.state.gaps.edges.remove(at);
        self.state.ending = true;
        if let Some(pipe) = self.program.pipe(edge) {
            self.has_got_room(pipe.from);
        }
        Some(taken.gap)
    }

    /// A barrier, if the first on one of its sides is a gap.
    fn gap_at_barrier(&mut self, node: u32, unit: &Unit) -> Option<Fired> {
        let sides = &unit.inputs;
        let gaps: Vec<u32> = sides
            .iter()
            .copied()
            .filter(|edge| self.state.starts_with_gap(*edge))
            .collect();
        if gaps.is_empty() {
            return None;
        }
        let is_state = |edge: &u32| self.program.is_state(*edge);
        // The loop itself has failed where the gap stands in the place of its state.
        let failed_state = gaps.iter().all(is_state);
        let taken: Vec<u32> = sides
            .iter()
            .copied()
            .filter(|edge| failed_state || !is_state(edge))
            .collect();
        let complete = taken.iter().all(|edge| self.state.waits_on(*edge));
        if !complete || !self.has_room(unit) {
            return Some(Fired::Waits);
        }
        let mut gap = Gap::default();
        for edge in taken {
            if gaps.contains(&edge) {
                gap = gap.joined(&self.take_gap(edge).unwrap_or_default());
            } else if let Some(message) = self.take(edge) {
                self.state.counters.parted += 1;
                let detail = "dropped, since what it belongs to has failed".to_owned();
                self.step.warnings.push(Fault {
                    message: Some(message),
                    ..fault_at(unit, FaultKind::Parted, detail)
                });
            }
        }
        if !failed_state {
            gap = gap.past(node);
        }
        self.leave(unit, &gap);
        Some(Fired::Moved(1))
    }

    /// An agent or a tool is not asked where a message is missing.
    fn passed_over(&mut self, node: u32, unit: &Unit) -> Option<Fired> {
        let edge = self.first_is_gap(node, unit)?;
        let port = unit.inputs.iter().position(|input| *input == edge);
        let gap = self.take_gap(edge)?;
        self.state.gaps.held.push(HeldGap {
            node,
            port: port
                .and_then(|port| u32::try_from(port).ok())
                .unwrap_or_default(),
            before: self.state.next_effect,
            gap,
        });
        Some(Fired::Moved(1))
    }

    /// Leaves the gaps of an agent or a tool that nothing has to be answered before.
    fn release(&mut self, node: u32, unit: &Unit) -> Option<Fired> {
        let state = &self.state;
        let is_due = |held: &HeldGap| {
            let mut flights = state.flights.iter();
            held.node == node
                && !flights.any(|flight| {
                    (flight.node, flight.port) == (node, held.port) && flight.id.0 < held.before
                })
        };
        let at = state.gaps.held.iter().position(is_due)?;
        let out = self.program.answers(unit, state.gaps.held.get(at)?.port);
        if out.is_some_and(|edge| !self.state.has_room(self.program, edge)) {
            return None;
        }
        let held = self.state.gaps.held.remove(at);
        self.state.ending = true;
        if let Some(edge) = out {
            self.put_gap(edge, held.gap);
        }
        Some(Fired::Moved(1))
    }

    /// A message at a node is lost: it goes to the port `error` if that is wired, else to the error stream, and
    /// leaves a gap.
    pub(super) fn lose(&mut self, unit: &Unit, kind: FaultKind, detail: String, message: Value) {
        match kind {
            FaultKind::Narrowing => self.state.counters.narrowed += 1,
            _ => self.state.counters.failed += 1,
        }
        let fault = Fault {
            message: Some(message),
            ..fault_at(unit, kind, detail)
        };
        self.tell(unit, fault);
        if !matches!(unit.act, Act::Filter(..) | Act::Timer) {
            self.leave(unit, &Gap::default());
        }
    }

    /// Tells the port `error` of what has happened, if it is wired, else the error stream.
    fn tell(&mut self, unit: &Unit, fault: Fault) {
        match unit.told {
            Some(edge) => {
                self.state.counters.told += 1;
                self.deliver(edge, fault.to_failure().to_value());
            }
            None => self.step.errors.push(fault),
        }
    }

    /// An agent or a tool has failed: its message has no answer.
    pub(super) fn unanswered(&mut self, effect: EffectId, failure: &Failure) {
        let Some(at) = self.state.flight(effect) else {
            return;
        };
        let flight = self.state.flights.remove(at);
        self.state.ready.put(flight.node);
        self.state.ending = true;
        let Some(unit) = self.program.unit(flight.node) else {
            return;
        };
        let out = self.program.answers(unit, flight.port);
        if let Some(edge) = out.filter(|edge| self.program.takes_failure(*edge)) {
            self.state.counters.answered += 1;
            self.deliver(edge, failure.to_value());
            return;
        }
        if let Some(edge) = unit.told {
            self.state.counters.told += 1;
            self.deliver(edge, failure.to_value());
        } else {
            self.step.errors.push(Fault {
                message: Some(flight.message),
                ..fault_at(unit, FaultKind::Unanswered, failure.error.clone())
            });
        }
        if let Some(edge) = out {
            self.put_gap(edge, Gap::default());
        }
    }
}

impl Program {
    /// The edge on which an agent or a tool answers what comes in on a port.
    pub(super) fn answers(&self, unit: &Unit, port: u32) -> Option<u32> {
        let Act::External(id) = unit.act else {
            return None;
        };
        let external = self.external(id)?;
        let asked = external.inputs.get(port as usize)?;
        let wanted = match &*asked.name {
            "ctrl_in" => "ctrl_out",
            _ => "output",
        };
        let mut outputs = external.outputs.iter();
        let at = outputs.position(|output| *output.name == *wanted)?;
        unit.outputs.get(at).copied()
    }

    /// Returns true if failures are data on this edge.
    pub(super) fn takes_failure(&self, edge: u32) -> bool {
        let pipe = self.pipe(edge);
        pipe.is_some_and(|pipe| without_failed(&pipe.kind).is_some())
    }

    /// Returns true if an edge leads to the side of a barrier that holds the state of a loop: all its messages
    /// come from the barrier itself, or stood in the program.
    pub(super) fn is_state(&self, edge: u32) -> bool {
        let Some(pipe) = self.pipe(edge) else {
            return false;
        };
        let barrier = pipe.to;
        let is_barrier = |unit: &Unit| matches!(unit.act, Act::Barrier);
        if !self.unit(barrier).is_some_and(is_barrier) || pipe.flow == Flow::Forward {
            return false;
        }
        *pipe
            .state
            .get_or_init(|| self.comes_round(pipe.from, barrier))
    }

    /// Returns true if this edge brings the messages of a feedback loop back to the merge that begins it.
    fn comes_back(&self, merge: &Unit, edge: u32) -> bool {
        let is = |edge: u32, flow: Flow| self.pipe(edge).is_some_and(|pipe| pipe.flow == flow);
        let mut sides = merge.inputs.iter();
        is(edge, Flow::Cycle) && sides.any(|side| is(*side, Flow::Forward))
    }

    /// Returns true if everything that comes to a node comes from this barrier, or stood in the program.
    fn comes_round(&self, node: u32, barrier: u32) -> bool {
        let mut seen = super::state::NodeSet::none(self.units.len());
        let mut open = vec![node];
        let mut round = false;
        while let Some(node) = open.pop() {
            if node == barrier {
                round = true;
                continue;
            }
            let Some(unit) = self.unit(node).filter(|_| seen.put(node)) else {
                continue;
            };
            if matches!(unit.act, Act::Input) {
                return false;
            }
            open.extend(&unit.before);
        }
        round
    }
}
