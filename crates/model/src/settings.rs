//! Timeouts, retries and size limits of model calls.

use std::time::Duration;

use wire::api::LONGEST_STREAM;

/// Timeouts, retries and size limits of model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The longest waits.
    pub timeouts: Timeouts,
    /// Repeated requests.
    pub retries: Retries,
    /// The longest answer that is put together, in bytes, whole or as a stream, and the longest event of a
    /// stream.
    pub longest_answer: usize,
}

/// The longest waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the first byte of an answer; for a stream, for its first event.
    pub first_byte: Duration,
    /// Between two pieces of an answer. Pings of a stream count as pieces.
    pub silence: Duration,
    /// For all of it, repetitions and the pauses between them included.
    pub whole: Duration,
}

/// Repeated requests.
///
/// Repeated are requests that were answered with 408, 409, 429, 500, 502, 503, 504 or 529, that were
/// never connected, or whose connection broke or was silent for too long before the answer began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// The most repetitions of one request.
    pub most: u32,
    /// The pause before the first repetition; it doubles each time.
    pub first: Duration,
    /// The longest pause of our own.
    pub longest: Duration,
    /// The longest pause that a provider may ask for (`retry-after`, `retry-after-ms`). If it asks
    /// for more, the request fails.
    pub longest_asked: Duration,
}

impl Default for Settings {
    /// [`LONGEST_STREAM`], and the defaults of the others.
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            longest_answer: LONGEST_STREAM,
        }
    }
}

impl Default for Timeouts {
    /// 10 seconds, 3 minutes (providers need about one to read a million tokens), 3 minutes, 10 minutes
    /// (five times as long as the longest compactions that are known).
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_mins(3),
            silence: Duration::from_mins(3),
            whole: Duration::from_mins(10),
        }
    }
}

impl Default for Retries {
    /// Four times, after half a second, 8 seconds at most: the SDKs' pauses, tried more often, since a
    /// summary is made in the background. A provider may ask for a minute.
    fn default() -> Self {
        Self {
            most: 4,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(8),
            longest_asked: Duration::from_mins(1),
        }
    }
}
