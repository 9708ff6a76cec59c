//! The state of a network between two calls: a value that can be stored, moved and resumed.

mod serial;

use super::gap::Gaps;
use super::program::{Act, Program, ProgramId};
use super::queue::Queues;
use crate::graph::{Flow, NodeId};
use crate::value::Value;

pub use serial::StateError;

/// The number of an effect in its network, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

/// Message counts. Every message is in exactly one of these:
///
/// ```text
/// accepted + answered + begun + copied + told
///     = delivered + asked + joined + dropped + narrowed + failed + parted + discarded + left_over + waiting
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Came in through an input.
    pub accepted: u64,
    /// Came from agents, tools and timers.
    pub answered: u64,
    /// Stood in the program: `once`.
    pub begun: u64,
    /// Made by `copy`, beyond the first.
    pub copied: u64,
    /// Made for a port `error`.
    pub told: u64,
    /// Went out through an output.
    pub delivered: u64,
    /// Went to agents, tools and timers.
    pub asked: u64,
    /// Became part of another in a `barrier`.
    pub joined: u64,
    /// Dropped by a `filter`.
    pub dropped: u64,
    /// Not of the type of a checked narrowing: on the error stream.
    pub narrowed: u64,
    /// Lost to an expression that could not be computed: on the error stream.
    pub failed: u64,
    /// Dropped by a `barrier`, since a message that they belong to had failed.
    pub parted: u64,
    /// Went into a `discard`.
    pub discarded: u64,
    /// Still on their way to something that ended, such as a `barrier` whose other side has ended.
    pub left_over: u64,
}

/// A request that has not been finished.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) id: EffectId,
    pub(super) node: u32,
    pub(super) port: u32,
    pub(super) message: Value,
}

/// A set of nodes, as bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeSet(Box<[u64]>);

impl NodeSet {
    pub(super) fn none(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(64)].into())
    }

    pub(super) fn all(nodes: usize) -> Self {
        let mut set = Self::none(nodes);
        for node in (0..).take(nodes) {
            set.put(node);
        }
        set
    }

    fn place(node: u32) -> (usize, u64) {
        ((node / 64) as usize, 1 << (node % 64))
    }

    pub(super) fn has(&self, node: u32) -> bool {
        let (word, bit) = Self::place(node);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Adds a node. Returns true if it is new.
    pub(super) fn put(&mut self, node: u32) -> bool {
        let (word, bit) = Self::place(node);
        let Some(word) = self.0.get_mut(word) else {
            return false;
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub(super) fn remove(&mut self, node: u32) {
        let (word, bit) = Self::place(node);
        if let Some(word) = self.0.get_mut(word) {
            *word &= !bit;
        }
    }

    pub(super) fn first(&self) -> Option<u32> {
        let at = self.0.iter().position(|word| *word != 0)?;
        let bit = self.0.get(at)?.trailing_zeros();
        Some(u32::try_from(at).ok()? * 64 + bit)
    }

    /// Returns true if both have a node in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, two)| one & two != 0)
    }

    /// The nodes of so many that are in neither of two sets, in order.
    pub(super) fn neither(&self, other: &Self, nodes: usize) -> Vec<u32> {
        let words = self.0.iter().zip(&other.0).map(|(one, two)| !(one | two));
        let mut found = Vec::new();
        for (base, mut word) in (0..).step_by(64).zip(words) {
            while word != 0 {
                found.push(base + word.trailing_zeros());
                word &= word - 1;
            }
        }
        found.retain(|node| (*node as usize) < nodes);
        found
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).flat_map(|(at, word)| {
            (0..64_u32)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at * 64 + bit)
        })
    }

    fn bytes(&self) -> usize {
        self.0.len() * 8
    }
}

/// The state of a network between two calls. It serializes with `serde`; in a text format other than JSON
/// numbers beyond 64 bits need that format to carry `serde_json`'s raw values.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) program: ProgramId,
    pub(super) phase: Phase,
    /// Nodes that have ended; an input ends when it is closed.
    pub(super) ended: NodeSet,
    /// Nodes that may be able to do something; none between two calls.
    pub(super) ready: NodeSet,
    pub(super) queues: Queues,
    /// In the order of their numbers.
    pub(super) flights: Vec<Flight>,
    pub(super) next_effect: u64,
    /// Counts every message that is put on an edge, for the order of arrival.
    pub(super) clock: u64,
    /// Something may have ended since this was last looked at.
    pub(super) ending: bool,
    pub(super) counters: Counters,
    /// The places of failed messages.
    pub(super) gaps: Gaps,
    /// Per node, the messages that were left over there.
    pub(super) left: Vec<(u32, u64)>,
}

/// The phase in the life of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    /// The network has not started.
    New,
    /// Started.
    Running,
    /// Out of fuel; it does nothing any more.
    Stopped,
}

impl State {
    /// The state of a network that has not started.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let nodes = program.units.len();
        Self {
            program: program.id(),
            phase: Phase::New,
            ended: NodeSet::none(nodes),
            ready: NodeSet::none(nodes),
            queues: Queues::default(),
            flights: Vec::new(),
            next_effect: 0,
            clock: 0,
            ending: true,
            counters: Counters::default(),
            gaps: Gaps::default(),
            left: Vec::new(),
        }
    }

    /// The identity of its program.
    #[must_use]
    pub const fn program(&self) -> ProgramId {
        self.program
    }

    /// The message counts so far.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// The number of messages that wait within the network.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.queues.total()
    }

    /// The size of its waiting and in-flight messages in units of [`Value::weight`]: the cost of storing it.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let waiting = self.queues.iter().map(|(_, _, message)| message);
        let asked = self.flights.iter().map(|flight| &flight.message);
        waiting
            .chain(asked)
            .map(|message| u64::from(message.weight()))
            .sum()
    }

    /// Returns true if everything has ended and nothing is in flight.
    #[must_use]
    pub fn ended(&self, program: &Program) -> bool {
        self.flights.is_empty()
            && self.gaps.held.is_empty()
            && self.ended.count() == program.units.len()
    }

    /// The bytes it takes in memory, without what the strings, lists and records of its messages hold.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.ended.bytes()
            + self.ready.bytes()
            + self.queues.bytes()
            + self.flights.capacity() * size_of::<Flight>()
    }

    /// Returns true if an edge takes another message: it has room, or its message goes nowhere.
    pub(super) fn has_room(&self, program: &Program, edge: u32) -> bool {
        program.pipe(edge).is_some_and(|pipe| {
            pipe.flow == Flow::Cycle
                || self.queues.length(edge) as usize + self.gaps_on(edge)
                    < program.limits.queue as usize
                || self.ended.has(pipe.to)
        })
    }

    pub(super) fn flight(&self, id: EffectId) -> Option<usize> {
        self.flights
            .binary_search_by_key(&id, |flight| flight.id)
            .ok()
    }

    /// Counts a message that is left over at a node.
    pub(super) fn leave_over(&mut self, program: &Program, edge: u32) {
        self.counters.left_over += 1;
        // A loop that has ended keeps its state: that is no message that anything waits for.
        let Some(pipe) = program.pipe(edge).filter(|_| !program.is_state(edge)) else {
            return;
        };
        match self.left.iter_mut().find(|(node, _)| *node == pipe.to) {
            Some((_, count)) => *count += 1,
            None => self.left.push((pipe.to, 1)),
        }
    }

    pub(super) fn flights_of(&self, node: u32) -> usize {
        self.flights
            .iter()
            .filter(|flight| flight.node == node)
            .count()
    }
}

/// An effect that has not been finished: what is asked of whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its number, for the answer.
    pub id: EffectId,
    /// The node that asks: one instance of an agent or tool, which keeps its memory apart from others.
    pub node: NodeId,
    /// The request.
    pub request: Request,
}

/// Requests to the driver.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A message for an agent or a tool. It answers as often as it likes and is then finished.
    Ask {
        /// The agent or tool.
        external: crate::graph::ExternalId,
        /// The number of its input.
        port: u32,
        /// The message.
        message: Value,
    },
    /// Time has to pass; then the effect is finished, which sends its message on. It has no answers.
    Wait {
        /// The duration in milliseconds.
        milliseconds: u64,
        /// The message that will go on.
        message: Value,
    },
    /// The effect with this number is not wanted any more: its answers will be refused.
    Cancel,
}

impl Flight {
    /// The original effect, for drivers that resume.
    pub(super) fn effect(&self, program: &Program) -> Option<Effect> {
        let request = match program.unit(self.node)?.act {
            Act::External(external) => Request::Ask {
                external,
                port: self.port,
                message: self.message.clone(),
            },
            _ => Request::Wait {
                milliseconds: milliseconds(&self.message)?,
                message: self.message.clone(),
            },
        };
        Some(Effect {
            id: self.id,
            node: NodeId(self.node),
            request,
        })
    }
}

/// The wait that a message to a timer asks for; `None` if it asks for none.
pub(super) fn milliseconds(message: &Value) -> Option<u64> {
    match message.get("ms")? {
        Value::Int(number) => u64::try_from(*number).ok().filter(|number| *number > 0),
        _ => None,
    }
}
