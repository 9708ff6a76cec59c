//! How much may be kept of one tenant.

use crate::error::HistoryError;
use crate::store::Stored;

/// How much an engine may hold of one tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Turns.
    pub turns: u64,
    /// Bytes of text: in the turns and [beside](Stored::beside) them.
    pub bytes: u64,
    /// Marks.
    pub marks: u64,
    /// Conversations.
    pub conversations: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        turns: u64::MAX,
        bytes: u64::MAX,
        marks: u64::MAX,
        conversations: u64::MAX,
    };

    /// Whether this much may be held.
    ///
    /// # Errors
    /// [`HistoryError::Full`] with the first limit that it is over.
    pub fn allow(&self, held: &Stored) -> Result<(), HistoryError> {
        let bytes = held.bytes.saturating_add(held.beside);
        let over = [
            (held.turns, self.turns, "turns"),
            (bytes, self.bytes, "bytes"),
            (held.marks, self.marks, "marks"),
            (held.conversations, self.conversations, "conversations"),
        ]
        .into_iter()
        .find(|(held, limit, _)| held > limit);
        match over {
            Some((_, limit, what)) => Err(HistoryError::Full { limit, what }),
            None => Ok(()),
        }
    }
}

impl Default for Limits {
    /// No limits.
    fn default() -> Self {
        Self::NONE
    }
}
