//! The archive of turns that are no longer shown.

use std::collections::HashMap;
use std::fmt;

use crate::coded::{self, CodeEntry, Coded, ErrorCode};
use crate::turn::{Turn, TurnId};

/// A place in a conversation, right behind a turn. As a turn's id covers all turns before it, a place
/// names the whole path to there. A mark (in the history) is a summary that stands at such a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(TurnId);

impl Place {
    /// The place right behind a turn.
    #[must_use]
    pub const fn after(turn: TurnId) -> Self {
        Self(turn)
    }

    /// The last turn before the place.
    #[must_use]
    pub const fn turn(self) -> TurnId {
        self.0
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({})", self.0)
    }
}

/// Keeps turns, each conversation under the places up to which it was archived.
pub trait Archive {
    /// Keeps the turns from the start of the conversation up to `mark`, in order. Keeping the same
    /// place again changes nothing: it names the same turns.
    ///
    /// # Errors
    /// [`ArchiveError::Unavailable`] where the store behind it fails.
    fn put(&mut self, mark: Place, turns: &[Turn]) -> Result<(), ArchiveError>;

    /// The turns up to `mark`, in order.
    ///
    /// # Errors
    /// [`ArchiveError::Missing`] where nothing is kept there, [`ArchiveError::Unavailable`] where the store
    /// behind it fails.
    fn get(&self, mark: Place) -> Result<Vec<Turn>, ArchiveError>;
}

/// Why turns could not be kept or given back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Nothing was kept under this mark.
    #[error("nothing is archived under mark {mark}")]
    Missing {
        /// The mark.
        mark: Place,
    },
    /// The store behind the archive failed.
    #[error("the archive is unavailable: {reason}")]
    Unavailable {
        /// The store's message.
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

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
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
    kept: HashMap<Place, Vec<Turn>>,
}

impl MemoryArchive {
    /// An empty archive.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Archive for MemoryArchive {
    fn put(&mut self, mark: Place, turns: &[Turn]) -> Result<(), ArchiveError> {
        self.kept.entry(mark).or_insert_with(|| turns.to_vec());
        Ok(())
    }

    fn get(&self, mark: Place) -> Result<Vec<Turn>, ArchiveError> {
        self.kept
            .get(&mark)
            .cloned()
            .ok_or(ArchiveError::Missing { mark })
    }
}

#[cfg(test)]
mod tests {
    use super::{Archive, ArchiveError, MemoryArchive, Place};
    use crate::counter::Heuristic;
    use crate::turn::{Role, TurnDraft, TurnId};

    #[test]
    fn what_was_put_comes_back_and_nothing_else() {
        let turn = TurnDraft::text(Role::User, "hello").after(TurnId::ROOT, &Heuristic);
        let mark = Place::after(turn.id());
        let mut archive = MemoryArchive::new();
        assert_eq!(archive.get(mark), Err(ArchiveError::Missing { mark }));
        archive.put(mark, std::slice::from_ref(&turn)).unwrap();
        archive.put(mark, &[]).unwrap();
        assert_eq!(archive.get(mark), Ok(vec![turn]));
    }
}
