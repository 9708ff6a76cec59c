//! The cost by day and model.

use context::Text;
use jiff::civil::Date;

use crate::error::HistoryError;

/// The cost of one day and model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The day in UTC.
    pub day: Date,
    /// The model's name.
    pub model: Text,
    /// Answered requests.
    pub requests: u64,
    /// The cost in millionths of a dollar.
    pub micros: u64,
    /// The estimated cost without us, in millionths of a dollar.
    pub micros_without: u64,
}

impl Spent {
    /// Adds another row's numbers.
    pub const fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.micros = self.micros.saturating_add(other.micros);
        self.micros_without = self.micros_without.saturating_add(other.micros_without);
    }
}

/// The most rows of a tenant's account: a year of three models.
pub const MOST_SPENT: usize = 1_095;

/// The most models of a tenant and a day that have a row of their own.
pub const MOST_MODELS: usize = 64;

/// The name under which further models of a day share a row.
pub const OTHER_MODELS: &str = "other models";

/// The account of one tenant. It belongs to no conversation and counts toward no limit.
pub trait AccountStore {
    /// Adds to what was spent on this day with this model; with more than [`MOST_MODELS`], to [`OTHER_MODELS`]. With more than [`MOST_SPENT`] rows, the first by
    /// day and model leaves.
    fn spend(&mut self, spent: &Spent) -> Result<(), HistoryError>;

    /// Returns all rows, by day and model.
    fn spent(&self) -> Result<Vec<Spent>, HistoryError>;
}
