//! Scores a summary by minimum description length, and rejects poor ones.
//!
//! A description is good when it is short *and* the original can be had from it. So
//! `quality = ratio × (1 − error)`, where
//!
//! - `ratio = L(artifact) / (L(spec) + L(model))` in tokens, at most [`Quality::MAX_RATIO`]. `L(model)`
//!   is the fixed [`Quality::MODEL_COST`]: a reader has to be told what it reads, and without that
//!   charge a one-character description would win against every honest one.
//! - `error` is 0 where nothing is lost and 1 where all is, see [`reconstruction_error`] and
//!   [`summary_error`].
//!
//! Empty and degenerate descriptions (one word, repeated junk) score 0, whatever their error.

mod error;
mod gate;
mod score;

pub(crate) use error::is_unspaced;
pub use error::{reconstruction_error, summary_error};
pub use gate::{Gate, GateError, Rejection, Verdict};
pub use score::{Quality, is_degenerate};

/// The error codes of this module.
pub const CODES: &[crate::coded::CodeEntry] = &GateError::ENTRIES;
