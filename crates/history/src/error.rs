//! What can go wrong in a history.

use context::TurnId;
use context::coded::{self, CodeEntry, Coded, ErrorCode};

use crate::mark::MarkId;

const UNKNOWN_NODE: ErrorCode = ErrorCode::new("E0501");
const NOT_ITS_CHILD: ErrorCode = ErrorCode::new("E0502");
const FULL: ErrorCode = ErrorCode::new("E0503");
const NOT_ON_PATH: ErrorCode = ErrorCode::new("E0504");

/// The codes of this crate.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: UNKNOWN_NODE,
        meaning: "a turn is referred to that is not in the history",
        remedy: "Send the whole conversation again; it is recorded from its first turn.",
    },
    CodeEntry {
        code: NOT_ITS_CHILD,
        meaning: "a turn's id does not follow from the turn before it and its content",
        remedy: "The turn was changed or misplaced; place it again after its parent.",
    },
    CodeEntry {
        code: FULL,
        meaning: "the history has reached its limit",
        remedy: "Raise the limit, or remove conversations that are not needed any more.",
    },
    CodeEntry {
        code: NOT_ON_PATH,
        meaning: "a mark does not stand on the conversation it is used for",
        remedy: "Use a mark of this conversation or of a branch that shares its beginning.",
    },
];

/// What can go wrong in a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The node is not in the history.
    #[error("no turn {0} in the history")]
    UnknownNode(TurnId),
    /// The turn's id does not follow from this parent and the turn's content.
    #[error("turn {turn} does not follow turn {parent}")]
    NotItsChild {
        /// The turn that was to be appended.
        turn: TurnId,
        /// The parent it was to be appended to.
        parent: TurnId,
    },
    /// A limit is reached; nothing was stored.
    #[error("the history is full: {limit} {what}")]
    Full {
        /// The limit.
        limit: u64,
        /// What it counts: `turns`, `bytes`, `marks` or `conversations`.
        what: &'static str,
    },
    /// The mark does not stand on this path.
    #[error("mark {0} is not on this path")]
    NotOnPath(MarkId),
}

impl Coded for HistoryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownNode(_) => UNKNOWN_NODE,
            Self::NotItsChild { .. } => NOT_ITS_CHILD,
            Self::Full { .. } => FULL,
            Self::NotOnPath(_) => NOT_ON_PATH,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}
