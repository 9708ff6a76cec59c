//! Makes a view fit, whatever the strategy is.

use jiff::Timestamp;

use super::orders::{About, Orders};
use super::{Asked, MOST_FITTED, MOST_HOLDS, Machine};
use crate::homunculus::event::Action;
use crate::homunculus::outline::Path;
use crate::homunculus::strategy::{Command, Moment};

/// The share of the window that stays verbatim behind a summary that makes a view fit.
const KEPT: f64 = 0.05;

impl Machine {
    /// Makes a view that was refused fit.
    pub(super) fn rescue(&mut self, path: &Path<'_>, now: Timestamp, actions: &mut Vec<Action>) {
        self.follow(path, actions);
        let asked = Asked {
            path: *path,
            moment: Moment::Request,
            now,
        };
        let mut orders = Orders::new(self, &asked, actions, About::Conversation);
        if orders.situation().fits() {
            return;
        }
        // Compaction may have stopped. The stop was not meant to make the client fail.
        orders.go_on();
        self.make_fit(&asked, actions);
    }

    /// Shows the summary that is ready, if the view fits with it, or else orders one that is small enough.
    /// Where none is, anything that helps is right.
    fn make_fit(&mut self, asked: &Asked<'_>, actions: &mut Vec<Action>) -> Option<Action> {
        let may_make = self.sending.holds < MOST_HOLDS && self.sending.fitted < MOST_FITTED;
        let mut orders = Orders::new(self, asked, actions, About::Conversation);
        // A summary behind which nothing can be divided can not be made smaller once it is shown.
        let fits = orders.situation().fits_with_ready();
        if !fits && (may_make || orders.is_making()) && orders.extract(KEPT).is_ok() {
            let hold = orders.hold();
            self.sending.fitted = self.sending.fitted.saturating_add(1);
            return hold;
        }
        // The outcome is among the actions.
        let _ = orders.give(Command::Swap);
        None
    }
}
