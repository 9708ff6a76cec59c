//! Sources of the texts of summaries.

use context::{Text, TokenCounter, Tokens, Turn, extract};

/// Writes the summaries of a replay.
pub trait Summarise: Sync {
    /// A summary of `old`, of at most `budget` tokens as far as possible. `tail` are the turns behind
    /// it that stay verbatim.
    fn summarise(
        &self,
        old: &[Turn],
        tail: &[Turn],
        budget: Tokens,
        counter: &dyn TokenCounter,
    ) -> Text;
}

/// Extractive compaction: the template filled from the turns themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

impl Summarise for Extractive {
    fn summarise(
        &self,
        old: &[Turn],
        tail: &[Turn],
        budget: Tokens,
        counter: &dyn TokenCounter,
    ) -> Text {
        Text::from(extract::extract(old, tail, budget, counter).render())
    }
}
