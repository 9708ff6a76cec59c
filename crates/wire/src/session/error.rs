//! What stops the reading or writing of a transcript, and the codes of everything that does not.

use context::coded::{self, CodeEntry, Coded, ErrorCode};

/// Why a file cannot be loaded at all. What is broken in a part of a file is a
/// [`Problem`](super::Problem) instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// There is nothing in it, or nothing but white space.
    #[error("the file is empty")]
    Empty,
    /// It is in no known transcript format.
    #[error("the file is in no known transcript format")]
    UnknownFormat,
    /// Nothing in it could be read as a message.
    #[error("no message could be read: {broken} broken lines, the first is line {first}")]
    NothingReadable {
        /// How many lines or elements are broken.
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
            Self::NothingReadable { .. } => code::NOTHING_READABLE,
            Self::NoMessages => code::NO_MESSAGES,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// Why a conversation cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The document has no session of this index.
    #[error("there is no session {session}: the file holds {held}")]
    NoSuchSession {
        /// The index that was asked for, from 0.
        session: usize,
        /// How many there are.
        held: usize,
    },
}

impl Coded for RenderError {
    fn code(&self) -> ErrorCode {
        code::NO_SUCH_SESSION
    }
}

/// The stable codes of this module.
pub(super) mod code {
    use context::coded::ErrorCode;

    pub(crate) const EMPTY: ErrorCode = ErrorCode::new("E0120");
    pub(crate) const UNKNOWN_FORMAT: ErrorCode = ErrorCode::new("E0121");
    pub(crate) const NOTHING_READABLE: ErrorCode = ErrorCode::new("E0122");
    pub(crate) const NO_MESSAGES: ErrorCode = ErrorCode::new("E0123");
    pub(crate) const NO_SUCH_SESSION: ErrorCode = ErrorCode::new("E0124");
    pub(crate) const BROKEN: ErrorCode = ErrorCode::new("E0125");
    pub(crate) const UNKNOWN_RECORD: ErrorCode = ErrorCode::new("E0126");
    pub(crate) const ABANDONED: ErrorCode = ErrorCode::new("E0127");
    pub(crate) const INJECTED: ErrorCode = ErrorCode::new("E0128");
    pub(crate) const API_ERROR: ErrorCode = ErrorCode::new("E0129");
    pub(crate) const REPEATED_RECORD: ErrorCode = ErrorCode::new("E0130");
    pub(crate) const RESULT_WITHOUT_CALL: ErrorCode = ErrorCode::new("E0131");
    pub(crate) const CALL_WITHOUT_RESULT: ErrorCode = ErrorCode::new("E0132");
    pub(crate) const CALL_ID_REUSED: ErrorCode = ErrorCode::new("E0133");
    pub(crate) const EMPTY_MESSAGE: ErrorCode = ErrorCode::new("E0134");
    pub(crate) const UNKNOWN_BLOCK: ErrorCode = ErrorCode::new("E0135");
    pub(crate) const SUPERSEDED: ErrorCode = ErrorCode::new("E0136");
    pub(crate) const COMPACTION_INCOMPLETE: ErrorCode = ErrorCode::new("E0137");
}

const fn entry(code: ErrorCode, meaning: &'static str, remedy: &'static str) -> CodeEntry {
    CodeEntry {
        code,
        meaning,
        remedy,
    }
}

/// The codes of transcripts, for the generated page.
pub const CODES: &[CodeEntry] = &[
    entry(
        code::EMPTY,
        "the transcript file is empty",
        "Check the path; the session may not have been written yet.",
    ),
    entry(
        code::UNKNOWN_FORMAT,
        "the file is in no known transcript format",
        "Supported are Claude Code, Codex, pi and Copilot CLI logs, OpenAI and Anthropic message lists, and LangChain dumps, as JSON or JSON Lines.",
    ),
    entry(
        code::NOTHING_READABLE,
        "the format is known, but every message in the file is broken",
        "The file was probably cut or changed by another program; look at the line that is named.",
    ),
    entry(
        code::NO_MESSAGES,
        "the file holds no message",
        "The session was opened but nothing was said in it; choose another file.",
    ),
    entry(
        code::NO_SUCH_SESSION,
        "the file holds fewer sessions than asked for",
        "Sessions are counted from 0 in the order of the file.",
    ),
    entry(
        code::BROKEN,
        "a line or element is not valid JSON or not a message, and was skipped",
        "Nothing to do; the rest of the file was read.",
    ),
    entry(
        code::UNKNOWN_RECORD,
        "records of a kind this version does not know were skipped",
        "Nothing to do, unless the conversation is incomplete; then please report the kind.",
    ),
    entry(
        code::ABANDONED,
        "messages on a branch that was abandoned by an edit were left out",
        "Nothing to do; the session is the branch that was continued last.",
    ),
    entry(
        code::INJECTED,
        "messages that the product put in by itself were left out",
        "Nothing to do; they are instructions of the product, not what was said.",
    ),
    entry(
        code::API_ERROR,
        "an error of the provider that the product showed as a message was left out",
        "Nothing to do; the model never saw it.",
    ),
    entry(
        code::REPEATED_RECORD,
        "a record stands in the file twice; the second was left out",
        "Nothing to do.",
    ),
    entry(
        code::RESULT_WITHOUT_CALL,
        "a tool result answers a call that is not in the session",
        "Nothing to do; the log begins after the call or the call was lost.",
    ),
    entry(
        code::CALL_WITHOUT_RESULT,
        "a tool call was never answered",
        "Nothing to do; the turn was interrupted.",
    ),
    entry(
        code::CALL_ID_REUSED,
        "one id is used for two different tool calls",
        "Nothing to do; results are matched in order.",
    ),
    entry(
        code::EMPTY_MESSAGE,
        "a message has no content",
        "Nothing to do; it is kept as an empty turn.",
    ),
    entry(
        code::UNKNOWN_BLOCK,
        "a message holds a block of a type this version does not know",
        "Nothing to do; it is carried along as it stands.",
    ),
    entry(
        code::SUPERSEDED,
        "a request repeats the beginning of a later request and was left out",
        "Nothing to do; the later request holds the whole conversation.",
    ),
    entry(
        code::COMPACTION_INCOMPLETE,
        "a compaction of the product has no summary in the file",
        "Nothing to do; the compaction is ignored.",
    ),
];
