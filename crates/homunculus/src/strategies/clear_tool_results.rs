//! Replaces old tool results by a placeholder.

use super::truncate::drop_to_fit;
use crate::strategy::{Command, Situation, Strategy};

/// From a trigger on, all tool results but the newest are cleared. Where the view still reaches the
/// hard threshold, the oldest steps are dropped.
///
/// The trigger looks at the view as it stands, so that results are cleared in batches and the cache
/// breaks as seldom as it can.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClearToolResults {
    /// The share of the window from which on results are cleared.
    pub trigger: f64,
    /// How many of the newest results stay.
    pub keep: usize,
}

impl Default for ClearToolResults {
    /// Anthropic's defaults for its server-side clearing: 100,000 tokens of a window of 200,000,
    /// three results stay.
    fn default() -> Self {
        Self {
            trigger: 0.5,
            keep: 3,
        }
    }
}

impl Strategy for ClearToolResults {
    fn decide(&mut self, situation: &Situation<'_>) -> Vec<Command> {
        if situation.view < situation.limits.window.scaled(self.trigger) {
            return Vec::new();
        }
        let mut commands = Vec::new();
        let upto = situation.path.before_newest_results(self.keep);
        let mut after = *situation;
        if upto > situation.shown.cleared {
            let clearable = situation
                .path
                .clearable(situation.shown.cleared.max(situation.shown.from), upto);
            if clearable > context::Tokens::ZERO {
                commands.push(Command::Clear { upto });
                after.shown = situation.shown.cleared(upto);
                after.view = situation.unseen + after.shown.tokens(&after.path);
            }
        }
        if after.is_hard() {
            commands.extend(drop_to_fit(&after));
        }
        commands
    }
}
