//! Limits on the data stored per tenant.

use crate::error::HistoryError;
use crate::store::Stored;

/// The most that an engine stores for one tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Distinct turns.
    pub turns: u64,
    /// Bytes of text in the turns and [beside](Stored::beside) them.
    pub bytes: u64,
    /// Marks on the turns.
    pub marks: u64,
    /// Conversations, whatever their length.
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

    /// Checks an amount against these limits.
    ///
    /// # Errors
    /// [`HistoryError::Full`] with the first limit exceeded.
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
        over.map_or(Ok(()), |(_, limit, what)| {
            Err(HistoryError::Full { limit, what })
        })
    }
}

impl Default for Limits {
    /// Returns [`NONE`](Self::NONE).
    fn default() -> Self {
        Self::NONE
    }
}
