//! The state of an engine: what it reports about itself beside its answers.

use std::collections::BTreeMap;
use std::fmt;

use context::figures;

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Record {
    /// A turn.
    Turn,
    /// The message that a turn was parsed from.
    Original,
    /// A summary.
    Mark,
    /// A recorded change to a message.
    Edition,
    /// A pin.
    Pin,
    /// A conversation.
    Conversation,
    /// A text kept under a hash.
    Chunk,
    /// The cost of a day and model.
    Account,
    /// The part of the file that leads to records, and the secret.
    Structure,
}

impl Record {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Turn,
        Self::Original,
        Self::Mark,
        Self::Edition,
        Self::Pin,
        Self::Conversation,
        Self::Chunk,
        Self::Account,
        Self::Structure,
    ];

    /// The name in lower case, in the plural.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turns",
            Self::Original => "messages",
            Self::Mark => "summaries",
            Self::Edition => "editions",
            Self::Pin => "pins",
            Self::Conversation => "conversations",
            Self::Chunk => "texts",
            Self::Account => "costs",
            Self::Structure => "structure",
        }
    }

    /// The name in lower case, of one.
    #[must_use]
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Original => "message",
            Self::Mark => "summary",
            Self::Edition => "edition",
            Self::Pin => "pin",
            Self::Conversation => "conversation",
            Self::Chunk => "text",
            Self::Account => "cost",
            Self::Structure => "structure",
        }
    }

    /// A number of them: `1 turn`, `2 summaries`.
    #[must_use]
    pub fn counted(self, number: u64) -> String {
        let noun = match number {
            1 => self.singular(),
            _ => self.as_str(),
        };
        format!("{} {noun}", figures::count(number))
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The state of an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The number of different damaged records met since the engine was opened. Turns among them are gaps in
    /// every answer or read from what proves them; the others are left out.
    pub damaged: BTreeMap<Record, u64>,
    /// The reason why nothing outlasts the process, if a file was asked for. Contains no stored data.
    pub instead_of_file: Option<String>,
}
