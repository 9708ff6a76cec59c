//! The figures of a demo: the same work with the gateway and without.

use context::Tokens;
use serde::Serialize;
use sim::Account;

use super::agent::Sent;
use super::evidence::Evidence;
use super::pace::{Pace, fresh};

/// The name and version of the shape of `--json`.
pub const SCHEMA: &str = "ebbtide.demo/1";

/// Everything that was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The name and version of this shape.
    pub schema: &'static str,
    /// The folder that was read.
    pub folder: String,
    /// The model that the simulated provider plays.
    pub model: String,
    /// The window, in tokens.
    pub window: u64,
    /// The strategy of the gateway.
    pub strategy: String,
    /// Whether it failed, and `prepared` took its place.
    pub strategy_failed: bool,
    /// How many times as fast as a real provider the simulated one answered.
    pub speed: f64,
    /// Tasks that the user gave.
    pub tasks: usize,
    /// Through the gateway.
    pub with: Side,
    /// Straight to the provider, with an agent that summarises for itself.
    pub without: Side,
}

/// One of the two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Requests of the agent that were answered.
    pub requests: usize,
    /// Requests that the provider refused.
    pub refused: u64,
    /// How often the conversation was made smaller.
    pub boundaries: usize,
    /// Waiting because of that.
    pub waits: Waits,
    /// The pins in the requests as the provider received them.
    pub pins: Pins,
    /// The bytes of the requests as the provider received them.
    pub prefix: Prefix,
    /// What was used, summaries included.
    pub used: Used,
}

/// How long requests waited for the first event of their answer because the conversation was made
/// smaller, beyond what a usual request of the same size waits. A usual request reads all from the
/// cache but its newest messages.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Waits {
    /// The longest such wait, in seconds of a provider at real speed. The provider's part is simulated;
    /// what comes on top of it is measured.
    pub longest_seconds: f64,
    /// All of them.
    pub total_seconds: f64,
    /// What usual requests wait, in seconds at real speed: the median.
    pub usual_seconds: f64,
    /// Measured beyond the simulated time, in milliseconds: connections, the simulated provider's own
    /// work, and the gateway where there is one. The median of all requests.
    pub own_median_ms: f64,
    /// The same, the longest at a boundary; `None` without a boundary.
    pub own_longest_at_boundary_ms: Option<f64>,
    /// The same, the longest elsewhere.
    pub own_longest_elsewhere_ms: f64,
}

/// Pins in the received requests.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pins {
    /// How many were set in the end.
    pub set: usize,
    /// Requests received.
    pub requests: usize,
    /// Those in which every pin set by then stood verbatim.
    pub intact: usize,
}

/// Bytes in the received requests.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Prefix {
    /// Pairs of neighbouring requests without a boundary between them.
    pub pairs: usize,
    /// Bytes of the first that did not stand in the second as they were.
    pub changed_bytes: usize,
}

/// Tokens and their price.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Used {
    /// Summaries that a model wrote.
    pub summaries: u64,
    /// All input tokens.
    pub input: u64,
    /// Those of them that came from the cache.
    pub cache_read: u64,
    /// Those of them that were written to the cache.
    pub cache_write: u64,
    /// Their share.
    pub cache_share: f64,
    /// Their share in requests at which nothing was made smaller.
    pub cache_share_between: f64,
    /// Output tokens.
    pub output: u64,
    /// In US dollars, by the model table.
    pub cost: f64,
    /// The largest request, as a share of the window.
    pub peak_pressure: f64,
}

/// What one run was.
pub struct Run<'a> {
    /// The agent's requests.
    pub sent: &'a [Sent],
    /// The provider's account.
    pub account: Account,
    /// What the provider received.
    pub evidence: Evidence,
    /// How many pins were set.
    pub pins: usize,
    /// How long its provider takes.
    pub pace: Pace,
    /// The window.
    pub window: Tokens,
}

impl Run<'_> {
    /// Its figures.
    pub fn side(&self) -> Side {
        let used = &self.account.used;
        let input = used.input();
        let usual = |of: fn(&Sent) -> Tokens| self.usual().map(of).sum::<Tokens>().as_f64();
        let between = usual(|sent| sent.usage.cache_read) / usual(|sent| sent.usage.all_input());
        let peak = self.sent.iter().map(|sent| sent.usage.all_input()).max();
        Side {
            requests: self.sent.len(),
            refused: self.account.refused,
            boundaries: self.sent.iter().filter(|sent| sent.is_boundary()).count(),
            waits: self.waits(),
            pins: Pins {
                set: self.pins,
                requests: self.evidence.requests,
                intact: self.evidence.with_pins,
            },
            prefix: Prefix {
                pairs: self.evidence.pairs,
                changed_bytes: self.evidence.changed,
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
        }
    }

    fn waits(&self) -> Waits {
        let usual: Vec<&Sent> = self.usual().collect();
        let own_ms = |sent: &Sent| self.pace.own(sent) * 1e3;
        let fresh = median_tokens(usual.iter().map(|sent| fresh(sent)).collect());
        let felt = usual.iter().map(|sent| self.pace.felt(sent));
        let answered = || self.sent.iter().filter(|sent| !self.pace.was_held(sent));
        let own = median(answered().map(own_ms).collect());
        let at: Vec<usize> = (0..self.sent.len())
            .filter(|&at| self.sent.get(at).is_some_and(Sent::is_boundary))
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

    /// The requests at which nothing was made smaller, and which do not follow such a one.
    fn usual(&self) -> impl Iterator<Item = &Sent> {
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

    /// What a boundary cost in waiting, in seconds at real speed.
    fn extra(&self, at: usize, usual_fresh: u64, usual_own: f64) -> f64 {
        let Some(sent) = self.sent.get(at) else {
            return 0.0;
        };
        if sent.summary {
            // Nobody hears anything until the summary is written; the request after it begins anew.
            let after = self.sent.get(at + 1);
            let after = after.map_or(0.0, |sent| self.pace.beyond(sent, usual_fresh));
            return self.pace.felt(sent) + after;
        }
        (self.pace.beyond(sent, usual_fresh) + self.pace.own_or_held(sent) - usual_own).max(0.0)
    }
}

/// As [`median`], of tokens.
fn median_tokens(mut values: Vec<Tokens>) -> u64 {
    values.sort();
    values
        .get(values.len() / 2)
        .map_or(0, |tokens| tokens.get())
}

/// The middle one; of an even number the upper of the two; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{Account, Evidence, Pace, Run, Sent, Tokens};
    use std::time::Duration;
    use wire::api::Counts;

    /// A request of 20,000 tokens, so many of them read anew, whose answer begins so many
    /// milliseconds after the simulated time.
    fn sent(number: usize, fresh: u64, late: f64) -> Sent {
        let usage = Counts {
            input: Tokens::new(fresh),
            cache_read: Tokens::new(20_000 - fresh),
            output: Tokens::new(800),
            ..Counts::default()
        };
        let latency = Pace::new(10.0).running();
        let first = latency.first(fresh, 20_000 - fresh).as_secs_f64();
        Sent {
            number,
            usage,
            first: Duration::from_secs_f64(first + late / 1e3),
            did: Vec::new(),
            summary: false,
            calls: Vec::new(),
        }
    }

    /// The boundary among usual requests: its longest wait in seconds.
    #[track_caller]
    fn check(boundary: Vec<Sent>, expected: f64) {
        let usual = |number| sent(number, 1_000, 2.0);
        let sent: Vec<Sent> = (1..6).map(usual).chain(boundary).collect();
        let run = Run {
            sent: &sent,
            account: Account::default(),
            evidence: Evidence::default(),
            pins: 0,
            pace: Pace::new(10.0),
            window: Tokens::new(32_000),
        };
        let waits = run.waits();
        assert!((waits.own_median_ms - 2.0).abs() < 0.01, "{waits:?}");
        assert!((waits.usual_seconds - 0.4995).abs() < 1e-6, "{waits:?}");
        assert!((waits.longest_seconds - expected).abs() < 1e-3, "{waits:?}");
    }

    fn with(did: &str, mut sent: Sent) -> Sent {
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
