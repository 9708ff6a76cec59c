//! The exactness of a count, and the factors behind estimates.

use crate::content::ContentKind;
use crate::tokenizer::Tokenizer;

/// The exactness of a count: the model's own, or an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exactness {
    /// Counted with the model's own vocabulary.
    Exact,
    /// Estimated from another vocabulary. Shown with a tilde.
    Estimated,
}

/// The bounds of a factor learned from reported usage. A report outside of them counted something
/// other than the message text.
pub const FACTOR_BOUNDS: (f64, f64) = (0.6, 1.8);

/// Tokens of a model ÷ tokens of `o200k_base`, for one kind of text.
///
/// The factors are medians over passages of 0.7 to 3 kB (agent sessions, program text, JSON arguments,
/// manual pages in 18 languages), against a published reconstruction of Claude's counts (`ctok` 1.3.0).
/// Open models' vocabularies of 100k to 250k entries lie within a few percent of `o200k_base` on
/// English and code.
pub(crate) const fn factor(tokenizer: Tokenizer, kind: ContentKind) -> f64 {
    let (claude_3, claude_47) = match kind {
        ContentKind::Prose => (1.13, 1.52),
        ContentKind::Code => (1.20, 1.57),
        ContentKind::Json => (1.28, 1.69),
        ContentKind::Accented => (1.25, 1.65),
        ContentKind::Cyrillic => (1.38, 1.46),
        ContentKind::EastAsian => (1.28, 1.34),
        ContentKind::Korean => (1.72, 1.76),
        ContentKind::OtherScript => (2.00, 2.06),
    };
    match tokenizer {
        Tokenizer::O200k | Tokenizer::Cl100k => 1.0,
        Tokenizer::Claude3 => claude_3,
        Tokenizer::Claude47 => claude_47,
        Tokenizer::Unknown => 1.1,
    }
}
