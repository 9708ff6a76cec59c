//! Errors of model calls.

use std::fmt;
use std::time::Duration;

use context::Tokens;
use context::coded::{self, Coded, ErrorCode};
use context::quality::Rejection;
use wire::api::{ApiError, Failure, Stop};

/// An error of a model call or a summary. It shows no text of the conversation and no
/// credentials.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A base URL cannot be used.
    #[error("the base URL cannot be used: {why}")]
    BadUrl {
        /// The reason, as a phrase.
        why: &'static str,
    },
    /// A header cannot be sent.
    #[error("the header `{name}` cannot be sent")]
    BadHeader {
        /// The header's name.
        name: String,
    },
    /// The system has no usable root certificates.
    #[error("https is unavailable: {why}")]
    NoRoots {
        /// The reason that the system gives.
        why: String,
    },
    /// There was no connection.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// The host and port.
        host: String,
        /// The reason that the system gives.
        why: String,
    },
    /// The connection broke.
    #[error("the connection broke {when}")]
    Broken {
        /// The progress of the answer.
        when: Begun,
    },
    /// A step took longer than its limit.
    #[error("waited {waited:?} for {what}")]
    Timeout {
        /// The step that took too long.
        what: Wait,
        /// The time waited.
        waited: Duration,
        /// The progress of the answer.
        when: Begun,
    },
    /// The provider refused the request.
    #[error("the provider refused the request: {0}")]
    Refused(Box<Refused>),
    /// The provider cannot take requests now, and repetitions did not help.
    #[error("the provider is not available: {0}")]
    Unavailable(Box<Refused>),
    /// The provider ended an answer that had begun with an error.
    #[error("the provider ended the answer with an error: {}", .0.kind)]
    Failed(Box<Failure>),
    /// The answer cannot be read.
    #[error("the answer cannot be read: {0}")]
    Unreadable(#[from] ApiError),
    /// The answer is not an event stream.
    #[error("the answer is not an event stream")]
    NoStream,
    /// The answer is longer than the limit.
    #[error("the answer has more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The provider answered, but without a summary.
    #[error("the provider returned no summary: {}", stopped(.stop.as_ref()))]
    NoSummary {
        /// The stop reason of the answer.
        stop: Option<Stop>,
    },
    /// The model wrote something else than a summary.
    #[error("the answer is no summary: it has none of the headings that the prompt asks for{}", ended(.stop.as_ref()))]
    NoHeadings {
        /// The stop reason of the answer.
        stop: Option<Stop>,
    },
    /// This route is not open for this request.
    #[error("the {route} route is unavailable: {why}")]
    NotOpen {
        /// The route.
        route: history::Route,
        /// The reason, as a phrase.
        why: &'static str,
    },
    /// The summary is not good enough.
    #[error("the summary was rejected: {0}")]
    Rejected(Rejection),
    /// The model's window leaves no room.
    #[error("a window of {window} tokens leaves no room to write a summary of {budget}")]
    NoRoom {
        /// The window.
        window: Tokens,
        /// The summary's budget.
        budget: Tokens,
    },
    /// A computation ended early.
    #[error("the summary was interrupted")]
    BrokenOff,
}

/// The step that took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The first byte or event.
    FirstByte,
    /// The next piece of an answer.
    NextPiece,
    /// All of it.
    Whole,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstByte => "the answer to begin",
            Self::NextPiece => "the answer to go on",
            Self::Whole => "the whole answer",
        })
    }
}

/// The progress of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The answer had not begun.
    No,
    /// A part of it had come.
    Yes,
}

impl fmt::Display for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "before the answer began",
            Self::Yes => "in the middle of the answer",
        })
    }
}

/// A refusal. The provider's message can quote the request, so `Debug` and `Display` leave it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// The error in the body, where it can be read.
    pub failure: Option<Failure>,
    /// The pause that the provider asks for.
    pub retry_after: Option<Duration>,
    /// The provider's own word on whether a repetition helps (`x-should-retry`).
    pub should_retry: Option<bool>,
}

impl Refused {
    /// The code of the provider's error, such as `compaction_unavailable`.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.failure.as_ref()?.code.as_deref()
    }

    /// Returns `true` if the request did not fit the model's window.
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.failure.as_ref().is_some_and(Failure::is_overflow)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status {}", self.status)?;
        if let Some(failure) = &self.failure {
            write!(f, ", {}", failure.kind)?;
        }
        if let Some(code) = self.code() {
            write!(f, ", {code}")?;
        }
        match self.retry_after {
            Some(after) => write!(f, ", retry after {after:?}"),
            None => Ok(()),
        }
    }
}

fn stopped(stop: Option<&Stop>) -> String {
    match stop {
        Some(Stop::Other(_)) => "it stopped for an unknown reason".to_owned(),
        Some(stop) => format!("it stopped with {stop:?}"),
        None => "it did not say why it stopped".to_owned(),
    }
}

fn ended(stop: Option<&Stop>) -> String {
    stop.map_or_else(String::new, |stop| format!("; {}", stopped(Some(stop))))
}

context::error_codes! {
    /// The error codes of this crate.
    pub CODES:
    BAD_URL = "E0701", "the base URL of a model cannot be used",
        "Give an absolute URL such as https://api.anthropic.com or http://127.0.0.1:8080/v1, without a user name.";
    BAD_HEADER = "E0702", "a header for a model cannot be sent",
        "Give keys and headers as one line of printable ASCII characters.";
    NO_ROOTS = "E0703", "no root certificates are available for https",
        "Install the system's CA certificates, or use a plain http endpoint on this machine.";
    UNREACHABLE = "E0704", "the model's host cannot be reached",
        "Check the URL, DNS and the network; retries did not help.";
    BROKEN = "E0705", "the connection to the model broke",
        "Nothing was lost; the next attempt starts over. If this happens often, look for a proxy that cuts long answers.";
    TIMEOUT = "E0706", "the model took too long",
        "Nothing was lost; a faster summariser or a longer timeout helps.";
    REFUSED = "E0707", "the provider refused a request for a summary",
        "Look at the status and the code: 401 and 403 are the key, 404 the model's name, 400 a rule of the provider.";
    UNAVAILABLE = "E0708", "the provider is overloaded or limits the rate, and retries did not help",
        "Wait for the time that the error names, or use a summariser at another endpoint.";
    FAILED = "E0709", "the provider ended an answer with an error",
        "Nothing was lost; the next attempt starts over.";
    UNREADABLE = "E0710", "the model's answer cannot be read",
        "Check that the endpoint speaks the dialect that is configured for it, and that no proxy answers in its place.";
    TOO_LONG = "E0711", "the model's answer is longer than the limit",
        "Ask for a shorter answer, or use another summariser.";
    NO_SUMMARY = "E0712", "the provider answered without a summary",
        "The next route is tried. If this happens often, choose another route or summariser.";
    NOT_OPEN = "E0713", "a summary route is unavailable for this request",
        "The next route is tried; `--route readable` or `--route extractive` choose it from the start.";
    REJECTED = "E0714", "a summary is not good enough to replace its source",
        "The extractive summary is used instead; another summariser may do better.";
    NO_ROOM = "E0715", "the summariser's window is too small for a summary of the wanted size",
        "Choose a summariser with a larger window.";
    BROKEN_OFF = "E0716", "a summary was interrupted",
        "The process is shutting down, or an internal fault was contained; see the log.";
}

impl Coded for ModelError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::BadUrl { .. } => BAD_URL,
            Self::BadHeader { .. } => BAD_HEADER,
            Self::NoRoots { .. } => NO_ROOTS,
            Self::Unreachable { .. } => UNREACHABLE,
            Self::Broken { .. } => BROKEN,
            Self::Timeout { .. } => TIMEOUT,
            Self::Refused(_) => REFUSED,
            Self::Unavailable(_) => UNAVAILABLE,
            Self::Failed(_) => FAILED,
            Self::Unreadable(_) | Self::NoStream => UNREADABLE,
            Self::TooLong { .. } => TOO_LONG,
            Self::NoSummary { .. } | Self::NoHeadings { .. } => NO_SUMMARY,
            Self::NotOpen { .. } => NOT_OPEN,
            Self::Rejected(_) => REJECTED,
            Self::NoRoom { .. } => NO_ROOM,
            Self::BrokenOff => BROKEN_OFF,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}
