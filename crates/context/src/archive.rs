//! Where turns go that are no longer shown, and how they come back.

use std::collections::HashMap;
use std::fmt;

use crate::coded::{CodeEntry, Coded, ErrorCode};
use crate::turn::{Turn, TurnId};

/// Identifies a mark: the place in a conversation up to which something else stands in for its
/// turns. It is the id of the last turn before that place, so that it names the whole path to there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkId(TurnId);

impl MarkId {
    /// The mark right after a turn.
    #[must_use]
    pub const fn after(turn: TurnId) -> Self {
        Self(turn)
    }

    /// The last turn before the mark.
    #[must_use]
    pub const fn turn(self) -> TurnId {
        self.0
    }
}

impl fmt::Display for MarkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for MarkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MarkId({})", self.0)
    }
}

/// Keeps turns under marks.
pub trait Archive {
    /// Keeps the turns from the start of the conversation up to `mark`, in order. Keeping the same
    /// mark again changes nothing: it names the same turns.
    ///
    /// # Errors
    /// [`ArchiveError::Unavailable`] where the store behind it fails.
    fn put(&mut self, mark: MarkId, turns: &[Turn]) -> Result<(), ArchiveError>;

    /// The turns up to `mark`, in order.
    ///
    /// # Errors
    /// [`ArchiveError::Missing`] without such a mark, [`ArchiveError::Unavailable`] where the store
    /// behind it fails.
    fn get(&self, mark: MarkId) -> Result<Vec<Turn>, ArchiveError>;
}

/// Why turns could not be kept or given back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// Nothing was kept under this mark.
    #[error("nothing is archived under mark {mark}")]
    Missing {
        /// The mark.
        mark: MarkId,
    },
    /// The store behind the archive failed.
    #[error("the archive is unavailable: {reason}")]
    Unavailable {
        /// What the store says.
        reason: String,
    },
}

impl ArchiveError {
    /// The code of [`ArchiveError::Missing`].
    pub const MISSING: ErrorCode = ErrorCode::new("E0404");
    /// The code of [`ArchiveError::Unavailable`].
    pub const UNAVAILABLE: ErrorCode = ErrorCode::new("E0405");
}

impl Coded for ArchiveError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Missing { .. } => Self::MISSING,
            Self::Unavailable { .. } => Self::UNAVAILABLE,
        }
    }
}

/// The errors of this module.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: ArchiveError::MISSING,
        meaning: "a mark under which nothing is archived",
        remedy: "Expand with the archive that the conversation was compacted into.",
    },
    CodeEntry {
        code: ArchiveError::UNAVAILABLE,
        meaning: "the archive cannot be reached",
        remedy: "Check the store behind it; nothing was changed.",
    },
];

/// An archive in memory. Turns are shared, not copied.
#[derive(Clone, Debug, Default)]
pub struct MemoryArchive {
    kept: HashMap<MarkId, Vec<Turn>>,
}

impl MemoryArchive {
    /// An empty archive.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Archive for MemoryArchive {
    fn put(&mut self, mark: MarkId, turns: &[Turn]) -> Result<(), ArchiveError> {
        self.kept.entry(mark).or_insert_with(|| turns.to_vec());
        Ok(())
    }

    fn get(&self, mark: MarkId) -> Result<Vec<Turn>, ArchiveError> {
        self.kept
            .get(&mark)
            .cloned()
            .ok_or(ArchiveError::Missing { mark })
    }
}

#[cfg(test)]
mod tests {
    use super::{Archive, ArchiveError, MarkId, MemoryArchive};
    use crate::counter::Heuristic;
    use crate::turn::{Role, TurnDraft, TurnId};

    #[test]
    fn what_was_put_comes_back_and_nothing_else() {
        let turn = TurnDraft::text(Role::User, "hello").after(TurnId::ROOT, &Heuristic);
        let mark = MarkId::after(turn.id());
        let mut archive = MemoryArchive::new();
        assert_eq!(archive.get(mark), Err(ArchiveError::Missing { mark }));
        archive.put(mark, std::slice::from_ref(&turn)).unwrap();
        archive.put(mark, &[]).unwrap();
        assert_eq!(archive.get(mark), Ok(vec![turn]));
    }
}
