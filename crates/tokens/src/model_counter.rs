//! The front door: a counter for a model by its name.

use std::sync::Arc;

use context::{TokenCounter, Tokens};

use crate::cached::CachedCounter;
use crate::estimate::{Estimate, Exactness, estimate};
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

    /// The tokenizer it counts for.
    #[must_use]
    pub const fn tokenizer(self) -> Tokenizer {
        self.0
    }

    /// Returns true if its counts are the model's own.
    #[must_use]
    pub const fn exactness(self) -> Exactness {
        match self.0 {
            Tokenizer::O200k | Tokenizer::Cl100k => Exactness::Exact,
            Tokenizer::Claude3 | Tokenizer::Claude47 | Tokenizer::Unknown => Exactness::Estimated,
        }
    }

    /// The count of `text` with its doubt.
    #[must_use]
    pub fn estimate(self, text: &str) -> Estimate {
        estimate(self.0, text)
    }
}

impl TokenCounter for ModelCounter {
    fn count(&self, text: &str) -> Tokens {
        self.estimate(text).tokens
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
    use super::counter_for;

    #[test]
    fn a_claude_counts_more_than_a_gpt_and_a_newer_claude_more_than_an_older() {
        let text = "The tool returned an error; we retry with the other path.";
        let count = |model: &str| counter_for(model).count(text).get();
        assert!(count("gpt-5") < count("claude-opus-4-5"));
        assert!(count("claude-opus-4-5") < count("claude-opus-5-5"));
    }
}
