//! Replaces old tool results by a placeholder.

use context::Tokens;

use super::truncate::drop_to_fit;
use crate::strategy::{Command, Situation, Strategy};

/// From a trigger on, all tool results but the newest are cleared, as soon as that frees enough to be
/// worth a broken cache. Where the view still reaches the hard threshold, the oldest steps are dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClearToolResults {
    /// The share of the window from which on results are cleared.
    pub trigger: f64,
    /// How many of the newest results stay.
    pub keep: usize,
    /// The share of the window that a clearing must free.
    pub at_least: f64,
}

impl Default for ClearToolResults {
    /// Anthropic's defaults for its server-side clearing: 100,000 tokens of a window of 200,000,
    /// three results stay. It has no least amount by default; a twentieth of the window is what
    /// makes a clearing pay, so the comparison is with the better setting.
    fn default() -> Self {
        Self {
            trigger: 0.5,
            keep: 3,
            at_least: 0.05,
        }
    }
}

impl Strategy for ClearToolResults {
    fn decide(&mut self, situation: &Situation<'_>) -> Vec<Command> {
        let window = situation.limits.window;
        if situation.view < window.scaled(self.trigger) {
            return Vec::new();
        }
        let (path, shown) = (&situation.path, situation.shown);
        let upto = path.before_newest_results(self.keep);
        let freed = path.clearable(shown.cleared.max(shown.from), upto);
        let mut commands = Vec::new();
        let mut after = *situation;
        if freed > Tokens::ZERO && (situation.is_hard() || freed >= window.scaled(self.at_least)) {
            commands.push(Command::Clear { upto });
            after.shown = shown.cleared(upto);
            after.view = situation.size(&after.shown);
        }
        if after.is_hard() {
            commands.extend(drop_to_fit(&after));
        }
        commands
    }
}
