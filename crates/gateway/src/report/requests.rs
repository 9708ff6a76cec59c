//! The report of a conversation's newest requests.

use serde::Serialize;

/// One request and what became of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RequestReport {
    /// The time it came, RFC 3339.
    pub at: String,
    /// Tokens of the view, where they were counted.
    pub tokens: Option<u64>,
    /// The changes to the request, in the words of the header `x-ebbtide-did`.
    pub did: Vec<&'static str>,
    /// The status of the answer; 499 if the client left before it.
    pub status: u16,
    /// Seconds until the first byte of the answer; `None` if none came.
    pub began: Option<f64>,
    /// Seconds until its end.
    pub ended: f64,
    /// The error in one sentence; empty if there was none.
    pub error: String,
}
