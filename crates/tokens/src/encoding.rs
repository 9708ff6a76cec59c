//! Exact counts for OpenAI's byte-pair encodings.

use std::fmt;

use context::{TokenCounter, Tokens};
use tiktoken::CoreBpe;

/// A vocabulary that is public, so that counts are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// `o200k_base`: GPT-4o, GPT-4.1, GPT-5 and later, o1 and later.
    O200k,
    /// `cl100k_base`: GPT-4, GPT-4 Turbo, GPT-3.5.
    Cl100k,
}

impl Encoding {
    /// The encoding's published name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    /// The tokens of `text`. The text of special tokens (`<|endoftext|>`) counts as ordinary text,
    /// as it does when it stands in a message.
    ///
    /// The first call for an encoding unpacks its vocabulary, which takes some tens of milliseconds;
    /// nothing is unpacked before.
    #[must_use]
    pub fn count(self, text: &str) -> Tokens {
        Tokens::new(self.vocabulary().count(text) as u64)
    }

    fn vocabulary(self) -> &'static CoreBpe {
        #[expect(
            clippy::expect_used,
            reason = "both vocabularies are compiled in; a test counts with each"
        )]
        tiktoken::get_encoding(self.as_str()).expect("the vocabulary is compiled in")
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Counts with a public vocabulary: exact for the text of a message. The frame that a provider puts
/// around a message is the trait's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactCounter(Encoding);

impl ExactCounter {
    /// A counter for one encoding.
    #[must_use]
    pub const fn new(encoding: Encoding) -> Self {
        Self(encoding)
    }
}

impl TokenCounter for ExactCounter {
    fn count(&self, text: &str) -> Tokens {
        self.0.count(text)
    }
}

#[cfg(test)]
mod tests {
    use super::Encoding;
    use context::Tokens;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, o200k: u64, cl100k: u64) {
        assert_eq!(Encoding::O200k.count(text), Tokens::new(o200k), "o200k");
        assert_eq!(Encoding::Cl100k.count(text), Tokens::new(cl100k), "cl100k");
    }

    #[test]
    fn known_counts() {
        check("", 0, 0);
        check("hello world", 2, 2);
        check("tiktoken is great!", 6, 6);
        check("お誕生日おめでとう", 8, 9);
    }

    #[test]
    fn special_tokens_are_ordinary_text() {
        for text in ["<|endoftext|>", "<|im_start|>system", "<|endofprompt|>"] {
            assert!(Encoding::O200k.count(text) > Tokens::new(2), "{text}");
            assert!(Encoding::Cl100k.count(text) > Tokens::new(2), "{text}");
        }
    }

    #[test]
    fn a_long_run_of_one_letter_is_not_quadratic() {
        let run = "a".repeat(400_000);
        assert_eq!(Encoding::O200k.count(&run), Tokens::new(50_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn agrees_with_an_independent_implementation(text in "(\\PC|[ \\t\\r\\n]|[a-zA-Z']{1,8}|[0-9]){0,60}") {
            prop_assert_eq!(
                Encoding::O200k.count(&text).get(),
                bpe_openai::o200k_base().count(&text) as u64
            );
            prop_assert_eq!(
                Encoding::Cl100k.count(&text).get(),
                bpe_openai::cl100k_base().count(&text) as u64
            );
        }
    }
}
