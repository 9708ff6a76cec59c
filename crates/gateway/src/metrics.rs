//! The gateway's metrics. No label names a tenant, a key or a conversation.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

use conversation::Acted;
use conversation::words::Did;

/// The work that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Deciding about a request: the client's own bytes were sent.
    Deciding,
    /// Watching an answer: the rest was forwarded unwatched.
    Watching,
    /// Watching an answer that is too long for it: the rest was forwarded unwatched.
    TooLong,
    /// Recording the conversation.
    Keeping,
    /// Recording it while the client waits: the record came later.
    StoringInTime,
    /// The strategy: the default strategy replaced it in that conversation.
    Strategy,
}

impl Failure {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Deciding => "deciding",
            Self::Watching => "watching",
            Self::TooLong => "too_long",
            Self::Keeping => "keeping",
            Self::StoringInTime => "keeping_in_time",
            Self::Strategy => "strategy",
        }
    }
}

/// The result of a preparation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// A summary is ready.
    Ready,
    /// An error, or a summary of insufficient quality.
    Failed,
    /// The summary was no longer needed.
    Abandoned,
}

impl Preparation {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }
}

/// A kind of token that a provider reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Input that was neither read from nor written to the cache.
    Fresh,
    /// Input read from the cache.
    CacheRead,
    /// Input written to the cache.
    CacheWrite,
    /// Output.
    Output,
}

impl TokenKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::Output => "output",
        }
    }
}

type Counts = Family<Vec<(&'static str, String)>, Counter>;

/// Declares a struct of metrics, each registered under its field's name.
macro_rules! metrics {
    ($name:ident { $($field:ident: $kind:ty, $help:literal;)* }) => {
        struct $name { $($field: $kind),* }

        impl $name {
            fn register(registry: &mut Registry) -> Self {
                Self { $($field: register(registry, stringify!($field), $help, <$kind>::default())),* }
            }
        }
    };
}

metrics!(Counters {
    requests: Counts, "Requests, by endpoint and status";
    did: Counts, "What was done to requests; one request can count for several words";
    failures: Counts, "Failures inside the gateway, by the work that failed";
    body_bytes: Counts, "Bytes of bodies, by direction";
    swaps: Counts, "Summaries swapped in, by route";
    preparations: Counts, "Preparations, by route and result";
    rescues: Counts, "Requests refused for their length or their thinking and sent again, by result";
    input_transformations: Counts, "Changes that the provider reported making to the input, by kind";
    cache_misses: Counts, "Cache misses, by the provider's reason";
    acts: Counts, "Requests in which the agent had acted with something out of its sight, by the swap that hid it";
    regrets: Counts, "Signs that the agent missed what was out of its sight, by kind";
    tokens: Counts, "Tokens as providers report them, by kind";
});

metrics!(Gauges {
    in_flight: Gauge, "Requests in progress";
    conversations: Gauge, "Conversations in memory";
    pins: Gauge, "Pins of the conversations in memory";
    cost_usd: Counter<f64, AtomicU64>, "Cost of those tokens by the price list, in USD";
});

/// All metrics of one gateway.
pub struct Metrics {
    registry: Registry,
    counters: Counters,
    gauges: Gauges,
    own: Histogram,
    keeping: Histogram,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("ebbtide");
        let own = "Time from a request's last byte to its forwarding, waits for a summary included";
        let keeping =
            "Time for which the end of an answer was held back to record the conversation";
        Self {
            counters: Counters::register(&mut registry),
            gauges: Gauges::register(&mut registry),
            own: register(&mut registry, "own_seconds", own, times()),
            keeping: register(&mut registry, "keeping_seconds", keeping, times()),
            registry,
        }
    }
}

fn register<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// A histogram of times from 10 µs to 1.3 s, doubling.
fn times() -> Histogram {
    Histogram::new(exponential_buckets(0.000_01, 2.0, 18))
}

fn labels<const N: usize>(pairs: [(&'static str, &str); N]) -> Vec<(&'static str, String)> {
    pairs.map(|(name, value)| (name, value.to_owned())).into()
}

fn count<const N: usize>(counts: &Counts, pairs: [(&'static str, &str); N], by: u64) {
    counts.get_or_create(&labels(pairs)).inc_by(by);
}

impl Metrics {
    /// Formats all metrics as OpenMetrics text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Counts a request by the status of its answer and by what was done to it.
    pub fn answered(&self, endpoint: &'static str, status: u16, did: &[Did]) {
        let pairs = [("endpoint", endpoint), ("status", &status.to_string())];
        count(&self.counters.requests, pairs, 1);
        for word in did {
            count(&self.counters.did, [("did", word.as_str())], 1);
        }
    }

    /// Counts a failure inside the gateway that did not stop the request.
    pub fn failed(&self, at: Failure) {
        count(&self.counters.failures, [("at", at.as_str())], 1);
    }

    /// Returns the number of failures of this kind.
    #[must_use]
    pub fn failures(&self, at: Failure) -> u64 {
        let labels = labels([("at", at.as_str())]);
        self.counters.failures.get_or_create(&labels).get()
    }

    /// Counts bytes of request bodies.
    pub fn received(&self, bytes: usize) {
        count(
            &self.counters.body_bytes,
            [("direction", "in")],
            bytes as u64,
        );
    }

    /// Counts bytes of answers sent to clients.
    pub fn sent(&self, bytes: usize) {
        count(
            &self.counters.body_bytes,
            [("direction", "out")],
            bytes as u64,
        );
    }

    /// Records the time from receiving a request to forwarding it.
    pub fn own_time(&self, time: Duration) {
        self.own.observe(time.as_secs_f64());
    }

    /// Records how long the end of an answer was held back to record the conversation.
    pub fn keeping_time(&self, time: Duration) {
        self.keeping.observe(time.as_secs_f64());
    }

    /// Counts a request in.
    pub fn began(&self) {
        self.gauges.in_flight.inc();
    }

    /// Counts a request out, however it ended.
    pub fn ended(&self) {
        self.gauges.in_flight.dec();
    }

    /// Counts a swap by the route of its summary.
    pub fn swapped(&self, route: &'static str) {
        count(&self.counters.swaps, [("route", route)], 1);
    }

    /// Counts the end of a preparation.
    pub fn prepared(&self, route: &'static str, result: Preparation) {
        let pairs = [("route", route), ("result", result.as_str())];
        count(&self.counters.preparations, pairs, 1);
    }

    /// Counts an act of an agent with something out of its sight, and what it showed to miss.
    pub fn acted(&self, acted: &Acted) {
        let (hider, strategy) = (acted.hider.as_str(), &*acted.strategy);
        let by = [
            ("swap", hider),
            ("strategy", strategy),
            ("model", acted.model.name.as_str()),
        ];
        count(&self.counters.acts, by, 1);
        for kind in &acted.missed {
            let [swap, strategy, model] = by;
            let labels = [("kind", kind.as_str()), swap, strategy, model];
            count(&self.counters.regrets, labels, 1);
        }
    }

    /// Counts a request that was refused and sent again, by the second status.
    pub fn rescued(&self, status: u16) {
        let result = if status < 400 { "answered" } else { "refused" };
        count(&self.counters.rescues, [("result", result)], 1);
    }

    /// Counts a change that the provider reported making to the input.
    pub fn transformed(&self, kind: &str) {
        let pairs = [("kind", closed(kind))];
        count(&self.counters.input_transformations, pairs, 1);
    }

    /// Counts a cache miss by the provider's reason.
    pub fn cache_missed(&self, reason: &str) {
        count(&self.counters.cache_misses, [("reason", closed(reason))], 1);
    }

    /// Sets the number of conversations in memory and of their pins.
    pub fn holds(&self, conversations: usize, pins: usize) {
        let clamped = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.gauges.conversations.set(clamped(conversations));
        self.gauges.pins.set(clamped(pins));
    }

    /// Counts tokens reported by the provider.
    pub fn used(&self, kind: TokenKind, tokens: u64) {
        count(&self.counters.tokens, [("kind", kind.as_str())], tokens);
    }

    /// Adds to the cost, in USD.
    pub fn cost(&self, usd: f64) {
        if usd.is_finite() && usd > 0.0 {
            self.gauges.cost_usd.inc_by(usd);
        }
    }
}

/// Returns a provider's word as a label. Anything that does not look like such a word becomes `other`, so
/// that no text gets into the metrics.
fn closed(word: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    if (1..=40).contains(&word.len()) && word.bytes().all(plain) {
        word
    } else {
        "other"
    }
}
