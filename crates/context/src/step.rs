//! Steps: an assistant turn with tool calls and all their results, atomic.
//!
//! Providers refuse a call without its result and a result without its call. So a conversation may
//! only be cut between steps. [`steps`] divides a conversation into steps without gaps: a turn that
//! takes part in no call is a step of its own.
//!
//! How the odd cases that real sessions contain are read:
//!
//! | case | reading |
//! |---|---|
//! | parallel calls, results in several turns | one step, up to the last result |
//! | other turns between a call and its result | part of the step, so that nothing is cut apart |
//! | calls of two assistant turns that overlap | one step |
//! | a call without a result, with a later assistant turn or user text | aborted: the step ends there |
//! | a call without a result at the end | in flight: the step reaches to the end and must stay |
//! | a result without a call | a step of its own, [`StepKind::Stray`] |
//! | one id for two calls | a result belongs to the nearest earlier unanswered call of that id |

use std::ops::Range;

use crate::cut::Cuts;
use crate::turn::Turn;

/// A run of turns that is kept or removed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    turns: Range<usize>,
    kind: StepKind,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// One turn without calls and results.
    Plain,
    /// Calls, each with its result.
    Complete,
    /// At least one call never got a result, and the conversation went on.
    Aborted,
    /// At least one call has no result yet, and nothing came after it. It must stay in view.
    InFlight,
    /// One turn with a result to which there is no call.
    Stray,
}

impl Step {
    pub(crate) const fn new(turns: Range<usize>, kind: StepKind) -> Self {
        Self { turns, kind }
    }

    /// The indices of its turns.
    #[must_use]
    pub fn turns(&self) -> Range<usize> {
        self.turns.clone()
    }

    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> StepKind {
        self.kind
    }

    /// The turns themselves, out of the conversation that the step was found in.
    #[must_use]
    pub fn of<'a>(&self, turns: &'a [Turn]) -> &'a [Turn] {
        turns.get(self.turns()).unwrap_or_default()
    }
}

/// Divides a conversation into steps: in order, without gaps or overlaps. Takes time linear in the
/// number of parts.
#[must_use]
pub fn steps(turns: &[Turn]) -> Vec<Step> {
    Cuts::of(turns).steps().collect()
}

#[cfg(test)]
mod tests;
