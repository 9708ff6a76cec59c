//! Chooses where to cut between the old part and the part that stays verbatim.
//!
//! Both ways first find the place they would like, by tokens from the back or by a share of the
//! messages, and then move it *towards the start* to the next [cut](crate::cut): the kept part may get
//! larger than asked, never smaller. So the kept part exceeds its budget by less than one step, or,
//! under [`Rule::Provider`], by the steps up to the next change of speaker. The newest step is kept
//! whole in any case, even where it alone is larger than the budget.

use crate::cut::{Cuts, Rule};
use crate::turn::Turn;
use crate::units::Tokens;

/// The share of messages that is old, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct CompactionRatio(f64);

impl CompactionRatio {
    /// A ratio; `None` outside 0 to 1.
    #[must_use]
    pub fn new(ratio: f64) -> Option<Self> {
        (0.0..=1.0).contains(&ratio).then_some(Self(ratio))
    }

    /// The ratio.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The number of old messages among `messages`, rounded down.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "message counts stay far below 2^52, and the ratio is between 0 and 1"
    )]
    pub fn old_of(self, messages: usize) -> usize {
        // 0.29 * 100 is 28.999…; the ratio was meant as a decimal, so such a product counts as whole.
        (messages as f64).mul_add(self.0, 1e-9).floor() as usize
    }
}

impl Default for CompactionRatio {
    /// One half.
    fn default() -> Self {
        Self(0.5)
    }
}

/// The index of the first turn to keep, where the newest turns whose tokens fit into `keep_recent` stay.
#[must_use]
pub fn by_tokens(turns: &[Turn], keep_recent: Tokens, rule: Rule) -> usize {
    let mut kept = Tokens::ZERO;
    let wanted = turns
        .iter()
        .rposition(|turn| {
            kept += turn.tokens();
            kept > keep_recent
        })
        .map_or(0, |too_much| too_much + 1);
    Cuts::of(turns).at_most(wanted, rule).unwrap_or(0)
}

/// The index of the first turn to keep, where the share `ratio` of all turns is old.
#[must_use]
pub fn by_ratio(turns: &[Turn], ratio: CompactionRatio, rule: Rule) -> usize {
    let wanted = ratio.old_of(turns.len());
    Cuts::of(turns).at_most(wanted, rule).unwrap_or(0)
}

#[cfg(test)]
mod tests;
