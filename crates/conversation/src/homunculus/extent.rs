//! The current view of a conversation, in numbers.

use context::{Tokens, TurnId};
use history::MarkId;

use crate::homunculus::outline::Path;

/// The current view of a conversation, in numbers: system turns and restated pins, a summary, and
/// the turns behind the mark, the older of them with their tool results cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Turns before this index are not shown, system turns excepted.
    pub from: usize,
    /// Tool results before this index are replaced by a placeholder.
    pub cleared: usize,
    /// The summary that stands for the turns that are not shown. `None` with `from > 0`: they were
    /// dropped.
    pub mark: Option<MarkId>,
    /// The summary's size.
    pub summary: Tokens,
}

impl Extent {
    /// The tokens of the view.
    #[must_use]
    pub fn tokens(&self, path: &Path<'_>) -> Tokens {
        let whole = path.front(self.from) + self.summary + path.tail(self.from);
        whole.saturating_sub(path.clearable(self.from, self.cleared))
    }

    /// The view after a swap to a summary at `cut`.
    #[must_use]
    pub fn swapped(&self, cut: usize, mark: MarkId, summary: Tokens) -> Self {
        Self {
            from: cut,
            mark: Some(mark),
            summary,
            ..*self
        }
    }

    /// The view after everything before `cut` is dropped. A summary in front stays.
    #[must_use]
    pub const fn dropped(&self, cut: usize) -> Self {
        Self { from: cut, ..*self }
    }

    /// The view after the tool results before `upto` are cleared.
    #[must_use]
    pub const fn cleared(&self, upto: usize) -> Self {
        Self {
            cleared: upto,
            ..*self
        }
    }

    /// The last turn that is not shown and the last whose results are cleared, each
    /// [`TurnId::ROOT`] where there is none. `None` where the path is too short for this view: it
    /// would show nothing that was said.
    pub(crate) fn edges(&self, path: &Path<'_>) -> Option<[TurnId; 2]> {
        let edge = |index: usize| match index {
            0 => Some(TurnId::ROOT),
            _ => path.node_before(index),
        };
        if self.from > 0 && self.from >= path.len() {
            return None;
        }
        Some([edge(self.from)?, edge(self.cleared)?])
    }
}
