//! Replays recorded sessions under memory strategies, in virtual time, and compares them.
//!
//! [`replay::run`] takes a [`Session`](wire::session::Session) and [`Options`] and gives a
//! [`Comparison`].

pub mod behaviour;
pub mod cache;
pub mod compare;
pub mod equal_size;
pub mod latency;
pub mod options;
pub mod recall;
pub mod receipt;
pub mod regret;
pub mod replay;
pub mod report;
pub mod scoreboard;
pub mod strategies;
pub mod survival;
pub mod total;

pub use compare::Comparison;
pub use context::figures;
pub use options::{CODES, Options, Progress, RecallMeasure, ReplayError};
