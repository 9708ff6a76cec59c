//! The order in which compress and expand are adjoint: what a window says.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use context::window::ContextWindow;
use context::{Turn, TurnId};

/// The turns that a window says something of: those it shows, and those that its stand-in sums up.
/// The stand-in itself says nothing of its own, and a dropped turn is not said.
///
/// Ordered by inclusion: `a <= b` where `a` says no more than `b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Says(BTreeSet<TurnId>);

impl Says {
    /// The turns that a window says something of.
    #[must_use]
    pub fn of(window: &ContextWindow) -> Self {
        let behind = window.compacted();
        let stand_in = behind.map(|behind| behind.stand_in());
        let shown = window.turns().map(Turn::id);
        let summarised = behind.map_or(&[][..], |behind| behind.summarised());
        Self(
            shown
                .filter(|id| Some(*id) != stand_in)
                .chain(summarised.iter().copied())
                .collect(),
        )
    }
}

impl PartialOrd for Says {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let (less, more) = (self.0.is_subset(&other.0), other.0.is_subset(&self.0));
        match (less, more) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}
