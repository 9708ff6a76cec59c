//! What can go wrong with a call of a model.

use std::fmt;
use std::time::Duration;

use context::Tokens;
use context::coded::{self, CodeEntry, Coded, ErrorCode};
use context::quality::Rejection;
use wire::api::{ApiError, Failure, Stop};

/// Why a model's answer, or a summary, could not be had. It shows no text of the conversation and no
/// credentials.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A base URL cannot be used.
    #[error("the base URL cannot be used: {why}")]
    BadUrl {
        /// Why.
        why: &'static str,
    },
    /// A header cannot be sent.
    #[error("the header `{name}` cannot be sent")]
    BadHeader {
        /// Its name.
        name: String,
    },
    /// The system has no usable root certificates.
    #[error("https cannot be spoken: {why}")]
    NoRoots {
        /// What the system says.
        why: String,
    },
    /// There was no connection.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// The host and port.
        host: String,
        /// What the system says.
        why: String,
    },
    /// The connection broke.
    #[error("the connection broke {when}")]
    Broken {
        /// How far the answer had come.
        when: Begun,
    },
    /// It took too long.
    #[error("waited {waited:?} for {what}")]
    Timeout {
        /// What was waited for.
        what: Wait,
        /// How long.
        waited: Duration,
        /// How far the answer had come.
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
    /// The answer is of another form than was asked for.
    #[error("the answer is no event stream")]
    NoStream,
    /// The answer is longer than the limit.
    #[error("the answer has more than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// The provider answered, but without a summary.
    #[error("the provider made no summary: {}", stopped(.stop.as_ref()))]
    NoSummary {
        /// Why it stopped.
        stop: Option<Stop>,
    },
    /// This route is not open for this request.
    #[error("the {route} route is not open: {why}")]
    NotOpen {
        /// The route.
        route: history::Route,
        /// Why.
        why: &'static str,
    },
    /// The summary is not good enough.
    #[error("the summary is not used: {0}")]
    Rejected(Rejection),
    /// The model's window leaves no room.
    #[error("a window of {window} tokens leaves no room to write a summary of {budget}")]
    NoRoom {
        /// The window.
        window: Tokens,
        /// The summary's budget.
        budget: Tokens,
    },
    /// A computation of ours ended early.
    #[error("making the summary was broken off")]
    BrokenOff,
}

/// What was waited for.
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

/// How far an answer had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It had not begun.
    No,
    /// A part of it had come.
    Yes,
}

impl fmt::Display for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "before the answer began",
            Self::Yes => "in mid-answer",
        })
    }
}

/// A refusal. The provider's message can quote the request, so `Debug` and `Display` leave it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status.
    pub status: u16,
    /// What the body says, where it can be read.
    pub failure: Option<Failure>,
    /// After how long the provider wants to be asked again.
    pub retry_after: Option<Duration>,
    /// Whether the provider says that asking again helps, or does not (`x-should-retry`).
    pub should_retry: Option<bool>,
}

impl Refused {
    /// The code of the provider's error, such as `compaction_unavailable`.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.failure.as_ref()?.code.as_deref()
    }

    /// Whether the request did not fit the model's window.
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

/// The error codes of this crate.
pub const CODES: &[CodeEntry] = &[
    CodeEntry {
        code: ErrorCode::new("E0701"),
        meaning: "the base URL of a model cannot be used",
        remedy: "Give an absolute URL such as https://api.anthropic.com or http://127.0.0.1:8080/v1, without a user name.",
    },
    CodeEntry {
        code: ErrorCode::new("E0702"),
        meaning: "a header for a model cannot be sent",
        remedy: "Give keys and headers as one line of printable ASCII characters.",
    },
    CodeEntry {
        code: ErrorCode::new("E0703"),
        meaning: "there are no root certificates to speak https with",
        remedy: "Install the system's package of CA certificates, or use a plain http endpoint on this machine.",
    },
    CodeEntry {
        code: ErrorCode::new("E0704"),
        meaning: "the model's host cannot be reached",
        remedy: "Check the URL, the name resolution and the network; the request was repeated without success.",
    },
    CodeEntry {
        code: ErrorCode::new("E0705"),
        meaning: "the connection to the model broke",
        remedy: "Nothing was lost; the next attempt starts anew. If it happens often, look for a proxy that cuts long answers.",
    },
    CodeEntry {
        code: ErrorCode::new("E0706"),
        meaning: "the model took too long",
        remedy: "Nothing was lost; a faster summariser or a longer timeout helps.",
    },
    CodeEntry {
        code: ErrorCode::new("E0707"),
        meaning: "the provider refused a request for a summary",
        remedy: "Look at the status and the code: 401 and 403 are the key, 404 the model's name, 400 a rule of the provider.",
    },
    CodeEntry {
        code: ErrorCode::new("E0708"),
        meaning: "the provider is overloaded or limits the rate, and repetitions did not help",
        remedy: "Wait for the time that is named; a summariser at another endpoint is not held up.",
    },
    CodeEntry {
        code: ErrorCode::new("E0709"),
        meaning: "the provider ended an answer with an error",
        remedy: "Nothing was lost; the next attempt starts anew.",
    },
    CodeEntry {
        code: ErrorCode::new("E0710"),
        meaning: "the model's answer cannot be read",
        remedy: "Check that the endpoint speaks the dialect that is configured for it, and that no proxy answers in its place.",
    },
    CodeEntry {
        code: ErrorCode::new("E0711"),
        meaning: "the model's answer is longer than the limit",
        remedy: "Ask for a shorter answer, or use another summariser.",
    },
    CodeEntry {
        code: ErrorCode::new("E0712"),
        meaning: "the provider answered without a summary",
        remedy: "The next route is tried; if it happens often, choose another route or summariser.",
    },
    CodeEntry {
        code: ErrorCode::new("E0713"),
        meaning: "a route to a summary is not open for this request",
        remedy: "The next route is tried; `--route readable` or `--route extractive` choose it from the start.",
    },
    CodeEntry {
        code: ErrorCode::new("E0714"),
        meaning: "a summary is not good enough to stand for what it replaces",
        remedy: "The extractive summary is used instead; another summariser may do better.",
    },
    CodeEntry {
        code: ErrorCode::new("E0715"),
        meaning: "the summariser's window is too small for a summary of the wanted size",
        remedy: "Choose a summariser with a larger window.",
    },
    CodeEntry {
        code: ErrorCode::new("E0716"),
        meaning: "making a summary was broken off",
        remedy: "The process is stopping, or a fault of ours was contained; the log has more.",
    },
];

impl Coded for ModelError {
    fn code(&self) -> ErrorCode {
        ErrorCode::new(match self {
            Self::BadUrl { .. } => "E0701",
            Self::BadHeader { .. } => "E0702",
            Self::NoRoots { .. } => "E0703",
            Self::Unreachable { .. } => "E0704",
            Self::Broken { .. } => "E0705",
            Self::Timeout { .. } => "E0706",
            Self::Refused(_) => "E0707",
            Self::Unavailable(_) => "E0708",
            Self::Failed(_) => "E0709",
            Self::Unreadable(_) | Self::NoStream => "E0710",
            Self::TooLong { .. } => "E0711",
            Self::NoSummary { .. } => "E0712",
            Self::NotOpen { .. } => "E0713",
            Self::Rejected(_) => "E0714",
            Self::NoRoom { .. } => "E0715",
            Self::BrokenOff => "E0716",
        })
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}
