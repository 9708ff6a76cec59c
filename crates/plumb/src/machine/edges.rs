//! Messages on edges: taken from queues and put into them, handed on, copied.

use super::expression::Work;
use super::fan::FanRoute;
use super::fault::FaultKind;
use super::program::{Act, Pipe, Program, Unit};
use super::run::{Run, fault_at};
use super::state::State;
use crate::graph::{Flow, Selector};
use crate::value::Value;

/// The units of weight that cost as much as a step: 4 KiB.
const WORK_PER_STEP: u64 = 256;

/// A message that has been put on an edge and is not in its queue yet: where the node behind it is the next
/// one to fire, it never has to be. All else is as if it were.
pub(super) struct InHand {
    pub(super) edge: u32,
    pub(super) message: Value,
    stamp: u64,
}

/// The steps that one message at one node costs, after this much work.
pub(super) const fn steps(work: Work) -> u64 {
    1 + work / WORK_PER_STEP
}

impl Run<'_> {
    pub(super) fn put_down(&mut self, hand: InHand, to: u32) {
        let InHand {
            edge,
            message,
            stamp,
        } = hand;
        self.state.queues.push(edge, message, stamp);
        self.state.ready.put(to);
    }

    /// Gives each output the message, but for those behind which a filter drops it on the spot: these are
    /// most of them where a protocol asks which of its steps a message belongs to. How many steps such
    /// filters took.
    pub(super) fn copy(&mut self, node: u32, unit: &Unit, message: Value) -> u64 {
        self.state.counters.copied += (unit.outputs.len() as u64).saturating_sub(1);
        let (edges, mut taken) = match way(self.program, self.state, node, &message) {
            Some(way) => {
                self.state.counters.dropped += way.dropped;
                (&way.edges, way.dropped)
            }
            None => (&unit.outputs, 0),
        };
        let Some((last, others)) = edges.split_last() else {
            return taken;
        };
        for out in others {
            match self.dropped(*out, &message) {
                Some(steps) => taken += steps,
                None => self.deliver(*out, message.clone()),
            }
        }
        match self.dropped(*last, &message) {
            Some(steps) => taken += steps,
            None => self.deliver(*last, message),
        }
        taken
    }

    /// Drops a message that is about to be put on an edge, where a filter at its end would do nothing else
    /// with it as soon as it came to its turn: it waits for nothing, and nothing waits before it. In how many
    /// steps.
    fn dropped(&mut self, edge: u32, message: &Value) -> Option<u64> {
        let program = self.program;
        let to = program.pipe(edge)?.to;
        let unit = program.unit(to)?;
        let Act::Filter(expression, selector) = &unit.act else {
            return None;
        };
        let mut work = 0;
        let drops = match expression.holds(message, &mut work) {
            Ok(holds) => !holds,
            Err(stop) => *selector == Selector::Partial && stop.is_absence(),
        };
        let at_once = drops
            && !self.state.ended.has(to)
            && self.state.queues.length(edge) == 0
            && self.state.gaps.edges.is_empty()
            && self.has_room(unit);
        at_once.then(|| {
            self.state.counters.dropped += 1;
            steps(work)
        })
    }

    /// Returns true if there is room behind a node.
    pub(super) fn has_room(&self, unit: &Unit) -> bool {
        // No queue is longer than all of them together.
        let waiting = self.state.queues.total() + self.state.gaps.edges.len();
        waiting < self.program.limits.queue as usize
            || unit
                .outputs
                .iter()
                .chain(&unit.told)
                .all(|out| self.state.has_room(self.program, *out))
    }

    /// The edge of a node whose first message is the oldest.
    pub(super) fn earliest(&self, node: u32, edges: &[u32]) -> Option<u32> {
        let queues = &self.state.queues;
        let stamped = |edge: u32| Some((queues.stamp(edge)?, edge));
        let first = if queues.spread() < edges.len() {
            self.waiting(node).filter_map(stamped).min()
        } else {
            edges.iter().copied().filter_map(stamped).min()
        };
        first.map(|(_, edge)| edge)
    }

    /// Returns true if no message waits before a node.
    pub(super) fn is_idle(&self, node: u32, unit: &Unit) -> bool {
        let queues = &self.state.queues;
        if !self.state.gaps.edges.is_empty()
            && unit.inputs.iter().any(|it| self.state.waits_on(*it))
        {
            return false;
        }
        if queues.spread() < unit.inputs.len() {
            self.waiting(node).next().is_none()
        } else {
            unit.inputs.iter().all(|edge| queues.length(*edge) == 0)
        }
    }

    /// The edges of a node on which messages wait.
    fn waiting(&self, node: u32) -> impl Iterator<Item = u32> {
        let program = self.program;
        let to = move |edge: &u32| program.pipe(*edge).is_some_and(|pipe| pipe.to == node);
        self.state.queues.edges().filter(to)
    }

    /// Takes the first message of an edge. Nodes that waited for room on it become ready.
    pub(super) fn take(&mut self, edge: u32) -> Option<Value> {
        let (message, left) = self.state.queues.pop(edge)?;
        let pipe = self.program.pipe(edge)?;
        if left == 0 && self.state.ended.has(pipe.from) {
            self.state.ending = true;
        }
        let gaps = match self.state.gaps.edges.is_empty() {
            true => 0,
            false => self.state.gaps_on(edge),
        };
        if left as usize + gaps + 1 >= self.program.limits.queue as usize {
            self.has_got_room(pipe.from);
        }
        Some(message)
    }

    /// Lets the nodes go on that waited for room behind this one. The port `error` of a process has messages of
    /// all nodes that it tells of.
    pub(super) fn has_got_room(&mut self, sender: u32) {
        let program = self.program;
        self.state.ready.put(sender);
        let told = program.unit(sender);
        for node in told
            .filter(|unit| matches!(unit.act, Act::Failures))
            .into_iter()
            .flat_map(|unit| &unit.before)
        {
            self.state.ready.put(*node);
        }
    }

    pub(super) fn send(&mut self, unit: &Unit, message: Value) {
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
            self.state.leave_over(self.program, edge);
            return;
        }
        let stamp = self.state.clock;
        self.state.clock += 1;
        let length = if self.can_hand(pipe.to) {
            self.hand = Some(InHand {
                edge,
                message,
                stamp,
            });
            1
        } else {
            self.state.ready.put(pipe.to);
            self.state.queues.push(edge, message, stamp)
        };
        if pipe.flow == Flow::Cycle {
            self.watch(pipe, length);
        }
    }

    /// Returns true if a message for a node may stay in hand: none does yet, and none waits before that node.
    fn can_hand(&self, to: u32) -> bool {
        let takes_one = |unit: &&Unit| !matches!(unit.act, Act::Barrier | Act::External(_));
        let unit = self.program.unit(to).filter(takes_one);
        self.hand.is_none()
            && self.state.gaps.edges.is_empty()
            && unit.is_some_and(|unit| self.is_idle(to, unit))
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
}

/// The outputs of a copy that may take a message, if the filters behind the others would drop it at once.
fn way<'a>(
    program: &'a Program,
    state: &State,
    node: u32,
    message: &Value,
) -> Option<&'a FanRoute> {
    let fan = program.fan(node)?;
    let from = |edge: u32| program.pipe(edge).map(|pipe| pipe.from);
    let at_once = !state.ended.meets(&fan.filters)
        && state.gaps.edges.is_empty()
        && state.queues.total() < program.limits.queue as usize
        && state.queues.edges().all(|edge| from(edge) != Some(node));
    fan.way(message).filter(|_| at_once)
}
