//! Figures over several compactions and over several sessions.

use std::sync::Arc;

use serde::Serialize;

use crate::compare::{
    Compaction, Comparison, Constraints, Overflows, PinCount, RecallFigures, Simulated, Stalls,
    StrategyResult, TokenUse,
};
use crate::regret::Regret;

/// The figures of one strategy over all sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Total {
    /// The strategy's name.
    pub strategy: Arc<str>,
    /// Over how many sessions.
    pub sessions: usize,
    /// In how many of them it failed, and `prepared` ran in its place.
    pub failed_sessions: usize,
    /// Requests that had to be made smaller.
    pub boundaries: usize,
    /// The largest pressure of any request.
    pub peak_pressure: f64,
    /// Requests that did not fit.
    pub overflows: Overflows,
    /// Pins, request by request.
    pub pins: PinCount,
    /// The user's rules at the last request of each session.
    pub constraints: Constraints,
    /// Needed-later recall over all compactions at which it was measured.
    pub recall: Option<RecallFigures>,
    /// The work that the recorded agents did again although the view no longer showed it.
    pub regret: Regret,
    /// Figures that are modelled, not measured.
    pub simulated: Simulated,
}

impl Total {
    /// The total of one outcome: the outcome itself, with its compactions put together.
    #[must_use]
    pub fn of(outcome: &StrategyResult) -> Self {
        Self {
            strategy: Arc::clone(&outcome.strategy),
            sessions: 1,
            failed_sessions: usize::from(outcome.conduct.failed.is_some()),
            boundaries: outcome.boundaries,
            peak_pressure: outcome.peak_pressure,
            overflows: outcome.overflows,
            pins: outcome.pins,
            constraints: outcome.constraints,
            recall: outcome
                .compactions
                .iter()
                .filter_map(|compaction| compaction.recall)
                .reduce(together),
            regret: outcome.conduct.regret,
            simulated: outcome.simulated,
        }
    }

    fn and(self, other: &Self) -> Self {
        Self {
            strategy: self.strategy,
            sessions: self.sessions + other.sessions,
            failed_sessions: self.failed_sessions + other.failed_sessions,
            boundaries: self.boundaries + other.boundaries,
            peak_pressure: self.peak_pressure.max(other.peak_pressure),
            overflows: Overflows {
                requests: self.overflows.requests + other.overflows.requests,
                unavoidable: self.overflows.unavoidable + other.overflows.unavoidable,
            },
            pins: PinCount {
                requests: self.pins.requests + other.pins.requests,
                intact: self.pins.intact + other.pins.intact,
            },
            constraints: Constraints {
                said: self.constraints.said + other.constraints.said,
                kept: self.constraints.kept + other.constraints.kept,
            },
            recall: match (self.recall, other.recall) {
                (Some(one), Some(two)) => Some(together(one, two)),
                (one, two) => one.or(two),
            },
            regret: self.regret.and(other.regret),
            simulated: Simulated {
                stalls: stalls(self.simulated.stalls, other.simulated.stalls),
                requests: tokens(self.simulated.requests, other.simulated.requests),
                summaries: tokens(self.simulated.summaries, other.simulated.summaries),
                cost_usd: self.simulated.cost_usd + other.simulated.cost_usd,
            },
        }
    }
}

impl Total {
    /// A sentence for readers of figures that are not the strategy's own.
    #[must_use]
    pub fn replaced(&self) -> Option<String> {
        (self.failed_sessions > 0).then(|| {
            format!(
                "{} failed in {} of {}; `prepared` replaced it there.",
                self.strategy,
                self.failed_sessions,
                crate::figures::plural(self.sessions, "session"),
            )
        })
    }
}

/// One total for each strategy, in the order in which the strategies first appear.
#[must_use]
pub fn totals(comparisons: &[Comparison]) -> Vec<Total> {
    let mut totals: Vec<Total> = Vec::new();
    for outcome in comparisons
        .iter()
        .flat_map(|comparison| &comparison.strategies)
    {
        let one = Total::of(outcome);
        match totals
            .iter_mut()
            .find(|total| total.strategy == one.strategy)
        {
            Some(total) => *total = total.clone().and(&one),
            None => totals.push(one),
        }
    }
    totals
}

/// The shares of two measurements, each with the weight of what it needed.
fn together(one: RecallFigures, two: RecallFigures) -> RecallFigures {
    let needed = one.needed + two.needed;
    #[expect(
        clippy::cast_precision_loss,
        reason = "identifiers of one session stay far below 2^52"
    )]
    let share = |a: f64, b: f64| {
        if needed == 0 {
            0.0
        } else {
            (a * one.needed as f64 + b * two.needed as f64) / needed as f64
        }
    };
    RecallFigures {
        needed,
        named: share(one.named, two.named),
        in_context: share(one.in_context, two.in_context),
        newest_named: share(one.newest_named, two.newest_named),
        newest_in_context: share(one.newest_in_context, two.newest_in_context),
    }
}

fn stalls(one: Stalls, two: Stalls) -> Stalls {
    Stalls {
        count: one.count + two.count,
        longest_seconds: one.longest_seconds.max(two.longest_seconds),
        total_seconds: one.total_seconds + two.total_seconds,
    }
}

fn tokens(one: TokenUse, two: TokenUse) -> TokenUse {
    TokenUse {
        fresh: one.fresh + two.fresh,
        cache_read: one.cache_read + two.cache_read,
        cache_written: one.cache_written + two.cache_written,
        output: one.output + two.output,
    }
}

/// The shortest wait that a person notices, in seconds.
const NOTICED: f64 = 0.25;

impl Compaction {
    /// Returns true if the request waited long enough for it to be noticed.
    #[must_use]
    pub fn stalled(&self) -> bool {
        self.simulated_wait_seconds >= NOTICED
    }
}

impl TokenUse {
    /// All input: fresh, read from and written to the cache.
    #[must_use]
    pub const fn input(&self) -> u64 {
        self.fresh + self.cache_read + self.cache_written
    }

    /// The share of the input that was read from the cache; NaN where there was no input.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts stay far below 2^52"
    )]
    pub fn cached_share(&self) -> f64 {
        self.cache_read as f64 / self.input() as f64
    }
}

impl Constraints {
    /// The share that the last request contains; `None` where none was said.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages of one session stay far below 2^52"
    )]
    pub fn kept_share(&self) -> Option<f64> {
        (self.said > 0).then(|| self.kept as f64 / self.said as f64)
    }
}

impl PinCount {
    /// The share of requests that showed every pin; `None` where none was in force.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "requests of one session stay far below 2^52"
    )]
    pub fn intact_share(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.intact as f64 / self.requests as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::together;
    use crate::compare::RecallFigures;

    #[test]
    fn a_compaction_counts_by_what_was_needed_after_it() {
        let measured = |needed, named| RecallFigures {
            needed,
            named,
            in_context: named / 2.0,
            newest_named: 0.0,
            newest_in_context: 0.0,
        };
        let both = together(measured(30, 1.0), measured(10, 0.0));
        assert_eq!(
            (both.needed, both.named, both.in_context),
            (40, 0.75, 0.375)
        );
        assert_eq!(together(measured(0, 0.0), measured(0, 0.0)).named, 0.0);
    }
}
