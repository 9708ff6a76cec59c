//! Errors that stop the reading or writing of a transcript, and the codes of problems that do not.

use context::coded::{self, Coded, ErrorCode};

pub use code::CODES;

/// An error that stops the loading of a file. A broken part of a file is a
/// [`Problem`](super::Problem) instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file is empty or holds only white space.
    #[error("the file is empty")]
    Empty,
    /// The file is in no known transcript format.
    #[error("the file is in no known transcript format")]
    UnknownFormat,
    /// The file is a log of a product whose logs are not supported.
    #[error("logs of {0} are not supported")]
    Unsupported(&'static str),
    /// No part of the file could be read as a message.
    #[error("no message could be read: {broken} broken lines, the first is line {first}")]
    NothingReadable {
        /// The number of broken lines or elements.
        broken: usize,
        /// The first of them, counted from 1.
        first: usize,
    },
    /// The format is known, but the file holds no conversation.
    #[error("the file holds no message")]
    NoMessages,
}

impl Coded for LoadError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Empty => code::EMPTY,
            Self::UnknownFormat => code::UNKNOWN_FORMAT,
            Self::Unsupported(_) => code::UNSUPPORTED,
            Self::NothingReadable { .. } => code::NOTHING_READABLE,
            Self::NoMessages => code::NO_MESSAGES,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// An error that stops the writing of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The document has no session of this index.
    #[error("there is no session {session}: the file holds {held}")]
    NoSuchSession {
        /// The index that was asked for, from 0.
        session: usize,
        /// The number of sessions.
        held: usize,
    },
}

impl Coded for RenderError {
    fn code(&self) -> ErrorCode {
        code::NO_SUCH_SESSION
    }
}

/// The stable codes of transcripts.
pub(super) mod code {
    context::error_codes! {
        /// The codes of transcripts.
        pub CODES:
        EMPTY = "E0120", "the transcript file is empty",
            "Check the path; the session may not have been written yet.";
        UNKNOWN_FORMAT = "E0121", "the file is in no known transcript format",
            "Supported formats: Claude Code, Codex, pi and Copilot CLI logs, OpenAI and Anthropic message lists, and LangChain dumps, as JSON or JSON Lines.";
        NOTHING_READABLE = "E0122", "the format is known, but every message in the file is broken",
            "Another program probably cut or changed the file; look at the line that the error names.";
        NO_MESSAGES = "E0123", "the file holds no message",
            "The session holds no messages; choose another file.";
        NO_SUCH_SESSION = "E0124", "the file holds fewer sessions than asked for",
            "Sessions are counted from 0 in the order of the file.";
        BROKEN = "E0125", "a line or element is not valid JSON or not a message, and was skipped",
            "Nothing to do; the rest of the file was read.";
        UNKNOWN_RECORD = "E0126", "records of a kind this version does not know were skipped",
            "Nothing to do, unless the conversation is incomplete; then please report the kind.";
        ABANDONED = "E0127", "messages on a branch that was abandoned by an edit were left out",
            "Nothing to do; the session is the branch that was continued last.";
        INJECTED = "E0128", "messages that the product inserted were left out",
            "Nothing to do; they are the product's instructions, not part of the conversation.";
        API_ERROR = "E0129", "an error of the provider that the product showed as a message was left out",
            "Nothing to do; the model never saw it.";
        REPEATED_RECORD = "E0130", "a record occurs twice in the file; the second was skipped",
            "Nothing to do.";
        RESULT_WITHOUT_CALL = "E0131", "a tool result answers a call that is not in the session",
            "Nothing to do; the log begins after the call or the call was lost.";
        CALL_WITHOUT_RESULT = "E0132", "a tool call was never answered",
            "Nothing to do; the turn was interrupted.";
        CALL_ID_REUSED = "E0133", "one id is used for two different tool calls",
            "Nothing to do; results are matched in order.";
        EMPTY_MESSAGE = "E0134", "a message has no content",
            "Nothing to do; it is kept as an empty turn.";
        UNKNOWN_BLOCK = "E0135", "a message holds a block of a type this version does not know",
            "Nothing to do; it is kept unchanged.";
        SUPERSEDED = "E0136", "a request repeats the beginning of a later request and was left out",
            "Nothing to do; the later request holds the whole conversation.";
        COMPACTION_INCOMPLETE = "E0137", "a compaction of the product has no summary in the file",
            "Nothing to do; the compaction is ignored.";
        UNSUPPORTED = "E0138", "the file is a log of a product whose logs are not supported",
            "Convert it to a list of OpenAI or Anthropic messages.";
    }
}
