//! Editions: what was sent in place of a message or beside it, so that it can be sent again the same.

use context::{Text, TurnId};
use jiff::Timestamp;

/// What was changed about one turn when it was first sent. It is made again in every later request that
/// shows the turn, byte for byte, since the client does not know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edition {
    /// The turn. Its id covers everything before it, so an edition never applies elsewhere.
    pub turn: TurnId,
    /// What was changed.
    pub change: Change,
    /// When it was first sent.
    pub at: Timestamp,
}

/// One change about one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This block stands at the end of the message: JSON.
    Appended(Text),
    /// This message stands behind it: JSON.
    Followed(Text),
    /// The text of the n-th tool result in it is this.
    Shrunk {
        /// The index among the turn's tool results.
        result: u32,
        /// What is shown instead.
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
