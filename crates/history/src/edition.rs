//! Editions: changes to a message when it is sent, recorded so that later requests repeat them.

use context::{Text, TurnId};
use jiff::Timestamp;

/// A change made to one turn when it was first sent. Every later request that shows the turn repeats it
/// byte for byte, since the client does not know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edition {
    /// The turn. Its id covers all turns before it, so an edition applies nowhere else.
    pub turn: TurnId,
    /// The change.
    pub change: Change,
    /// The time it was first sent.
    pub at: Timestamp,
}

/// One change to one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds this JSON block at the end of the message.
    Appended(Text),
    /// Adds this JSON message after the turn.
    Followed(Text),
    /// Replaces the text of one tool result.
    Shrunk {
        /// The index among the turn's tool results.
        result: u32,
        /// The replacement.
        text: Text,
    },
}

impl Change {
    /// The text that is sent.
    #[must_use]
    pub const fn text(&self) -> &Text {
        match self {
            Self::Appended(text) | Self::Followed(text) | Self::Shrunk { text, .. } => text,
        }
    }
}
