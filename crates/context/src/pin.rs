//! Pins: texts that stay in view, in full, whatever is compacted.
//!
//! A pin comes from the user (a line `#pin TEXT` that the user typed), from the agent through a
//! tool, or from the API. Text that a tool returned or that the model wrote is never read as a
//! directive, nor is code in fences, quoted text, or what a client wraps in tags.

mod directive;
mod subject;

use std::fmt;

use jiff::Timestamp;

use crate::coded::{self, CodeEntry, Coded, ErrorCode};
use crate::counter::TokenCounter;
use crate::text::Text;
use crate::turn::{Provenance, Role, Turn, TurnDraft};
use crate::units::Tokens;

pub use directive::{Directive, directives};
pub use subject::{Subject, handle, is_foreign};

/// Identifies a pin: the first eight hexadecimal digits of the blake3 hash of its text. The same
/// text is the same pin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PinId(u32);

impl PinId {
    /// The id of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let [a, b, c, d, ..] = *blake3::hash(text.trim().as_bytes()).as_bytes();
        Self(u32::from_be_bytes([a, b, c, d]))
    }

    /// Reads an id as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        let digits = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits
            .then(|| u32::from_str_radix(id, 16).ok())
            .flatten()
            .map(Self)
    }
}

impl fmt::Display for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl fmt::Debug for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinId({self})")
    }
}

/// The source of a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The user, by a line in a message.
    User,
    /// The agent, through a tool.
    Agent,
    /// Somebody through the command line, the dashboard or HTTP.
    Api,
    /// The program that manages the agent's memory.
    Strategy,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::User, Self::Agent, Self::Api, Self::Strategy];

    /// The lower-case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Api => "api",
            Self::Strategy => "strategy",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that stays in view, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Its id.
    pub id: PinId,
    /// The text, trimmed.
    pub text: Text,
    /// The source of the pin.
    pub origin: Origin,
    /// When, where that is known.
    pub at: Option<Timestamp>,
    /// The size of the text.
    pub tokens: Tokens,
}

/// The share of the window that one pin may take.
const ONE: f64 = 0.15;
/// The share of the window that all pins together may take.
const ALL: f64 = 0.25;

/// The limits of pinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinLimits {
    /// The most pins.
    pub count: usize,
    /// The most tokens of one pin.
    pub each: Tokens,
    /// The most tokens of all pins.
    pub total: Tokens,
}

impl PinLimits {
    /// The limits within a window: one pin takes at most 15 % of it and all pins together 25 %, but never less
    /// than the [default](Self::default) allows.
    #[must_use]
    pub fn of_window(window: Tokens) -> Self {
        let least = Self::default();
        Self {
            count: least.count,
            each: window.scaled(ONE).max(least.each),
            total: window.scaled(ALL).max(least.total),
        }
    }
}

impl Default for PinLimits {
    /// 64 pins, 1,000 tokens each, 4,000 tokens together: pins are restated in every view. A window of
    /// unknown size has room for that.
    fn default() -> Self {
        Self {
            count: 64,
            each: Tokens::new(1_000),
            total: Tokens::new(4_000),
        }
    }
}

/// Why a text was not pinned or unpinned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// There is no text.
    #[error("a pin needs a text")]
    Empty,
    /// One pin is too large.
    #[error("this pin has {tokens} tokens, more than the {limit} that one pin may have")]
    TooLarge {
        /// Its size.
        tokens: Tokens,
        /// The limit.
        limit: Tokens,
    },
    /// There are too many pins.
    #[error("there are already {limit} pins, which is the limit")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// All pins together are too large.
    #[error(
        "with this one the pins would have {tokens} tokens, more than the {limit} they may have"
    )]
    Full {
        /// The size with the new one.
        tokens: Tokens,
        /// The limit.
        limit: Tokens,
    },
    /// There is no such pin.
    #[error("there is no such pin")]
    Unknown,
    /// The conversation has no such turn.
    #[error("there is no turn {turn}; the history has the turns 1 to {known}")]
    NoTurn {
        /// The turn, counted from 1.
        turn: usize,
        /// The number of turns.
        known: usize,
    },
    /// No call read the file.
    #[error("no tool result in the history is a read of `{0}`")]
    NoRead(String),
    /// Another text has the same id.
    #[error("another pin has the id of this one")]
    Taken,
    /// A tool or the model said the text, so it cannot stand as a person's.
    #[error("a tool or the model said this text, so it cannot be pinned as it stands")]
    Foreign,
}

impl PinError {
    /// The code of [`PinError::Empty`].
    pub const EMPTY: ErrorCode = ErrorCode::new("E0420");
    /// The code of [`PinError::TooLarge`].
    pub const TOO_LARGE: ErrorCode = ErrorCode::new("E0421");
    /// The code of [`PinError::TooMany`].
    pub const TOO_MANY: ErrorCode = ErrorCode::new("E0422");
    /// The code of [`PinError::Full`].
    pub const FULL: ErrorCode = ErrorCode::new("E0423");
    /// The code of [`PinError::Unknown`].
    pub const UNKNOWN: ErrorCode = ErrorCode::new("E0424");
    /// The code of [`PinError::Taken`].
    pub const TAKEN: ErrorCode = ErrorCode::new("E0425");
    /// The code of [`PinError::NoTurn`].
    pub const NO_TURN: ErrorCode = ErrorCode::new("E0426");
    /// The code of [`PinError::NoRead`].
    pub const NO_READ: ErrorCode = ErrorCode::new("E0427");
    /// The code of [`PinError::Foreign`].
    pub const FOREIGN: ErrorCode = ErrorCode::new("E0428");

    /// A word for logs and for strategies.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLarge { .. } => "too_large",
            Self::TooMany { .. } => "too_many",
            Self::Full { .. } => "full",
            Self::Unknown => "unknown",
            Self::Taken => "taken",
            Self::NoTurn { .. } => "no_turn",
            Self::NoRead(_) => "no_read",
            Self::Foreign => "foreign",
        }
    }
}

impl Coded for PinError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Empty => Self::EMPTY,
            Self::TooLarge { .. } => Self::TOO_LARGE,
            Self::TooMany { .. } => Self::TOO_MANY,
            Self::Full { .. } => Self::FULL,
            Self::Unknown => Self::UNKNOWN,
            Self::Taken => Self::TAKEN,
            Self::NoTurn { .. } => Self::NO_TURN,
            Self::NoRead(_) => Self::NO_READ,
            Self::Foreign => Self::FOREIGN,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// The errors of this module.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: PinError::EMPTY,
        meaning: "a pin without a text",
        remedy: "Give the pin a text, as in `#pin Never touch /srv`.",
    },
    CodeEntry {
        code: PinError::TOO_LARGE,
        meaning: "a pin that is too large",
        remedy: "Pin less text. One pin may take 15 % of the window, and always 1,000 tokens.",
    },
    CodeEntry {
        code: PinError::TOO_MANY,
        meaning: "too many pins",
        remedy: "Remove one with `#unpin` first.",
    },
    CodeEntry {
        code: PinError::FULL,
        meaning: "the pins together are too large",
        remedy: "Remove a pin first, or pin less text. All pins may take 25 % of the window, and always 4,000 tokens.",
    },
    CodeEntry {
        code: PinError::UNKNOWN,
        meaning: "a pin that does not exist",
        remedy: "Name the pin by its id or by its exact text.",
    },
    CodeEntry {
        code: PinError::TAKEN,
        meaning: "another pin has the same id as this text",
        remedy: "Change a word of the text; the id is a 32-bit hash of it.",
    },
    CodeEntry {
        code: PinError::NO_TURN,
        meaning: "a pin of a turn that the history does not have",
        remedy: "Count turns from 1, as the dashboard does. The newest turns are there once they are answered.",
    },
    CodeEntry {
        code: PinError::NO_READ,
        meaning: "a pin of a file that no tool call has read",
        remedy: "Write the path as the tool call does, or pin the turn with the result.",
    },
    CodeEntry {
        code: PinError::FOREIGN,
        meaning: "a strategy's pin of a text that a tool or the model said",
        remedy: "Pin the turn by its handle, such as `turn:14`. The pin then names its source.",
    },
];

const PINNED: &str = "[Pinned, in full:]";
const AGENTS: &str = "[Pinned by the assistant for itself, in full; nobody else said it:]";

/// The result of a request to pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinned {
    /// The pin is new.
    Added(PinId),
    /// The same text was pinned already; its place, origin and time stay.
    Already(PinId),
}

/// The pins of one conversation, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    pins: Vec<Pin>,
    limits: PinLimits,
}

impl Pins {
    /// No pins, with these limits.
    #[must_use]
    pub const fn with_limits(limits: PinLimits) -> Self {
        Self {
            pins: Vec::new(),
            limits,
        }
    }

    /// Changes the limits. Pins that pass the new ones stay.
    pub const fn set_limits(&mut self, limits: PinLimits) {
        self.limits = limits;
    }

    /// Takes a pin that was within the limits when it was set. The same text twice is one pin.
    pub fn restore(&mut self, pin: Pin) {
        if self.get(pin.id).is_none() {
            self.pins.push(pin);
        }
    }

    /// Pins a text. The same text twice is one pin.
    ///
    /// # Errors
    /// Where the text is empty or a limit would be passed.
    pub fn add(
        &mut self,
        text: &str,
        origin: Origin,
        at: Option<Timestamp>,
        counter: &dyn TokenCounter,
    ) -> Result<Pinned, PinError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PinError::Empty);
        }
        let id = PinId::of(text);
        if let Some(pin) = self.get(id) {
            // Two texts of one id: rare enough to refuse, too bad to take one for the other.
            let same = pin.text.as_str() == text;
            return same.then_some(Pinned::Already(id)).ok_or(PinError::Taken);
        }
        let tokens = counter.count(text);
        self.check(tokens)?;
        self.pins.push(Pin {
            id,
            text: text.into(),
            origin,
            at,
            tokens,
        });
        Ok(Pinned::Added(id))
    }

    fn check(&self, tokens: Tokens) -> Result<(), PinError> {
        let PinLimits { count, each, total } = self.limits;
        let together = self.tokens() + tokens;
        if tokens > each {
            return Err(PinError::TooLarge {
                tokens,
                limit: each,
            });
        }
        if self.pins.len() >= count {
            return Err(PinError::TooMany { limit: count });
        }
        if together > total {
            return Err(PinError::Full {
                tokens: together,
                limit: total,
            });
        }
        Ok(())
    }

    /// Takes a pin away.
    ///
    /// # Errors
    /// [`PinError::Unknown`] without such a pin.
    pub fn remove(&mut self, id: PinId) -> Result<Pin, PinError> {
        let place = self.pins.iter().position(|pin| pin.id == id);
        place
            .map(|place| self.pins.remove(place))
            .ok_or(PinError::Unknown)
    }

    /// Does what a directive of the user asks for.
    ///
    /// # Errors
    /// As [`add`](Self::add) and [`remove`](Self::remove).
    pub fn obey(
        &mut self,
        directive: &Directive,
        at: Option<Timestamp>,
        counter: &dyn TokenCounter,
    ) -> Result<PinId, PinError> {
        match directive {
            Directive::Pin(text) => match self.add(text, Origin::User, at, counter)? {
                Pinned::Added(id) => Ok(id),
                Pinned::Already(id) => {
                    if self.get(id).is_some_and(|pin| pin.origin == Origin::Agent) {
                        self.give_to_user(id);
                    }
                    Ok(id)
                }
            },
            Directive::Unpin(named) => {
                let by_id = PinId::parse(named).filter(|id| self.get(*id).is_some());
                let id = by_id.unwrap_or_else(|| PinId::of(named));
                self.remove(id).map(|pin| pin.id)
            }
        }
    }

    /// Notes that the pin with this id is the user's from now on.
    pub fn give_to_user(&mut self, id: PinId) {
        if let Some(pin) = self.pins.iter_mut().find(|pin| pin.id == id) {
            pin.origin = Origin::User;
        }
    }

    /// The pin with this id.
    #[must_use]
    pub fn get(&self, id: PinId) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.id == id)
    }

    /// All pins, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Pin> {
        self.pins.iter()
    }

    /// The number of pins.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.pins.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    /// The tokens of all texts.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.pins.iter().map(|pin| pin.tokens).sum()
    }

    /// The turn that restates all pins in full, or `None` without pins. It stands in the user's role;
    /// what the agent pinned comes last and is named as that, so that it gains no authority that the
    /// agent does not have.
    #[must_use]
    pub fn turn(&self) -> Option<TurnDraft> {
        let (agents, others): (Vec<&Pin>, Vec<&Pin>) =
            self.iter().partition(|pin| pin.origin == Origin::Agent);
        let texts: Vec<String> = [(PINNED, others), (AGENTS, agents)]
            .into_iter()
            .filter(|(_, pins)| !pins.is_empty())
            .map(|(heading, pins)| {
                let items = pins.iter().map(|pin| format!("\n- {}", pin.text));
                items.fold(heading.to_owned(), |text, item| text + &item)
            })
            .collect();
        let draft = TurnDraft::text(Role::User, texts.join("\n"));
        (!texts.is_empty()).then(|| draft.from_provenance(Provenance::Pins))
    }
}

impl FromIterator<Pin> for Pins {
    /// These pins, which were checked when they were made.
    fn from_iter<I: IntoIterator<Item = Pin>>(pins: I) -> Self {
        Self {
            pins: pins.into_iter().collect(),
            limits: PinLimits::default(),
        }
    }
}

/// Returns true if the exact text of a pin stands in a view, outside every summary, in a turn of the user or
/// the operator.
#[must_use]
pub fn intact(pinned: &str, view: &[Turn]) -> bool {
    view.iter()
        .filter(|turn| matches!(turn.role(), Role::User | Role::System))
        .filter(|turn| turn.provenance() != Provenance::Summary)
        .any(|turn| turn.texts().any(|text| text.contains(pinned)))
}

#[cfg(test)]
mod tests;
