//! The errors of a history and their codes.

use context::TurnId;
use context::coded::{self, Coded, ErrorCode};

context::error_codes! {
    /// The codes of this crate.
    pub CODES:
    UNKNOWN_NODE = "E0501", "a request refers to a turn that the history does not contain",
        "Send the whole conversation again; it is recorded from its first turn.";
    NOT_ITS_CHILD = "E0502", "a turn's id does not match its parent and content",
        "The turn was changed or moved; append it again after its parent.";
    FULL = "E0503", "the history has reached its limit",
        "Raise the limit, or remove conversations you no longer need.";
    ENGINE = "E0510", "the storage engine failed",
        "Check the disk and the system log; everything acknowledged earlier is safe.";
    UNREACHABLE = "E0511", "the store cannot be opened at its path",
        "Set `--store` or `store` to a file in a folder that you can write to.";
    NOT_A_STORE = "E0512", "the file is not an Ebbtide store",
        "Use another file; this one was not changed.";
    NEWER = "E0513", "the store was written by a newer version of Ebbtide",
        "Use that version, or another store; this one was not changed.";
    NO_SPACE = "E0514", "the disk is full",
        "Free some space, for example with `ebbtide purge`; no partial data was written.";
    BUSY = "E0515", "another process locked the store for too long",
        "Try again when it finishes. A gateway that starts meanwhile keeps conversations in memory.";
    CORRUPT = "E0516", "the store file is damaged",
        "Stop the gateway and run `ebbtide store repair`, which keeps what is intact. If it cannot read \
         the file, restore a copy or move the file away; Ebbtide then creates a new store, and records \
         conversations again as clients resend them.";
}

/// The way on without the secret.
const NO_SECRET: &str = "No repair brings the secret back, which tells whose a conversation is. Restore a copy or move \
     the file away; Ebbtide then creates a new store, and records conversations again as clients resend them.";

/// An error of a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// The store is damaged, and has lost its secret.
    #[error("the store is damaged: its secret is lost")]
    SecretLost,
}

impl Coded for HistoryError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownNode(_) => UNKNOWN_NODE,
            Self::NotItsChild { .. } => NOT_ITS_CHILD,
            Self::Full { .. } => FULL,
            Self::Engine { .. } => ENGINE,
            Self::Unreachable { .. } => UNREACHABLE,
            Self::NotAStore { .. } => NOT_A_STORE,
            Self::Newer { .. } => NEWER,
            Self::NoSpace => NO_SPACE,
            Self::Busy => BUSY,
            Self::Corrupt { .. } | Self::SecretLost => CORRUPT,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::SecretLost => Some(NO_SECRET.to_owned()),
            _ => coded::remedy(CODES, self.code()),
        }
    }
}
