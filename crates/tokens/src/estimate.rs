//! The exactness of a count, and the factors behind estimates.

use context::Tokens;

use crate::content::ContentKind;
use crate::encoding::Encoding;
use crate::tokenizer::Tokenizer;

/// The exactness of a count: the model's own, or an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exactness {
    /// Counted with the model's own vocabulary.
    Exact,
    /// Estimated from another vocabulary. Shown with a tilde.
    Estimated,
}

/// A count with its doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The expected count: the middle factor.
    pub tokens: Tokens,
    /// A count that 19 of 20 texts of this kind stay below: the upper factor. Equal to `tokens` for
    /// exact counts.
    pub upper: Tokens,
    /// The exactness of the count.
    pub exactness: Exactness,
}

impl Estimate {
    /// The sum of two counts; it is exact only where both are.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let exactness = match (self.exactness, other.exactness) {
            (Exactness::Exact, Exactness::Exact) => Exactness::Exact,
            _ => Exactness::Estimated,
        };
        Self {
            tokens: self.tokens + other.tokens,
            upper: self.upper + other.upper,
            exactness,
        }
    }
}

/// Tokens of a model ÷ tokens of `o200k_base`, for one kind of text.
///
/// The middle factors are medians and the upper ones 95th percentiles over passages of 0.7 to 3 kB
/// (agent sessions, program text, JSON arguments, manual pages in 18 languages), against a published
/// reconstruction of Claude's counts (`ctok` 1.3.0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// The factor for the expected count.
    pub middle: f64,
    /// The factor to budget with.
    pub upper: f64,
}

impl Factor {
    /// The factor of an exact count.
    pub const ONE: Self = Self::new(1.0, 1.0);

    const fn new(middle: f64, upper: f64) -> Self {
        Self { middle, upper }
    }

    /// The factor for texts of one kind.
    #[must_use]
    pub const fn of(tokenizer: Tokenizer, kind: ContentKind) -> Self {
        match tokenizer {
            Tokenizer::O200k | Tokenizer::Cl100k => Self::ONE,
            Tokenizer::Claude3 => claude_3(kind),
            Tokenizer::Claude47 => claude_47(kind),
            Tokenizer::Unknown => UNKNOWN,
        }
    }
}

/// Open models' vocabularies of 100k to 250k entries lie within a few per cent of `o200k_base` on
/// English and code; the upper factor is Claude 3's rule of thumb.
const UNKNOWN: Factor = Factor::new(1.1, 1.35);

const fn claude_3(kind: ContentKind) -> Factor {
    match kind {
        ContentKind::Prose => Factor::new(1.13, 1.26),
        ContentKind::Code => Factor::new(1.20, 1.40),
        ContentKind::Json => Factor::new(1.28, 1.46),
        ContentKind::Accented => Factor::new(1.25, 1.37),
        ContentKind::Cyrillic => Factor::new(1.38, 1.50),
        ContentKind::EastAsian => Factor::new(1.28, 1.42),
        ContentKind::Korean => Factor::new(1.72, 1.85),
        ContentKind::OtherScript => Factor::new(2.00, 2.45),
    }
}

const fn claude_47(kind: ContentKind) -> Factor {
    match kind {
        ContentKind::Prose => Factor::new(1.52, 1.74),
        ContentKind::Code => Factor::new(1.57, 1.84),
        ContentKind::Json => Factor::new(1.69, 1.92),
        ContentKind::Accented => Factor::new(1.65, 1.80),
        ContentKind::Cyrillic => Factor::new(1.46, 1.60),
        ContentKind::EastAsian => Factor::new(1.34, 1.48),
        ContentKind::Korean => Factor::new(1.76, 1.90),
        ContentKind::OtherScript => Factor::new(2.06, 2.50),
    }
}

/// Counts `text` as `tokenizer` would, as far as it is known.
#[must_use]
pub(crate) fn estimate(tokenizer: Tokenizer, text: &str) -> Estimate {
    let exact = |encoding: Encoding| {
        let tokens = encoding.count(text);
        Estimate {
            tokens,
            upper: tokens,
            exactness: Exactness::Exact,
        }
    };
    match tokenizer {
        Tokenizer::O200k => exact(Encoding::O200k),
        Tokenizer::Cl100k => exact(Encoding::Cl100k),
        Tokenizer::Claude3 | Tokenizer::Claude47 | Tokenizer::Unknown => {
            let base = Encoding::O200k.count(text);
            let factor = Factor::of(tokenizer, ContentKind::of(text));
            Estimate {
                tokens: base.scaled(factor.middle),
                upper: base.scaled(factor.upper),
                exactness: Exactness::Estimated,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exactness, Factor, estimate};
    use crate::content::ContentKind;
    use crate::tokenizer::Tokenizer;
    use proptest::prelude::*;

    #[test]
    fn the_upper_factor_is_never_below_the_middle_one() {
        for tokenizer in Tokenizer::ALL {
            for kind in ContentKind::ALL {
                let factor = Factor::of(tokenizer, kind);
                assert!(
                    factor.middle >= 1.0 && factor.upper >= factor.middle,
                    "{tokenizer} {kind}"
                );
            }
        }
    }

    #[test]
    fn only_public_vocabularies_are_exact() {
        for tokenizer in Tokenizer::ALL {
            let exact = matches!(tokenizer, Tokenizer::O200k | Tokenizer::Cl100k);
            let expected = if exact {
                Exactness::Exact
            } else {
                Exactness::Estimated
            };
            assert_eq!(
                estimate(tokenizer, "hello").exactness,
                expected,
                "{tokenizer}"
            );
        }
    }

    proptest! {
        #[test]
        fn estimates_bracket(text in "\\PC{0,300}") {
            for tokenizer in Tokenizer::ALL {
                let estimate = estimate(tokenizer, &text);
                prop_assert!(estimate.tokens <= estimate.upper);
                prop_assert_eq!(estimate.tokens.get() == 0, text.is_empty());
            }
        }
    }
}
