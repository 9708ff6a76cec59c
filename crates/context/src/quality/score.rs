//! The score itself.

use std::collections::BTreeSet;

use crate::units::Tokens;

use super::error::words;

/// The quality of a compaction. Every field is finite and in range by construction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    ratio: f64,
    error: f64,
}

impl Quality {
    /// The charge for every description besides its own length, in tokens: about the length of
    /// the sentence that tells a reader what the description is.
    pub const MODEL_COST: u64 = 16;
    /// The highest ratio that counts. Shorter than this is not better, only emptier.
    pub const MAX_RATIO: f64 = 100.0;

    /// The quality of a description of `spec` tokens for an artifact of `artifact` tokens, from which
    /// the artifact can be had up to `error`. An error outside `0..=1` is clamped; NaN counts as 1. An
    /// empty description has ratio 0.
    #[must_use]
    pub fn new(spec: Tokens, artifact: Tokens, error: f64) -> Self {
        let ratio = if spec == Tokens::ZERO {
            0.0
        } else {
            let length = spec + Tokens::new(Self::MODEL_COST);
            artifact.share_of(length).min(Self::MAX_RATIO)
        };
        let error = if error.is_nan() {
            1.0
        } else {
            error.clamp(0.0, 1.0)
        };
        Self { ratio, error }
    }

    /// The quality of a text that stands for nothing: ratio 0, error 1.
    pub(super) const fn nothing() -> Self {
        Self {
            ratio: 0.0,
            error: 1.0,
        }
    }

    /// Tokens of the artifact ÷ (tokens of the description + model cost), `0..=`[`Self::MAX_RATIO`].
    #[must_use]
    pub const fn ratio(&self) -> f64 {
        self.ratio
    }

    /// The share that is lost, `0..=1`.
    #[must_use]
    pub const fn error(&self) -> f64 {
        self.error
    }

    /// `ratio × (1 − error)`, `0..=`[`Self::MAX_RATIO`].
    #[must_use]
    pub fn score(&self) -> f64 {
        self.ratio * (1.0 - self.error)
    }

    /// Something is described, and more of it kept than lost.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.score() > 0.0 && self.error < 0.5
    }

    /// Shorter than the original, with less than a tenth lost.
    #[must_use]
    pub fn is_high(&self) -> bool {
        self.score() > 1.0 && self.error < 0.1
    }
}

/// Returns true if a description says nothing: fewer than two different words, or a dozen words and more of
/// which less than a tenth are different.
#[must_use]
pub fn is_degenerate(spec: &str) -> bool {
    let mut total = 0_usize;
    let mut different = BTreeSet::new();
    for word in words(spec) {
        total += 1;
        // A long text repeats its words; 200 different ones are no junk whatever their share.
        if different.len() < 200 {
            different.insert(word);
        }
    }
    different.len() < 2 || (total >= 12 && different.len() < 200 && different.len() * 10 < total)
}
