//! Works ahead of the wall (seed 001): prepare at the soft threshold, swap at the hard one.

use context::Tokens;
use history::Route;

use crate::event::Refusal;
use crate::price::CacheState;
use crate::strategy::{Command, Moment, Situation, Stage, Strategy};

/// A low watermark starts a preparation in the background, a high one swaps the finished summary
/// in. Nobody waits unless the view does not fit and the limits grant patience; without, an
/// extractive summary is made at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prepared {
    /// The share of the window from which on a summary is prepared.
    pub soft: f64,
    /// The share of the window that stays verbatim behind a new mark.
    pub keep: f64,
    /// The share of the window at which a request is no longer sent as it is while the summary is
    /// being written. What is above it is left for the model's answer, and for what our count misses.
    pub wall: f64,
    /// How summaries are made in the background.
    pub route: Route,
}

impl Default for Prepared {
    /// Soft threshold at two thirds of the window, as seed 001 has it; a twentieth stays verbatim.
    /// With what is said until the hard threshold, about a quarter of the window stands behind the
    /// mark at a swap.
    fn default() -> Self {
        Self {
            soft: 2.0 / 3.0,
            keep: 0.05,
            wall: 0.95,
            route: Route::Readable,
        }
    }
}

impl Strategy for Prepared {
    fn decide(&mut self, situation: &Situation<'_>) -> Vec<Command> {
        let soft = situation.limits.window.scaled(self.soft);
        match (situation.stage, situation.standby) {
            (Stage::Ready { swap, .. }, _) => self.with_summary(situation, swap),
            (Stage::Preparing { .. }, Some(Ok(_))) if situation.is_hard() => vec![Command::Swap],
            _ if self.is_at_the_wall(situation) => self.at_the_wall(situation),
            (Stage::None, _) if situation.view >= soft => self.prepare(situation),
            (Stage::None | Stage::Preparing { .. }, _) => Vec::new(),
        }
    }
}

impl Prepared {
    fn wall_tokens(&self, situation: &Situation<'_>) -> Tokens {
        situation.limits.window.scaled(self.wall)
    }

    fn is_at_the_wall(&self, situation: &Situation<'_>) -> bool {
        situation.view > self.wall_tokens(situation)
    }

    fn with_summary(
        &self,
        situation: &Situation<'_>,
        swap: Result<Tokens, Refusal>,
    ) -> Vec<Command> {
        let wanted = situation.is_hard() || situation.cache == CacheState::Cold;
        match swap {
            Ok(after) if !situation.fits() && after > situation.limits.window => {
                self.at_the_wall(situation)
            }
            // What does not fit is not made to fit by a hair, if it can be helped. It is tried once: a
            // request that was held has what could be made.
            Ok(after)
                if !situation.fits()
                    && after >= situation.limits.hard_tokens()
                    && situation.moment == Moment::Request =>
            {
                let smaller = self.at_the_wall(situation);
                match smaller.is_empty() {
                    true => vec![Command::Swap],
                    false => smaller,
                }
            }
            Ok(_) if wanted => vec![Command::Swap],
            Ok(_) => Vec::new(),
            Err(_) if self.is_at_the_wall(situation) => self.at_the_wall(situation),
            Err(Refusal::Stale | Refusal::TailTooLong(_)) => self.prepare(situation),
            Err(_) => Vec::new(),
        }
    }

    fn prepare(&self, situation: &Situation<'_>) -> Vec<Command> {
        let path = &situation.path;
        let cut = match self.route {
            // The provider summarises a whole request.
            Route::Native => path.ends_whole().then_some(path.len()),
            Route::Readable | Route::Extractive => {
                path.cut_keeping(situation.limits.window.scaled(self.keep))
            }
        };
        let Some(cut) = cut else {
            return Vec::new();
        };
        if cut <= situation.shown.from {
            return Vec::new();
        }
        vec![Command::Prepare {
            cut,
            budget: situation.limits.summary,
            route: self.route,
        }]
    }

    /// The view fills the window and no summary changes that: wait for the one under way as long as
    /// patience lasts, else make one without a model.
    fn at_the_wall(&self, situation: &Situation<'_>) -> Vec<Command> {
        let held = match situation.moment {
            Moment::Request => jiff::SignedDuration::ZERO,
            Moment::Held(held) => held,
            Moment::Idle => return Vec::new(),
        };
        if matches!(situation.stage, Stage::Preparing { .. }) && held < situation.limits.patience {
            return vec![Command::Pause];
        }
        extract(situation, situation.limits.window.scaled(self.keep))
    }
}

/// An extractive summary that makes the view fit, with `keep` tokens verbatim behind it or as few as
/// there must be.
fn extract(situation: &Situation<'_>, keep: Tokens) -> Vec<Command> {
    let path = &situation.path;
    let wanted = path
        .cut_keeping(keep)
        .filter(|&cut| situation.room_at(cut).is_some());
    let cut = wanted.or_else(|| path.last_cut());
    let Some((cut, budget)) = cut.and_then(|cut| Some((cut, situation.room_at(cut)?))) else {
        return Vec::new();
    };
    if cut <= situation.shown.from {
        return Vec::new();
    }
    let prepare = Command::Prepare {
        cut,
        budget,
        route: Route::Extractive,
    };
    vec![prepare, Command::Pause]
}
