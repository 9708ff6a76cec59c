//! Pulses: one health signal each.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use crate::turn::Outcome;
use crate::units::Pressure;

use super::fingerprint::{ContentHash, Shape};

/// So many bytes of a text go into its hash, and so many into its shape, which costs more. Of a longer one its
/// first and its last half as many, and its length, stand for it: a file that was read costs no more than a
/// page.
const HASHED: usize = 8_192;
const SHAPED: usize = 1_024;

/// An excerpt of a text of at most `most` bytes.
fn excerpt(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let head = text.split_at_checked(text.floor_char_boundary(most / 2));
    let tail = text.split_at_checked(text.ceil_char_boundary(text.len() - most / 2));
    let (head, tail) = (head.map_or("", |cut| cut.0), tail.map_or("", |cut| cut.1));
    Cow::Owned(format!("{head}\n{}\n{tail}", text.len()))
}

fn hash(text: &str) -> ContentHash {
    ContentHash::of(&excerpt(text, HASHED))
}

fn shape(text: &str) -> Shape {
    Shape::of(&excerpt(text, SHAPED))
}

/// The activity of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The model reasons or speaks without acting.
    Thinking,
    /// Using tools.
    Acting,
    /// Waiting for something outside; repetition is normal here.
    Waiting,
    /// Handed over to the user or to another agent.
    Yielding,
    /// Making a checkpoint.
    Crystallizing,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 5] = [
        Self::Thinking,
        Self::Acting,
        Self::Waiting,
        Self::Yielding,
        Self::Crystallizing,
    ];

    /// The lower-case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::Acting => "acting",
            Self::Waiting => "waiting",
            Self::Yielding => "yielding",
            Self::Crystallizing => "crystallizing",
        }
    }

    /// The phase with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == name)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The answers to an agent's action, as fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The exact fingerprint of all results of the step.
    pub hash: ContentHash,
    /// Their shape.
    pub shape: Shape,
    /// Failed if every one of them failed.
    pub outcome: Outcome,
}

impl Answer {
    /// The fingerprints of an answer: of a long one, those of its head, its tail and its length.
    #[must_use]
    pub fn of(text: &str, outcome: Outcome) -> Self {
        Self {
            hash: hash(text),
            shape: shape(text),
            outcome,
        }
    }
}

/// One health signal. It holds fingerprints, never text of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Pulse {
    /// The name of the agent.
    pub agent: String,
    /// When.
    pub at: Timestamp,
    /// The pressure of the window.
    pub pressure: Pressure,
    /// The activity of the agent.
    pub phase: Phase,
    /// The exact fingerprint of what it did.
    pub hash: ContentHash,
    /// The shape of what it did, where the sender gives one.
    pub shape: Option<Shape>,
    /// The answers to it, where known.
    pub answer: Option<Answer>,
    /// The turns in its window.
    pub turns: u64,
    /// Anything else the sender wants to say, by key.
    pub metadata: BTreeMap<String, String>,
}

impl Pulse {
    /// A pulse of an agent that did `content`, at pressure 0 and with no turns. Of a long content the head,
    /// the tail and the length count.
    #[must_use]
    pub fn new(agent: impl Into<String>, at: Timestamp, phase: Phase, content: &str) -> Self {
        Self {
            agent: agent.into(),
            at,
            pressure: Pressure::default(),
            phase,
            hash: hash(content),
            shape: Some(shape(content)),
            answer: None,
            turns: 0,
            metadata: BTreeMap::new(),
        }
    }

    /// The same pulse at this pressure.
    #[must_use]
    pub const fn with_pressure(mut self, pressure: Pressure) -> Self {
        self.pressure = pressure;
        self
    }

    /// The same pulse with this many turns in the window.
    #[must_use]
    pub const fn with_turns(mut self, turns: u64) -> Self {
        self.turns = turns;
        self
    }

    /// The same pulse with what the agent got for what it did.
    #[must_use]
    pub fn with_answer(mut self, text: &str, outcome: Outcome) -> Self {
        self.answer = Some(Answer::of(text, outcome));
        self
    }

    /// The same pulse with one more thing said.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}
