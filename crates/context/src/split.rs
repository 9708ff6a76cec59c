//! Where a conversation is divided into an old part and a part that stays verbatim.
//!
//! Both rules first find the place they would like, by tokens from the back or by a ratio of
//! messages, and then move it *towards the start* to the next legal place: the kept part may get
//! larger than asked, never smaller. So the kept part exceeds its budget by less than one step, or,
//! under [`Rule::Provider`], by the steps up to the next change of speaker. The newest step is kept
//! whole in any case, even where it alone is larger than the budget.

use std::collections::HashSet;
use std::ops::Range;

use crate::step::{Step, StepKind, steps};
use crate::turn::{Role, Turn};
use crate::units::Tokens;

/// A legal place to cut a conversation: never inside a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cut {
    at: usize,
    len: usize,
}

impl Cut {
    /// The index of the first kept turn; the number of old turns.
    #[must_use]
    pub const fn index(self) -> usize {
        self.at
    }

    /// The indices of the old turns.
    #[must_use]
    pub const fn old(self) -> Range<usize> {
        0..self.at
    }

    /// The indices of the kept turns.
    #[must_use]
    pub const fn kept(self) -> Range<usize> {
        self.at..self.len
    }

    /// Whether there is nothing old.
    #[must_use]
    pub const fn keeps_everything(self) -> bool {
        self.at == 0
    }

    /// The old and the kept turns, out of the conversation that was split.
    #[must_use]
    pub fn divide(self, turns: &[Turn]) -> (&[Turn], &[Turn]) {
        turns.split_at_checked(self.at).unwrap_or((turns, &[]))
    }
}

/// Which places are legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Anywhere between two steps.
    Steps,
    /// Between two steps, and what providers ask for besides: the first kept turn has another
    /// speaker than the last old one (tool results count as the user's, as on the wire), is not a
    /// system turn, and is not a result without its call.
    Provider,
}

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

    /// How many of `messages` messages are old, rounded down.
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

/// Keeps the newest turns whose tokens fit into `keep_recent`.
#[must_use]
pub fn by_tokens(turns: &[Turn], keep_recent: Tokens, rule: Rule) -> Cut {
    let mut kept = Tokens::ZERO;
    let wanted = turns
        .iter()
        .rposition(|turn| {
            kept += turn.tokens();
            kept > keep_recent
        })
        .map_or(0, |too_much| too_much + 1);
    legal_at_or_before(turns, wanted, rule)
}

/// Keeps the newest turns, so that the share `ratio` of all turns is old.
#[must_use]
pub fn by_ratio(turns: &[Turn], ratio: CompactionRatio, rule: Rule) -> Cut {
    legal_at_or_before(turns, ratio.old_of(turns.len()), rule)
}

/// All places that are legal under a rule and keep at least the newest step, ascending. The first
/// one keeps everything.
#[must_use]
pub fn cuts(turns: &[Turn], rule: Rule) -> Vec<Cut> {
    let steps = steps(turns);
    let strays: HashSet<usize> = steps
        .iter()
        .filter(|step| step.kind() == StepKind::Stray)
        .map(|step| step.turns().start)
        .collect();
    let starts = steps.iter().map(Step::turns).map(|range| range.start);
    let mut cuts: Vec<Cut> = starts
        .filter(|&at| at == 0 || rule.allows(turns, at, &strays))
        .map(|at| Cut {
            at,
            len: turns.len(),
        })
        .collect();
    if cuts.is_empty() {
        cuts.push(Cut { at: 0, len: 0 });
    }
    cuts
}

fn legal_at_or_before(turns: &[Turn], wanted: usize, rule: Rule) -> Cut {
    let everything = Cut {
        at: 0,
        len: turns.len(),
    };
    let cuts = cuts(turns, rule);
    let legal = cuts.partition_point(|cut| cut.at <= wanted);
    legal
        .checked_sub(1)
        .and_then(|last| cuts.get(last))
        .copied()
        .unwrap_or(everything)
}

impl Rule {
    fn allows(self, turns: &[Turn], at: usize, strays: &HashSet<usize>) -> bool {
        if self == Self::Steps {
            return true;
        }
        let speaker = |index: usize| turns.get(index).map(|turn| on_the_wire(turn.role()));
        let first_kept = speaker(at);
        first_kept != Some(Role::System)
            && first_kept != at.checked_sub(1).and_then(speaker)
            && !strays.contains(&at)
    }
}

/// The role under which a provider sees a turn: tool results stand in user messages, and a role that
/// nobody knows is sent as the user's.
const fn on_the_wire(role: Role) -> Role {
    match role {
        Role::Tool | Role::Other => Role::User,
        Role::System | Role::User | Role::Assistant => role,
    }
}

#[cfg(test)]
mod tests;
