//! The budget of what is kept.

use crate::counter::TokenCounter;
use crate::units::Tokens;

/// A number of tokens that is spent line by line.
#[derive(Clone, Copy)]
pub(super) struct Budget<'a> {
    left: Tokens,
    counter: &'a dyn TokenCounter,
}

/// A gap mark costs about this much, and a line feed may be a token.
const GAP: u64 = 10;

impl<'a> Budget<'a> {
    pub(super) const fn new(left: Tokens, counter: &'a dyn TokenCounter) -> Self {
        Self { left, counter }
    }

    pub(super) const fn left(&self) -> Tokens {
        self.left
    }

    /// A line longer than this many bytes is cut before it is kept, so that no line takes more than
    /// about a quarter of the whole.
    pub(super) fn longest_line(&self) -> usize {
        usize::try_from(self.left.get())
            .unwrap_or(usize::MAX)
            .clamp(60, 2_000)
    }

    /// Spends what a line costs; where it does not fit, nothing is spent.
    pub(super) fn take(&mut self, line: &str, gap: Gap) -> Taken {
        let gap = match gap {
            Gap::Opens => GAP,
            Gap::None => 0,
        };
        let cost = self.counter.count(line) + Tokens::new(1 + gap);
        if cost > self.left {
            return Taken::No;
        }
        self.left = self.left.saturating_sub(cost);
        Taken::Yes
    }

    pub(super) fn fits(&self, text: &str) -> bool {
        self.counter.count(text) <= self.left
    }

    /// The same counter over a part of what is left.
    pub(super) fn share(&self, share: f64) -> Self {
        Self::new(self.left.scaled(share), self.counter)
    }

    /// The budget after a part of it has been handed out and come back as `rest`.
    pub(super) fn settle(&mut self, given: Tokens, rest: Self) {
        let spent = given.saturating_sub(rest.left);
        self.left = self.left.saturating_sub(spent);
    }
}

/// The gap that keeping a line leaves beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    Opens,
    None,
}

/// The result of taking a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Yes,
    No,
}
