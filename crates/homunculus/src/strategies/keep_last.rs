//! A summary and the last messages, as LangChain's summarisation middleware has it.

use history::Route;

use super::stop_the_world::wait_for_summary;
use crate::strategy::{Command, Situation, Stage, Strategy};

/// At the hard threshold it waits for a summary of everything but the last messages. The cut moves
/// back to the beginning of a step, as it does there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepLast {
    /// How many messages stay.
    pub messages: usize,
    /// How summaries are made.
    pub route: Route,
}

impl Default for KeepLast {
    /// 20 messages: the middleware's default.
    fn default() -> Self {
        Self {
            messages: 20,
            route: Route::Readable,
        }
    }
}

impl Strategy for KeepLast {
    fn decide(&mut self, situation: &Situation<'_>) -> Vec<Command> {
        match situation.stage {
            Stage::Preparing { .. } => vec![Command::Pause],
            Stage::Ready { .. } => vec![Command::Swap, Command::Abandon],
            Stage::None if situation.is_hard() => {
                let first = situation.path.len().saturating_sub(self.messages);
                wait_for_summary(situation, situation.path.cut_at_most(first), self.route)
            }
            Stage::None => Vec::new(),
        }
    }
}
