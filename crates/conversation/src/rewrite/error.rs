//! Why a request could not be shown as a recipe says.

use context::coded::{self, CodeEntry, Coded, ErrorCode};
use wire::api::ApiError;

/// The codes of this module.
pub(crate) const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: ErrorCode::new("E0850"),
        meaning: "a request could not be rebuilt from its parts",
        remedy: "The request was sent unchanged. This is a bug in Ebbtide; please report it.",
    },
    CodeEntry {
        code: ErrorCode::new("E0851"),
        meaning: "a view would contain none of the request's messages",
        remedy: "The request was sent unchanged. Please report it, with the strategy in use.",
    },
    CodeEntry {
        code: ErrorCode::new("E0852"),
        meaning: "a view would begin at a place that the provider rejects",
        remedy: "The request was sent unchanged. Please report it, with the strategy in use.",
    },
    CodeEntry {
        code: ErrorCode::new("E0853"),
        meaning: "an earlier change to a message no longer fits it",
        remedy: "The request was sent unchanged. Please report it, with the client and its version.",
    },
    CodeEntry {
        code: ErrorCode::new("E0854"),
        meaning: "this request cannot carry the provider's own summary",
        remedy: "Set `route = \"readable\"` for this client, or switch its own compaction off.",
    },
];

/// The reason why a view could not be written as bytes. The caller then sends the client's own bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The wire would not have it.
    #[error("the request could not be written: {0}")]
    Wire(#[from] ApiError),
    /// The recipe shows none of the messages.
    #[error("the view would begin at message {from}, of {count} messages")]
    NothingKept {
        /// The index at which the view would begin.
        from: usize,
        /// The number of messages.
        count: usize,
    },
    /// The view would begin between a call and its result, or at a system message.
    #[error("the view would begin at message {from}: {why}")]
    IllegalCut {
        /// The index at which the view would begin.
        from: usize,
        /// The rule that the index breaks.
        why: &'static str,
    },
    /// A change names a message or a result that is not there, or that has no place for it.
    #[error("a change of message {message} does not fit it")]
    DoesNotFit {
        /// The message.
        message: usize,
    },
    /// The provider's own summary may not stand in this request.
    #[error("the request cannot carry the provider's summary: {0}")]
    NotCarried(&'static str),
}

impl Coded for RewriteError {
    fn code(&self) -> ErrorCode {
        ErrorCode::new(match self {
            Self::Wire(_) => "E0850",
            Self::NothingKept { .. } => "E0851",
            Self::IllegalCut { .. } => "E0852",
            Self::DoesNotFit { .. } => "E0853",
            Self::NotCarried(_) => "E0854",
        })
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}
