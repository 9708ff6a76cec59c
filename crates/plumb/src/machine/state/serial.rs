//! States through `serde`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Counters, EffectId, Flight, NodeSet, Phase, State};
use crate::machine::gap::Gaps;
use crate::machine::program::{Act, Program, ProgramId};
use crate::machine::queue::Queues;
use crate::value::Value;

/// A state that is not one of this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The state belongs to another program, or to an earlier version of this one.
    #[error("the state belongs to another program")]
    Foreign,
    /// The state is inconsistent.
    #[error("the state is damaged: {0}")]
    Damaged(&'static str),
}

impl StateError {
    /// Its stable code.
    #[must_use]
    pub const fn code(&self) -> crate::diagnostic::Code {
        crate::machine::fault::STATE
    }
}

/// A state as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    program: String,
    phase: Phase,
    /// Nodes that have ended.
    ended: Vec<u32>,
    /// Edge, time of arrival, message; edge by edge in order.
    messages: Vec<(u32, u64, Value)>,
    /// Number, node, input, message.
    in_flight: Vec<(u64, u32, u32, Value)>,
    next_effect: u64,
    clock: u64,
    ending: bool,
    counters: Counters,
    #[serde(default, skip_serializing_if = "Gaps::is_empty")]
    gaps: Gaps,
    /// Node, number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<(u32, u64)>,
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let flight = |it: &Flight| (it.id.0, it.node, it.port, it.message.clone());
        let message = |(edge, stamp, value): (u32, u64, &Value)| (edge, stamp, value.clone());
        Stored {
            program: format!("{:016x}", self.program.0),
            phase: self.phase,
            ended: self.ended.iter().collect(),
            messages: self.queues.iter().map(message).collect(),
            in_flight: self.flights.iter().map(flight).collect(),
            next_effect: self.next_effect,
            clock: self.clock,
            ending: self.ending,
            counters: self.counters,
            gaps: self.gaps.clone(),
            left: self.left.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for State {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let program = u64::from_str_radix(&stored.program, 16).map_err(D::Error::custom)?;
        let mut queues = Queues::default();
        for (edge, stamp, value) in stored.messages {
            queues.push(edge, value, stamp);
        }
        let flight = |(id, node, port, message): (u64, u32, u32, Value)| Flight {
            id: EffectId(id),
            node,
            port,
            message,
        };
        Ok(Self {
            program: ProgramId(program),
            phase: stored.phase,
            // Sized by the largest node; the program's size is put in when it is resumed.
            ended: set(&stored.ended),
            ready: NodeSet::default(),
            queues,
            flights: stored.in_flight.into_iter().map(flight).collect(),
            next_effect: stored.next_effect,
            clock: stored.clock,
            ending: stored.ending,
            counters: stored.counters,
            gaps: stored.gaps,
            left: stored.left,
        })
    }
}

/// Nodes beyond a million do not exist: they make the set empty, and the state of another program.
fn set(nodes: &[u32]) -> NodeSet {
    const MOST: u32 = 1 << 20;
    let largest = nodes.iter().copied().max().unwrap_or_default();
    if largest > MOST {
        return NodeSet::default();
    }
    let mut set = NodeSet::none(largest as usize + 1);
    for node in nodes {
        set.put(*node);
    }
    set
}

impl State {
    /// Checks that the program can resume from this state, and prepares the state.
    pub(in crate::machine) fn fitted(mut self, program: &Program) -> Result<Self, StateError> {
        if self.program != program.id() {
            return Err(StateError::Foreign);
        }
        let nodes = program.units.len();
        let mut ended = NodeSet::none(nodes);
        for node in self.ended.iter() {
            if node as usize >= nodes {
                return Err(StateError::Damaged("a node that there is not has ended"));
            }
            ended.put(node);
        }
        self.ended = ended;
        // A node that can do nothing when it is looked at does no harm.
        self.ready = NodeSet::all(nodes);
        if self.queues.edges().any(|edge| program.pipe(edge).is_none()) {
            return Err(StateError::Damaged(
                "a message waits where there is no edge",
            ));
        }
        if self.queues.iter().any(|(_, stamp, _)| stamp >= self.clock) {
            return Err(StateError::Damaged("a message waits that has not come yet"));
        }
        let mut gaps = self.gaps.edges.iter();
        if gaps.any(|gap| program.pipe(gap.edge).is_none() || gap.stamp >= self.clock) {
            return Err(StateError::Damaged("a gap stands where there is no edge"));
        }
        let is_external = |node| {
            let unit = program.unit(node);
            unit.is_some_and(|unit| matches!(unit.act, Act::External(_)))
        };
        if !self.gaps.held.iter().all(|held| is_external(held.node)) {
            return Err(StateError::Damaged("a gap has no agent or tool"));
        }
        self.check_flights(program)?;
        Ok(self)
    }

    fn check_flights(&self, program: &Program) -> Result<(), StateError> {
        let ascending = self.flights.is_sorted_by(|one, two| one.id < two.id);
        let last = self.flights.last();
        if !ascending || last.is_some_and(|flight| flight.id.0 >= self.next_effect) {
            return Err(StateError::Damaged(
                "the numbers of what is in flight are wrong",
            ));
        }
        for flight in &self.flights {
            let unit = program
                .unit(flight.node)
                .filter(|_| !self.ended.has(flight.node));
            let fits = unit.is_some_and(|unit| match unit.act {
                Act::External(_) => (flight.port as usize) < unit.inputs.len(),
                Act::Timer => super::milliseconds(&flight.message).is_some(),
                _ => false,
            });
            if !fits {
                return Err(StateError::Damaged(
                    "an effect in flight has no agent, tool or timer",
                ));
            }
        }
        Ok(())
    }
}
