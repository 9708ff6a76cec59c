//! The counter of tokens that callers pass in, and a heuristic one.

use crate::turn::Part;
use crate::units::Tokens;

/// Counts tokens for one model. The exact counters live in the `tokens` crate.
pub trait TokenCounter: Send + Sync {
    /// The tokens of a text on its own.
    fn count(&self, text: &str) -> Tokens;

    /// The tokens of one turn with these parts, the provider's frame around it included.
    fn count_parts(&self, parts: &[Part]) -> Tokens {
        let frame = Tokens::new(4);
        parts
            .iter()
            .map(|part| self.count_part(part))
            .fold(frame, |sum, tokens| sum + tokens)
    }

    /// The tokens of one part.
    fn count_part(&self, part: &Part) -> Tokens {
        match part {
            // Providers bill an image by its pixels, which the wire does not show; 1,600 is what a
            // full-size image costs on Claude. They bill documents by the page, at some 2,000 tokens, and a
            // page takes some 100 kB in base64; a hundred pages are the most that is guessed.
            Part::Attachment(attachment) if attachment.kind.starts_with("image") => {
                Tokens::new(1_600)
            }
            Part::Attachment(attachment) => {
                Tokens::new((attachment.bytes as u64 / 50).clamp(100, 200_000))
            }
            // Mostly encrypted, and dropped or kept by the provider as it likes.
            Part::Opaque(opaque) => Tokens::new((opaque.bytes as u64 / 8).min(2_000)),
            readable => readable.readable().map(|text| self.count(text)).sum(),
        }
    }
}

/// A rough counter without a vocabulary: 4 ASCII characters a token, 1 token for any other
/// character. Used where no model is known, and in tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heuristic;

impl TokenCounter for Heuristic {
    fn count(&self, text: &str) -> Tokens {
        let ascii = text.bytes().filter(u8::is_ascii).count();
        let other = text
            .chars()
            .filter(|character| !character.is_ascii())
            .count();
        Tokens::new((ascii.div_ceil(4) + other) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Heuristic, TokenCounter};
    use crate::units::Tokens;

    #[test]
    fn scripts_without_spaces_are_not_undercounted() {
        assert_eq!(Heuristic.count(&"漢".repeat(100)), Tokens::new(100));
        assert_eq!(Heuristic.count(&"a".repeat(100)), Tokens::new(25));
    }
}
