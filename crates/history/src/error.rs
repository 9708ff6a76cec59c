//! What can go wrong in a history.

use context::TurnId;
use context::coded::{self, CodeEntry, Coded, ErrorCode};

use crate::mark::MarkId;

const UNKNOWN_NODE: ErrorCode = ErrorCode::new("E0501");
const NOT_ITS_CHILD: ErrorCode = ErrorCode::new("E0502");
const FULL: ErrorCode = ErrorCode::new("E0503");
const NOT_ON_PATH: ErrorCode = ErrorCode::new("E0504");
const ENGINE: ErrorCode = ErrorCode::new("E0510");
const UNREACHABLE: ErrorCode = ErrorCode::new("E0511");
const NOT_A_STORE: ErrorCode = ErrorCode::new("E0512");
const NEWER: ErrorCode = ErrorCode::new("E0513");
const NO_SPACE: ErrorCode = ErrorCode::new("E0514");
const BUSY: ErrorCode = ErrorCode::new("E0515");
const CORRUPT: ErrorCode = ErrorCode::new("E0516");

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
    CodeEntry {
        code: ENGINE,
        meaning: "the engine under the history failed",
        remedy: "Look at the disk and the system's log; what was acknowledged before is kept.",
    },
    CodeEntry {
        code: UNREACHABLE,
        meaning: "the store cannot be opened where it is looked for",
        remedy: "Name a file in a folder that this user may write to, with `--store` or `store`.",
    },
    CodeEntry {
        code: NOT_A_STORE,
        meaning: "the file is not a store of Ebbtide",
        remedy: "Name another file; this one was left as it is.",
    },
    CodeEntry {
        code: NEWER,
        meaning: "the store was written by a newer version of Ebbtide",
        remedy: "Use that version, or name another store; this one was left as it is.",
    },
    CodeEntry {
        code: NO_SPACE,
        meaning: "there is no room on the disk",
        remedy: "Make room, for example with `ebbtide purge`; nothing half was written.",
    },
    CodeEntry {
        code: BUSY,
        meaning: "another process held the store for too long",
        remedy: "Try again when it is done; two gateways cannot write much to one file at once.",
    },
    CodeEntry {
        code: CORRUPT,
        meaning: "the store's file is damaged",
        remedy: "Put back a copy of the file, or move it away: a new store is made, and conversations that \
                 clients send again are recorded again.",
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
    /// The engine failed in a way that has no variant of its own.
    #[error("the store failed: {what}")]
    Engine {
        /// What the engine says. Holds nothing of what is stored.
        what: String,
    },
    /// There is no way to the store.
    #[error("cannot open the store {place}: {what}")]
    Unreachable {
        /// Where it was looked for.
        place: String,
        /// What stands in the way.
        what: String,
    },
    /// What is there is something else.
    #[error("{place} is not a store of Ebbtide")]
    NotAStore {
        /// Where it was looked for.
        place: String,
    },
    /// The store has a schema that this version does not know.
    #[error("the store has schema {found}, this version knows up to {known}")]
    Newer {
        /// The store's schema.
        found: u32,
        /// The newest that this version knows.
        known: u32,
    },
    /// The disk is full. Nothing was written.
    #[error("no room on the disk for the store")]
    NoSpace,
    /// Another process held the store for too long. Nothing was written.
    #[error("the store is held by another process")]
    Busy,
    /// The store is damaged.
    #[error("the store is damaged: {what}")]
    Corrupt {
        /// What does not fit. Holds nothing of what is stored.
        what: String,
    },
}

impl Coded for HistoryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownNode(_) => UNKNOWN_NODE,
            Self::NotItsChild { .. } => NOT_ITS_CHILD,
            Self::Full { .. } => FULL,
            Self::NotOnPath(_) => NOT_ON_PATH,
            Self::Engine { .. } => ENGINE,
            Self::Unreachable { .. } => UNREACHABLE,
            Self::NotAStore { .. } => NOT_A_STORE,
            Self::Newer { .. } => NEWER,
            Self::NoSpace => NO_SPACE,
            Self::Busy => BUSY,
            Self::Corrupt { .. } => CORRUPT,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}
