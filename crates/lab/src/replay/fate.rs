//! The state of each turn at the end.

use context::{Role, Turn};

use crate::compare::Fate;

/// Sorts the turns of a whole session into the four fates, by the first turn that is shown and the first
/// whose results stay. `summarised` is where the standing summary ends; turns between there and the first
/// shown one were dropped.
pub(super) fn of(turns: &[Turn], (from, cleared): (usize, usize), summarised: usize) -> Fate {
    let mut fate = Fate::default();
    for (index, turn) in turns.iter().enumerate() {
        let count = if index >= from || turn.role() == Role::System {
            let is_cleared = index < cleared && turn.role() == Role::Tool;
            if is_cleared {
                &mut fate.cleared
            } else {
                &mut fate.shown
            }
        } else if index < summarised {
            &mut fate.summarised
        } else {
            &mut fate.dropped
        };
        *count += 1;
    }
    fate
}
