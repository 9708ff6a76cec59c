//! The gate that every summary has to pass.

use std::fmt;

use thiserror::Error;

use crate::coded::{CodeEntry, Coded, ErrorCode};
use crate::counter::TokenCounter;

use super::error::summary_error;
use super::score::{Quality, is_degenerate};

/// Why a gate cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum GateError {
    /// The least quality is negative, infinite or NaN.
    #[error("minimum quality must be zero or more, not {0}")]
    MinQuality(f64),
    /// The largest error is outside `0..=1` or NaN.
    #[error("maximum reconstruction error must be between 0 and 1, not {0}")]
    MaxError(f64),
}

impl GateError {
    pub(crate) const ENTRIES: [CodeEntry; 2] = [
        CodeEntry {
            code: ErrorCode::new("E0450"),
            meaning: "the minimum quality of a summary gate is out of range",
            remedy: "Give a finite number of zero or more; the default is 0.5.",
        },
        CodeEntry {
            code: ErrorCode::new("E0451"),
            meaning: "the maximum reconstruction error of a summary gate is out of range",
            remedy: "Give a number between 0 and 1; the default is 0.5.",
        },
    ];

    const fn entry(self) -> CodeEntry {
        let [quality, error] = Self::ENTRIES;
        match self {
            Self::MinQuality(_) => quality,
            Self::MaxError(_) => error,
        }
    }
}

impl Coded for GateError {
    fn code(&self) -> ErrorCode {
        self.entry().code
    }

    fn hint(&self) -> Option<String> {
        Some(self.entry().remedy.to_owned())
    }
}

/// Why a summary was turned away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rejection {
    /// The summary is empty, a single word, or repeated junk.
    Degenerate,
    /// The summary is not shorter than its source.
    Grew,
    /// Too much is lost.
    TooLossy {
        /// The error it has.
        error: f64,
        /// The error that is allowed.
        most: f64,
    },
    /// The summary is not worth its length.
    TooWeak {
        /// The score it has.
        score: f64,
        /// The score that is asked for.
        least: f64,
    },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Degenerate => f.write_str("the summary is empty or says nothing"),
            Self::Grew => f.write_str("the summary is not shorter than what it stands for"),
            Self::TooLossy { error, most } => {
                write!(
                    f,
                    "reconstruction error {error:.2} is too high (at most {most:.2})"
                )
            }
            Self::TooWeak { score, least } => {
                write!(f, "quality {score:.2} is too low (at least {least:.2})")
            }
        }
    }
}

/// The verdict of the gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The summary may be used.
    Accepted(Quality),
    /// The summary is rejected.
    Rejected {
        /// The score of the summary.
        quality: Quality,
        /// Why it was turned away.
        reason: Rejection,
    },
}

impl Verdict {
    /// The score of the summary.
    #[must_use]
    pub const fn quality(&self) -> Quality {
        match self {
            Self::Accepted(quality) | Self::Rejected { quality, .. } => *quality,
        }
    }

    /// Why it was turned away, or `None` where it was not.
    #[must_use]
    pub const fn rejection(&self) -> Option<Rejection> {
        match self {
            Self::Accepted(_) => None,
            Self::Rejected { reason, .. } => Some(*reason),
        }
    }
}

/// Lets a summary pass or says why not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    min_quality: f64,
    max_error: f64,
}

impl Gate {
    /// A gate that asks for at least `min_quality` and allows at most `max_error`.
    ///
    /// # Errors
    /// [`GateError`] where one of them is out of range or NaN.
    pub fn new(min_quality: f64, max_error: f64) -> Result<Self, GateError> {
        if !(min_quality.is_finite() && min_quality >= 0.0) {
            return Err(GateError::MinQuality(min_quality));
        }
        if !(0.0..=1.0).contains(&max_error) {
            return Err(GateError::MaxError(max_error));
        }
        Ok(Self {
            min_quality,
            max_error,
        })
    }

    /// Judges a summary of `source`, the readable text of the turns it stands for, by
    /// [`summary_error`].
    #[must_use]
    pub fn judge(&self, source: &str, summary: &str, counter: &dyn TokenCounter) -> Verdict {
        self.judge_with(source, summary, counter, summary_error)
    }

    /// Judges a description by an error measure of the caller's, which gets the source and the
    /// description and returns `0..=1`. The error is looked at before the score.
    pub fn judge_with(
        &self,
        source: &str,
        summary: &str,
        counter: &dyn TokenCounter,
        error: impl FnOnce(&str, &str) -> f64,
    ) -> Verdict {
        let spec = counter.count(summary);
        let artifact = counter.count(source);
        if is_degenerate(summary) {
            return Verdict::Rejected {
                quality: Quality::nothing(),
                reason: Rejection::Degenerate,
            };
        }
        let quality = Quality::new(spec, artifact, error(source, summary));
        if spec >= artifact {
            return Verdict::Rejected {
                quality,
                reason: Rejection::Grew,
            };
        }
        match self.objection(&quality) {
            Some(reason) => Verdict::Rejected { quality, reason },
            None => Verdict::Accepted(quality),
        }
    }

    /// The reason to reject this quality, or `None`. The error is checked first.
    #[must_use]
    pub fn objection(&self, quality: &Quality) -> Option<Rejection> {
        if quality.error() > self.max_error {
            Some(Rejection::TooLossy {
                error: quality.error(),
                most: self.max_error,
            })
        } else if quality.score() < self.min_quality {
            Some(Rejection::TooWeak {
                score: quality.score(),
                least: self.min_quality,
            })
        } else {
            None
        }
    }
}

impl Default for Gate {
    /// At least 0.5, with at most half lost.
    fn default() -> Self {
        Self {
            min_quality: 0.5,
            max_error: 0.5,
        }
    }
}
