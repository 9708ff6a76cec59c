//! The errors of a history and their codes.

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
        meaning: "a request refers to a turn that the history does not contain",
        remedy: "Send the whole conversation again; it is recorded from its first turn.",
    },
    CodeEntry {
        code: NOT_ITS_CHILD,
        meaning: "a turn's id does not match its parent and content",
        remedy: "The turn was changed or moved; append it again after its parent.",
    },
    CodeEntry {
        code: FULL,
        meaning: "the history has reached its limit",
        remedy: "Raise the limit, or remove conversations you no longer need.",
    },
    CodeEntry {
        code: NOT_ON_PATH,
        meaning: "a mark is not on the path of the conversation it is used for",
        remedy: "Use a mark of this conversation or of a branch that shares its prefix.",
    },
    CodeEntry {
        code: ENGINE,
        meaning: "the storage engine failed",
        remedy: "Check the disk and the system log; everything acknowledged earlier is safe.",
    },
    CodeEntry {
        code: UNREACHABLE,
        meaning: "the store cannot be opened at its path",
        remedy: "Set `--store` or `store` to a file in a folder that you can write to.",
    },
    CodeEntry {
        code: NOT_A_STORE,
        meaning: "the file is not an Ebbtide store",
        remedy: "Use another file; this one was not changed.",
    },
    CodeEntry {
        code: NEWER,
        meaning: "the store was written by a newer version of Ebbtide",
        remedy: "Use that version, or another store; this one was not changed.",
    },
    CodeEntry {
        code: NO_SPACE,
        meaning: "the disk is full",
        remedy: "Free some space, for example with `ebbtide purge`; no partial data was written.",
    },
    CodeEntry {
        code: BUSY,
        meaning: "another process locked the store for too long",
        remedy: "Try again when it finishes; two gateways cannot share one file under heavy load.",
    },
    CodeEntry {
        code: CORRUPT,
        meaning: "the store file is damaged",
        remedy: "Restore the file from a copy, or move it away: Ebbtide creates a new store, and records \
conversations again as clients resend them.",
    },
];

/// An error of a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The history does not contain this node.
    #[error("no turn {0} in the history")]
    UnknownNode(TurnId),
    /// The turn's id does not follow from `parent` and the turn's content.
    #[error("turn {turn} is not a child of turn {parent}")]
    NotItsChild {
        /// The rejected turn.
        turn: TurnId,
        /// The parent given for it.
        parent: TurnId,
    },
    /// A limit is reached. Nothing was stored.
    #[error("the history is full: {limit} {what}")]
    Full {
        /// The limit's value.
        limit: u64,
        /// The unit: `turns`, `bytes`, `marks` or `conversations`.
        what: &'static str,
    },
    /// The mark's node is not on this path.
    #[error("mark {0} is not on this path")]
    NotOnPath(MarkId),
    /// An engine failure without a variant of its own.
    #[error("the store failed: {what}")]
    Engine {
        /// The engine's message. Contains no stored data.
        what: String,
    },
    /// The store cannot be opened.
    #[error("cannot open the store {place}: {what}")]
    Unreachable {
        /// The path of the store.
        place: String,
        /// The reason.
        what: String,
    },
    /// The file has other contents.
    #[error("{place} is not an Ebbtide store")]
    NotAStore {
        /// The path of the file.
        place: String,
    },
    /// The store's schema is newer than this version supports.
    #[error("the store has schema {found}; this version supports schemas up to {known}")]
    Newer {
        /// The schema of the store.
        found: u32,
        /// The newest supported schema.
        known: u32,
    },
    /// The disk is full. Nothing was written.
    #[error("no space left on the disk for the store")]
    NoSpace,
    /// Another process locked the store for too long. Nothing was written.
    #[error("another process has locked the store")]
    Busy,
    /// The store is damaged.
    #[error("the store is damaged: {what}")]
    Corrupt {
        /// The inconsistency. Contains no stored data.
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
