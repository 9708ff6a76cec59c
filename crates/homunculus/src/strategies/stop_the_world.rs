//! At the hard threshold it stops and waits for the summary (seed 000's protocol).

use history::Route;

use crate::strategy::{Command, Situation, Stage, Strategy};

/// Pause, get the memory, compress it, set the memory, resume: the conversation stands still while
/// the summary is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopTheWorld {
    /// The share of the window that stays verbatim behind a new mark.
    pub keep: f64,
    /// How summaries are made.
    pub route: Route,
}

impl Default for StopTheWorld {
    /// A tenth of the window stays verbatim.
    fn default() -> Self {
        Self {
            keep: 0.1,
            route: Route::Readable,
        }
    }
}

impl Strategy for StopTheWorld {
    fn decide(&mut self, situation: &Situation<'_>) -> Vec<Command> {
        match situation.stage {
            Stage::Preparing { .. } => vec![Command::Pause],
            Stage::Ready { .. } => vec![Command::Swap, Command::Abandon],
            Stage::None if situation.is_hard() => {
                let keep = situation.limits.window.scaled(self.keep);
                wait_for_summary(situation, situation.path.cut_keeping(keep), self.route)
            }
            Stage::None => Vec::new(),
        }
    }
}

/// Order a summary at this cut and hold the request until it is there.
pub(super) fn wait_for_summary(
    situation: &Situation<'_>,
    cut: Option<usize>,
    route: Route,
) -> Vec<Command> {
    let Some(cut) = cut.filter(|&cut| cut > situation.shown.from) else {
        return Vec::new();
    };
    let budget = situation.room_at(cut).unwrap_or(situation.limits.summary);
    vec![Command::Prepare { cut, budget, route }, Command::Pause]
}
