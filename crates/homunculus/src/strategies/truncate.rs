//! Drops the oldest steps until the rest fits.

use crate::strategy::{Command, Situation, Strategy};

/// From the hard threshold on, the oldest steps are not shown any more: as few as bring the view
/// below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truncate;

impl Strategy for Truncate {
    fn decide(&mut self, situation: &Situation<'_>) -> Vec<Command> {
        if situation.is_hard() {
            drop_to_fit(situation)
        } else {
            Vec::new()
        }
    }
}

/// Drops as few of the oldest steps as bring the view below the hard threshold; where none does, all
/// that may be dropped.
pub(super) fn drop_to_fit(situation: &Situation<'_>) -> Vec<Command> {
    let path = &situation.path;
    let hard = situation.limits.hard_tokens();
    let size = |cut: usize| situation.size(&situation.shown.dropped(cut));
    let mut cut = path.cut_at_least(situation.shown.from + 1);
    while let Some(at) = cut
        && size(at) >= hard
        && let Some(next) = path.cut_at_least(at + 1)
    {
        cut = Some(next);
    }
    cut.map(|cut| Command::Drop { cut }).into_iter().collect()
}
