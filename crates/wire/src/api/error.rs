//! Errors in bodies and streams.

use context::coded::{self, Coded, ErrorCode};

/// A place in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Bytes before it.
    pub byte: usize,
    /// The line, counted from 1.
    pub line: usize,
}

impl Position {
    /// The position of byte `byte` of `body`.
    pub(crate) fn in_body(body: &[u8], byte: usize) -> Self {
        let before = body.get(..byte).unwrap_or(body);
        Self {
            byte,
            line: 1 + memchr::memchr_iter(b'\n', before).count(),
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, byte {}", self.line, self.byte)
    }
}

/// An error in a body or a stream. It never holds text of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// The text is not JSON.
    #[error("malformed JSON at {at}: {expected}")]
    Syntax {
        /// The value or sign that the reader expected.
        expected: &'static str,
        /// The place of the first wrong byte.
        at: Position,
    },
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at {at}")]
    Encoding {
        /// The first byte that is not.
        at: Position,
    },
    /// The body is longer than the limit.
    #[error("the body has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// The length in bytes.
        bytes: usize,
        /// The limit in force.
        limit: usize,
    },
    /// Lists and objects are nested deeper than the limit.
    #[error("nested deeper than {limit} levels at {at}")]
    TooDeep {
        /// The limit in force.
        limit: usize,
        /// The place that passes the limit.
        at: Position,
    },
    /// More messages than the limit.
    #[error("more than {limit} messages")]
    TooManyMessages {
        /// The limit in force.
        limit: usize,
    },
    /// The body is JSON, but no object.
    #[error("the body is not a JSON object")]
    NotAnObject,
    /// The list of messages is missing or is no list.
    #[error("`{key}` is missing or is not a list")]
    NoMessages {
        /// The key under which the dialect keeps it.
        key: &'static str,
    },
    /// A render names messages that the request does not have.
    #[error("messages {start}..{end} are out of range: the request has {count}")]
    NoSuchMessage {
        /// The first one asked for.
        start: usize,
        /// One after the last one asked for.
        end: usize,
        /// The number of messages in the request.
        count: usize,
    },
    /// One event of a stream is longer than the limit.
    #[error("an event of the stream has more than {limit} bytes")]
    EventTooLarge {
        /// The limit in force.
        limit: usize,
    },
    /// The data of a stream event cannot be read.
    #[error("the data of the stream event `{event}` cannot be read: {source}")]
    Event {
        /// The event's name, cut to 64 characters.
        event: String,
        /// The error in the data.
        source: Box<ApiError>,
    },
}

impl Coded for ApiError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Syntax { .. } => SYNTAX,
            Self::Encoding { .. } => ENCODING,
            Self::TooLarge { .. } => TOO_LARGE,
            Self::TooDeep { .. } => TOO_DEEP,
            Self::TooManyMessages { .. } => TOO_MANY_MESSAGES,
            Self::NotAnObject => NOT_AN_OBJECT,
            Self::NoMessages { .. } => NO_MESSAGES,
            Self::NoSuchMessage { .. } => NO_SUCH_MESSAGE,
            Self::EventTooLarge { .. } => EVENT_TOO_LARGE,
            Self::Event { .. } => EVENT,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

context::error_codes! {
    /// The codes of requests, replies and streams.
    pub CODES:
    SYNTAX = "E0110", "a request, response or stream event is not JSON",
        "Look at the named byte of the body; a cut transfer is the usual cause.";
    ENCODING = "E0111", "a body is not UTF-8",
        "Send the body as UTF-8, uncompressed or with its content encoding removed.";
    TOO_LARGE = "E0112", "a body is longer than the limit",
        "Raise the limit, or send large attachments by reference.";
    TOO_DEEP = "E0113", "a body nests lists and objects deeper than the limit",
        "Raise the limit (1,024 at most), or send the nested value as a string.";
    TOO_MANY_MESSAGES = "E0114", "a request has more messages than the limit",
        "Raise the limit; Anthropic itself takes 100,000.";
    NOT_AN_OBJECT = "E0115", "a body is JSON but not an object",
        "Send one JSON object.";
    NO_MESSAGES = "E0116", "a request has no list of messages",
        "Check that the body goes to the endpoint of its own dialect.";
    NO_SUCH_MESSAGE = "E0117", "a message index is out of range",
        "This is a bug in the calling program; report it.";
    EVENT_TOO_LARGE = "E0118", "one event of a stream is longer than the limit",
        "Raise the limit, or check that the upstream really sends an event stream.";
    EVENT = "E0119", "the data of a stream event cannot be read",
        "The event was forwarded unchanged; only the accounting of this turn is incomplete.";
}

#[cfg(test)]
mod tests {
    use super::{ApiError, CODES, Position};
    use context::coded::Coded;

    #[test]
    fn codes_are_distinct_and_every_error_has_a_hint() {
        let mut codes: Vec<_> = CODES.iter().map(|entry| entry.code).collect();
        codes.dedup();
        assert_eq!(codes.len(), CODES.len());
        assert!(ApiError::NotAnObject.hint().is_some());
    }

    #[test]
    fn positions_count_lines_from_one() {
        assert_eq!(Position::in_body(b"a\nb\nc", 4).line, 3);
        assert_eq!(Position::in_body(b"", 0), Position { byte: 0, line: 1 });
    }
}
