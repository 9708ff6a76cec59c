//! The front door: a counter for a model by its name.

use std::sync::Arc;

use context::{TokenCounter, Tokens};

use crate::cached::CachedCounter;
use crate::content::ContentKind;
use crate::encoding::Encoding;
use crate::estimate::{Exactness, factor};
use crate::table::ModelTable;
use crate::tokenizer::Tokenizer;

/// Counts tokens as one tokenizer makes them, exactly or by estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelCounter(Tokenizer);

impl ModelCounter {
    /// A counter for one tokenizer.
    #[must_use]
    pub const fn new(tokenizer: Tokenizer) -> Self {
        Self(tokenizer)
    }

    /// Says if its counts are the model's own.
    #[must_use]
    pub const fn exactness(self) -> Exactness {
        match self.0 {
            Tokenizer::O200k | Tokenizer::Cl100k => Exactness::Exact,
            Tokenizer::Claude3 | Tokenizer::Claude47 | Tokenizer::Unknown => Exactness::Estimated,
        }
    }
}

impl TokenCounter for ModelCounter {
    fn count(&self, text: &str) -> Tokens {
        match self.0 {
            Tokenizer::O200k => Encoding::O200k.count(text),
            Tokenizer::Cl100k => Encoding::Cl100k.count(text),
            estimated => {
                let factor = factor(estimated, ContentKind::of(text));
                Encoding::O200k.count(text).scaled(factor)
            }
        }
    }
}

/// A counter for the model with this name, by the shipped table; a name that the table does not know
/// is judged by [`Tokenizer::guess`]. It remembers what it counted ([`CachedCounter`]).
#[must_use]
pub fn counter_for(model: &str) -> Arc<dyn TokenCounter> {
    let tokenizer = match ModelTable::shipped().find(model).tokenizer {
        Tokenizer::Unknown => Tokenizer::guess(model),
        known => known,
    };
    Arc::new(CachedCounter::new(ModelCounter::new(tokenizer)))
}

#[cfg(test)]
mod tests {
    use super::{ModelCounter, counter_for};
    use crate::encoding::Encoding;
    use crate::estimate::Exactness;
    use crate::tokenizer::Tokenizer;
    use context::TokenCounter as _;
    use proptest::prelude::*;

    #[test]
    fn only_public_vocabularies_are_exact() {
        for tokenizer in Tokenizer::ALL {
            let public = matches!(tokenizer, Tokenizer::O200k | Tokenizer::Cl100k);
            let exact = ModelCounter::new(tokenizer).exactness() == Exactness::Exact;
            assert_eq!(exact, public, "{tokenizer}");
        }
    }

    proptest! {
        #[test]
        fn an_estimate_is_never_below_its_vocabulary(text in "\\PC{0,300}") {
            let base = Encoding::O200k.count(&text);
            for tokenizer in [Tokenizer::Claude3, Tokenizer::Claude47, Tokenizer::Unknown] {
                let tokens = ModelCounter::new(tokenizer).count(&text);
                prop_assert!(tokens >= base);
                prop_assert_eq!(tokens.get() == 0, text.is_empty());
            }
        }
    }

    #[test]
    fn a_claude_counts_more_than_a_gpt_and_a_newer_claude_more_than_an_older() {
        let text = "The tool returned an error; we retry with the other path.";
        let count = |model: &str| counter_for(model).count(text).get();
        assert!(count("gpt-5") < count("claude-opus-4-5"));
        assert!(count("claude-opus-4-5") < count("claude-opus-5-5"));
    }
}
