//! The figures of a demo, with the gateway and without. The fields are the JSON output.

use context::Tokens;
use serde::Serialize;
use sim::Account;

use super::agent::Exchange;
use super::audit::Audit;
use super::timing::{Timing, fresh};

/// The schema of `--json`.
pub const SCHEMA: &str = "ebbtide.demo/1";

/// Both runs.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub folder: String,
    /// The simulated model.
    pub model: String,
    /// Tokens.
    pub window: u64,
    pub strategy: String,
    /// True if the strategy failed and `prepared` replaced it.
    pub strategy_failed: bool,
    /// The speed of the simulated provider, relative to a real one.
    pub speed: f64,
    pub tasks: usize,
    /// Through the gateway.
    pub with: Side,
    /// The same tasks under other strategies.
    pub others: Vec<Other>,
    /// Straight to the provider; the agent summarizes for itself.
    pub without: Side,
}

/// A run under another strategy.
#[derive(Clone, Debug, Serialize)]
pub struct Other {
    pub strategy: String,
    /// True if the strategy failed and `prepared` replaced it.
    pub strategy_failed: bool,
    #[serde(flatten)]
    pub side: Side,
}

/// One of the runs.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Answered requests of the agent.
    pub requests: usize,
    /// Requests that the provider rejected.
    pub refused: u64,
    /// Compactions.
    pub boundaries: usize,
    pub waits: Waits,
    pub pins: Pins,
    pub prefix: Prefix,
    /// Summaries included.
    pub used: Used,
    /// Each request, in order.
    pub course: Vec<Point>,
}

/// One request of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The wait for the answer's first event, or for the end of a summary, at the provider's real speed.
    pub felt_seconds: f64,
    /// The tokens of the request, as a share of the window.
    pub pressure: f64,
    /// True if the request showed the model less than the one before, or asked for a summary.
    pub compaction: bool,
}

/// The extra wait that compactions cause, up to the first event of an answer, compared to a usual
/// request of the same size. A usual request reads all but its newest messages from the cache.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Waits {
    /// At the provider's real speed: its part is simulated, the rest is measured.
    pub longest_seconds: f64,
    pub total_seconds: f64,
    /// The median wait for a usual request, at real speed.
    pub usual_seconds: f64,
    /// The median measured time beyond the simulated one: connections, the simulated provider's own
    /// work, and the gateway if there is one.
    pub own_median_ms: f64,
    /// The maximum at a compaction; `None` without one.
    pub own_longest_at_boundary_ms: Option<f64>,
    /// The maximum of all other requests.
    pub own_longest_elsewhere_ms: f64,
}

/// Pins in the received requests.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pins {
    /// Pins at the end of the run.
    pub set: usize,
    pub requests: usize,
    /// Requests with every pin of their time, verbatim.
    pub intact: usize,
}

/// Byte stability of the received requests.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Prefix {
    /// Pairs of consecutive requests without a compaction between them.
    pub pairs: usize,
    /// Bytes that changed within such pairs.
    pub changed_bytes: usize,
}

/// Token usage and cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Used {
    /// Summaries that a model wrote.
    pub summaries: u64,
    /// All input tokens, cached or not.
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// `cache_read` as a share of `input`.
    pub cache_share: f64,
    /// The same, for requests without a compaction.
    pub cache_share_between: f64,
    pub output: u64,
    /// US dollars, by the model table.
    pub cost: f64,
    /// The largest request, as a share of the window.
    pub peak_pressure: f64,
}

/// The measurements of one run, from which its figures are computed.
pub struct Measured<'a> {
    pub sent: &'a [Exchange],
    /// The provider's account.
    pub account: Account,
    pub audit: Audit,
    /// Pins at the end of the run.
    pub pins: usize,
    pub timing: Timing,
    pub window: Tokens,
}

impl Measured<'_> {
    pub fn side(&self) -> Side {
        let used = &self.account.used;
        let input = used.input();
        let usual = |of: fn(&Exchange) -> Tokens| self.usual().map(of).sum::<Tokens>().as_f64();
        let between = usual(|sent| sent.usage.cache_read) / usual(|sent| sent.usage.all_input());
        let peak = self.sent.iter().map(|sent| sent.usage.all_input()).max();
        Side {
            requests: self.sent.len(),
            refused: self.account.refused,
            boundaries: self.sent.iter().filter(|sent| sent.is_boundary()).count(),
            waits: self.waits(),
            pins: Pins {
                set: self.pins,
                requests: self.audit.requests,
                intact: self.audit.with_pins,
            },
            prefix: Prefix {
                pairs: self.audit.pairs,
                changed_bytes: self.audit.changed,
            },
            used: Used {
                summaries: self.account.summaries,
                input: input.get(),
                cache_read: used.cache_read.get(),
                cache_write: (used.cache_write + used.cache_write_long).get(),
                cache_share: used.cache_read.as_f64() / input.as_f64(),
                cache_share_between: between,
                output: used.output.get(),
                cost: self.account.cost.get(),
                peak_pressure: peak.unwrap_or_default().as_f64() / self.window.as_f64(),
            },
            course: self.sent.iter().map(|sent| self.point(sent)).collect(),
        }
    }

    fn point(&self, sent: &Exchange) -> Point {
        Point {
            felt_seconds: self.timing.felt(sent),
            pressure: sent.usage.all_input().as_f64() / self.window.as_f64(),
            compaction: sent.is_boundary(),
        }
    }

    fn waits(&self) -> Waits {
        let usual: Vec<&Exchange> = self.usual().collect();
        let own_ms = |sent: &Exchange| self.timing.own(sent) * 1e3;
        let fresh = median_tokens(usual.iter().map(|sent| fresh(sent)).collect());
        let felt = usual.iter().map(|sent| self.timing.felt(sent));
        let answered = || self.sent.iter().filter(|sent| !self.timing.was_held(sent));
        let own = median(answered().map(own_ms).collect());
        let at: Vec<usize> = (0..self.sent.len())
            .filter(|&at| self.sent.get(at).is_some_and(Exchange::is_boundary))
            .collect();
        let at_boundaries = answered().filter(|sent| sent.is_boundary());
        let extra = at.iter().map(|&at| self.extra(at, fresh, own / 1e3));
        Waits {
            longest_seconds: extra.clone().fold(0.0, f64::max),
            total_seconds: extra.sum(),
            usual_seconds: median(felt.collect()),
            own_median_ms: own,
            own_longest_at_boundary_ms: at_boundaries.map(own_ms).reduce(f64::max),
            own_longest_elsewhere_ms: usual.iter().map(|sent| own_ms(sent)).fold(0.0, f64::max),
        }
    }

    /// The exchanges without a compaction, except those that follow an agent's own summary.
    fn usual(&self) -> impl Iterator<Item = &Exchange> {
        let follows = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| self.sent.get(at));
            before.is_some_and(|sent| sent.summary)
        };
        self.sent
            .iter()
            .enumerate()
            .filter(move |(at, sent)| !sent.is_boundary() && !follows(*at))
            .map(|(_, sent)| sent)
    }

    /// The extra wait at a compaction, in seconds at real speed.
    fn extra(&self, at: usize, usual_fresh: u64, usual_own: f64) -> f64 {
        let Some(sent) = self.sent.get(at) else {
            return 0.0;
        };
        if sent.summary {
            // The user waits for the whole summary; the next request then has an empty cache.
            let after = self.sent.get(at + 1);
            let after = after.map_or(0.0, |sent| self.timing.beyond(sent, usual_fresh));
            return self.timing.felt(sent) + after;
        }
        (self.timing.beyond(sent, usual_fresh) + self.timing.own_or_held(sent) - usual_own).max(0.0)
    }
}

fn median_tokens(mut values: Vec<Tokens>) -> u64 {
    values.sort();
    values
        .get(values.len() / 2)
        .map_or(0, |tokens| tokens.get())
}

/// The upper median; 0 for an empty list.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{Account, Audit, Exchange, Measured, Timing, Tokens};
    use std::time::Duration;
    use wire::api::Counts;

    /// A request of 20,000 tokens, of which `fresh` are not cached; its answer begins `late`
    /// milliseconds after the simulated time.
    fn sent(number: usize, fresh: u64, late: f64) -> Exchange {
        let usage = Counts {
            input: Tokens::new(fresh),
            cache_read: Tokens::new(20_000 - fresh),
            output: Tokens::new(800),
            ..Counts::default()
        };
        let latency = Timing::new(10.0).running();
        let first = latency.first(fresh, 20_000 - fresh).as_secs_f64();
        Exchange {
            number,
            usage,
            first: Duration::from_secs_f64(first + late / 1e3),
            did: Vec::new(),
            summary: false,
            calls: Vec::new(),
        }
    }

    /// Checks the longest wait, in seconds, of a compaction that follows usual requests.
    #[track_caller]
    fn check(boundary: Vec<Exchange>, expected: f64) {
        let usual = |number| sent(number, 1_000, 2.0);
        let sent: Vec<Exchange> = (1..6).map(usual).chain(boundary).collect();
        let measured = Measured {
            sent: &sent,
            account: Account::default(),
            audit: Audit::default(),
            pins: 0,
            timing: Timing::new(10.0),
            window: Tokens::new(32_000),
        };
        let waits = measured.waits();
        assert!((waits.own_median_ms - 2.0).abs() < 0.01, "{waits:?}");
        assert!((waits.usual_seconds - 0.4995).abs() < 1e-6, "{waits:?}");
        assert!((waits.longest_seconds - expected).abs() < 1e-3, "{waits:?}");
    }

    fn with(did: &str, mut sent: Exchange) -> Exchange {
        sent.did.push(did.to_owned());
        sent
    }

    #[test]
    fn a_swap_waits_for_what_is_read_anew_and_for_us() {
        // 9,000 tokens more at 20,000 a second instead of 400,000, and 3 ms more than usual.
        let beyond = 9_000.0 / 20_000.0 - 9_000.0 / 400_000.0;
        check(vec![with("swapped", sent(6, 10_000, 5.0))], beyond + 0.003);
    }

    #[test]
    fn a_summary_of_ones_own_is_waited_for_whole() {
        let mut summary = sent(6, 1_000, 2.0);
        summary.summary = true;
        let after = sent(7, 1_000, 2.0);
        check(vec![summary, after], 0.4975 + 10.0 + 0.002);
    }
}
