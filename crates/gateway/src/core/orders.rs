//! What is ordered from outside: carried out with the next request, which brings what it takes.

use conversation::homunculus::{Command, Refusal};
use history::Route;
use jiff::Timestamp;

use super::journal::Happened;
use super::live::{Decision, Live};
use crate::report::Order;

/// The share of the window that stays verbatim behind a summary that is ordered.
const KEEP: f64 = 0.05;

impl Live {
    /// Gives the supervisor what was ordered, if anything was. What it decides is for the request that
    /// is about to be sent.
    pub(super) fn obey(&mut self, now: Timestamp) -> Decision {
        let Some(order) = self.flights.order.take() else {
            return Decision::default();
        };
        let Some(command) = self.as_command(order) else {
            let why = Refusal::IllegalCut.to_string();
            self.journal.note(now, Happened::Held(why));
            return Decision::default();
        };
        let (decision, refusal) = self.command(command, now);
        if let Some(refusal) = refusal {
            self.journal.note(now, Happened::Held(refusal.to_string()));
        }
        decision
    }

    fn as_command(&self, order: Order) -> Option<Command> {
        let path = self.path(self.len());
        let limits = self.supervisor.machine.limits();
        match order {
            Order::Swap => Some(Command::Swap),
            Order::Prepare => {
                let route = self.supervisor.route;
                let cut = match route {
                    Route::Native => path.ends_whole().then_some(path.len()),
                    Route::Readable | Route::Extractive => {
                        path.cut_keeping(limits.window.scaled(KEEP))
                    }
                };
                Some(Command::Prepare {
                    cut: cut?,
                    budget: limits.summary,
                    route,
                })
            }
        }
    }
}

/// How far the next summary is, in the word of the reports.
pub(super) fn state(live: &Live, now: Timestamp) -> &'static str {
    let machine = &live.supervisor.machine;
    if machine.stopped().is_some() {
        "stopped"
    } else if machine.preparing().is_some() {
        "preparing"
    } else if machine.ready().is_some() {
        "ready"
    } else if machine.backing_off().is_some_and(|until| now < until) {
        "backing-off"
    } else {
        "idle"
    }
}
