//! Requests and answers, without a socket.

use std::time::Duration;

use http::{HeaderMap, Method};
use jiff::Timestamp;
use wire::api::Event;

/// A request, as a server received it.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path, the query included.
    pub path: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: &'a [u8],
    /// The time of arrival.
    pub now: Timestamp,
}

impl Incoming<'_> {
    /// The path without the query.
    #[must_use]
    pub fn route(&self) -> &str {
        self.path
            .split_once('?')
            .map_or(self.path, |(path, _)| path)
    }

    /// The text of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// An answer. Times are counted from the moment the request came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Headers besides the content type.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Body,
}

/// The body of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// One JSON text.
    Whole {
        /// The text; empty for no body.
        text: String,
        /// The time of sending.
        after: Duration,
    },
    /// An event stream.
    Stream {
        /// The events in order.
        events: Vec<Timed>,
        /// The end of the stream.
        end: End,
    },
    /// The connection is closed without an answer.
    Reset,
    /// Nothing is ever sent.
    Never,
}

/// An event and when it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The time of sending.
    pub after: Duration,
    /// The event.
    pub event: Event,
}

/// The end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// In order, after the last event.
    Closed,
    /// The connection breaks.
    Cut,
}

impl Answer {
    /// A JSON text, at once.
    #[must_use]
    pub fn json(status: u16, text: String) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::Whole {
                text,
                after: Duration::ZERO,
            },
        }
    }

    /// An answer with this body and status 200.
    #[must_use]
    pub const fn ok(body: Body) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body,
        }
    }

    /// The body's text; for a stream its encoding as a whole.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.body {
            Body::Whole { text, .. } => text.clone(),
            Body::Stream { events, .. } => events
                .iter()
                .map(|timed| timed.event.encode())
                .collect::<String>(),
            Body::Reset | Body::Never => String::new(),
        }
    }
}
