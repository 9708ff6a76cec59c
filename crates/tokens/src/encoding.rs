//! Exact counts for OpenAI's byte-pair encodings.

use context::Tokens;
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
    ///
    /// A run of more than 4,096 bytes without a change between white space and anything else is counted
    /// in pieces of that size, which can be off by a token at each border: merging one endless word
    /// takes so long that a hostile request could keep a server busy with it.
    #[must_use]
    pub fn count(self, text: &str) -> Tokens {
        let vocabulary = self.vocabulary();
        let counts = pieces(text).map(|piece| vocabulary.count(piece) as u64);
        Tokens::new(counts.sum())
    }

    fn vocabulary(self) -> &'static CoreBpe {
        #[expect(
            clippy::expect_used,
            reason = "both vocabularies are compiled in; a test counts with each"
        )]
        tiktoken::get_encoding(self.as_str()).expect("the vocabulary is compiled in")
    }
}

/// The longest run that is merged in one go, in bytes.
const LONGEST_RUN: usize = 4096;

/// The text in pieces, each without a longer run; one piece where there is none.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at_checked(border(rest)).unwrap_or((rest, ""));
        rest = after;
        Some(piece)
    })
}

/// The place to cut the first run that is too long, or the end.
fn border(text: &str) -> usize {
    if text.len() <= LONGEST_RUN {
        return text.len();
    }
    let (mut began, mut is_space) = (0, None);
    for (at, byte) in text.bytes().enumerate() {
        let space = Some(byte.is_ascii_whitespace());
        if space != is_space {
            (began, is_space) = (at, space);
        } else if at - began >= LONGEST_RUN && text.is_char_boundary(at) {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::Encoding;
    use context::Tokens;
    use proptest::prelude::*;

    #[test]
    fn an_endless_word_is_counted_in_time_linear_in_it() {
        for word in ["a", " ", "\n", "é", "字"] {
            let text = word.repeat(2_000_000);
            let part = word.repeat(20_000);
            let whole = Encoding::O200k.count(&text).get();
            let hundredth = Encoding::O200k.count(&part).get();
            assert!(whole.abs_diff(100 * hundredth) <= whole / 20, "{word:?}");
        }
    }

    #[test]
    fn pieces_are_the_text_and_no_run_is_cut_that_need_not_be() {
        let words = "word ".repeat(4000);
        assert_eq!(super::pieces(&words).count(), 1);
        let text = format!("{words}{}{words}", "é".repeat(6000));
        let pieces: Vec<&str> = super::pieces(&text).collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces.concat(), text);
    }

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
