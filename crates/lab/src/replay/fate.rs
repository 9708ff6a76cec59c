//! What became of each turn.

use context::{Role, Turn};
use conversation::homunculus::Shown;

use crate::compare::Fate;

/// Sorts the turns of a whole session into the four fates. `summarised` is where the standing summary
/// ends; turns between there and the first shown one were dropped.
pub(super) fn of(turns: &[Turn], shown: Shown, summarised: usize) -> Fate {
    let mut fate = Fate::default();
    for (index, turn) in turns.iter().enumerate() {
        let count = if index >= shown.from || turn.role() == Role::System {
            let cleared = index < shown.cleared && turn.role() == Role::Tool;
            if cleared {
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
