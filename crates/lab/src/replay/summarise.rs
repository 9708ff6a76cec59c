//! Sources of the texts of summaries.

use context::extract::{self, Room};
use context::{Text, TokenCounter, Turn};

/// Writes the summaries of a replay.
pub trait Summarise: Sync {
    /// A summary of `old` in this room, as far as possible. `tail` are the turns behind it that stay
    /// verbatim.
    fn summarise(
        &self,
        old: &[Turn],
        tail: &[Turn],
        room: Room,
        counter: &dyn TokenCounter,
    ) -> Text;

    /// The text of a provider's own summary.
    fn native(&self, old: &[Turn], tail: &[Turn], room: Room, counter: &dyn TokenCounter) -> Text {
        self.summarise(old, tail, room, counter)
    }
}

/// Extractive compaction: the template filled from the turns themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

impl Summarise for Extractive {
    fn summarise(
        &self,
        old: &[Turn],
        tail: &[Turn],
        room: Room,
        counter: &dyn TokenCounter,
    ) -> Text {
        Text::from(extract::extract_in(old, tail, room, counter).render())
    }
}
