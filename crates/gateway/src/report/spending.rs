//! The report of what was spent.

use serde::Serialize;

/// The spending of one day with one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DayReport {
    /// The day in UTC, `2026-01-02`.
    pub day: String,
    /// The model of the conversations.
    pub model: String,
    /// Answered requests.
    pub requests: u64,
    /// The cost in USD, summaries included.
    pub cost: f64,
    /// The estimated cost in USD with a client that summarizes at the hard threshold itself.
    pub cost_without: f64,
}
