//! What is counted. No label names a tenant, a key or a conversation.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

use conversation::words::Did;

/// Where a count of what failed here comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Deciding about a request: the client's own bytes were sent.
    Deciding,
    /// Watching an answer: it was passed on unwatched.
    Watching,
    /// Keeping what was said.
    Keeping,
    /// The strategy: the default took its place in that conversation.
    Strategy,
}

impl Failure {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Deciding => "deciding",
            Self::Watching => "watching",
            Self::Keeping => "keeping",
            Self::Strategy => "strategy",
        }
    }
}

/// How a preparation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// With a summary.
    Ready,
    /// With an error, or a summary that was not good enough.
    Failed,
    /// It was not wanted any more.
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

/// Labels with fixed names, at most two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Labels([Option<(&'static str, String)>; 2]);

impl Labels {
    fn one(name: &'static str, value: &str) -> Self {
        Self([Some((name, value.to_owned())), None])
    }

    fn two(one: (&'static str, &str), two: (&'static str, &str)) -> Self {
        Self([
            Some((one.0, one.1.to_owned())),
            Some((two.0, two.1.to_owned())),
        ])
    }
}

impl EncodeLabelSet for Labels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        let given: Vec<(&str, &str)> = self
            .0
            .iter()
            .flatten()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        given.encode(encoder)
    }
}

type Counts = Family<Labels, Counter>;

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    traffic: Traffic,
    work: Work,
    usage: Usage,
}

/// What the outer half counts.
struct Traffic {
    requests: Counts,
    did: Counts,
    failures: Counts,
    bytes: Counts,
    in_flight: Gauge,
    own: Histogram,
    keeping: Histogram,
}

/// What the inner half does.
struct Work {
    swaps: Counts,
    preparations: Counts,
    rescues: Counts,
    transformations: Counts,
    cache_misses: Counts,
    conversations: Gauge,
    pins: Gauge,
}

/// What providers report.
struct Usage {
    tokens: Counts,
    cost: Counter<f64, std::sync::atomic::AtomicU64>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("ebbtide");
        Self {
            traffic: Traffic::in_registry(&mut registry),
            work: Work::in_registry(&mut registry),
            usage: Usage::in_registry(&mut registry),
            registry,
        }
    }
}

fn register<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// A histogram of times, from 10 µs to 1.3 s, doubling.
fn times(registry: &mut Registry, name: &'static str, help: &'static str) -> Histogram {
    let times = Histogram::new(exponential_buckets(0.000_01, 2.0, 18));
    registry.register(name, help, times.clone());
    times
}

impl Traffic {
    fn in_registry(registry: &mut Registry) -> Self {
        let own = times(
            registry,
            "own_seconds",
            "Time between a request's last byte and its sending, waits for a summary included",
        );
        let keeping = times(
            registry,
            "keeping_seconds",
            "Time for which the end of an answer was held back until what was said is kept",
        );
        Self {
            requests: register(registry, "requests", "Requests, by endpoint and status"),
            did: register(
                registry,
                "did",
                "What was done to requests; one can count for several words",
            ),
            failures: register(
                registry,
                "failures",
                "Failures here, by what was being done",
            ),
            bytes: register(registry, "body_bytes", "Bytes of bodies, by direction"),
            in_flight: register(registry, "in_flight", "Requests under way"),
            own,
            keeping,
        }
    }
}

impl Work {
    fn in_registry(registry: &mut Registry) -> Self {
        Self {
            swaps: register(registry, "swaps", "Summaries swapped in, by route"),
            preparations: register(
                registry,
                "preparations",
                "Preparations, by route and result",
            ),
            rescues: register(
                registry,
                "rescues",
                "Requests refused as too long, or for their thinking, and sent again, by result",
            ),
            transformations: register(
                registry,
                "input_transformations",
                "What the provider said it did to the input, by kind",
            ),
            cache_misses: register(
                registry,
                "cache_misses",
                "Cache misses, by the provider's reason",
            ),
            conversations: register(registry, "conversations", "Conversations in memory"),
            pins: register(registry, "pins", "Pins of the conversations in memory"),
        }
    }
}

impl Usage {
    fn in_registry(registry: &mut Registry) -> Self {
        Self {
            tokens: register(
                registry,
                "tokens",
                "Tokens as providers report them, by kind",
            ),
            cost: register(
                registry,
                "cost_usd",
                "What that cost by the price list, in USD",
            ),
        }
    }
}

impl Metrics {
    /// All of it as text in the OpenMetrics format.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// A request was answered with this status.
    pub fn answered(&self, endpoint: &'static str, status: u16, did: &[Did]) {
        let labels = Labels::two(("endpoint", endpoint), ("status", &status.to_string()));
        self.traffic.requests.get_or_create(&labels).inc();
        for word in did {
            let labels = Labels::one("did", word.as_str());
            self.traffic.did.get_or_create(&labels).inc();
        }
    }

    /// Something here failed; the request went on without it.
    pub fn failed(&self, at: Failure) {
        let labels = Labels::one("at", at.as_str());
        self.traffic.failures.get_or_create(&labels).inc();
    }

    /// How often something failed there.
    #[must_use]
    pub fn failures(&self, at: Failure) -> u64 {
        let labels = Labels::one("at", at.as_str());
        self.traffic.failures.get_or_create(&labels).get()
    }

    /// So many bytes of a request's body came.
    pub fn received(&self, bytes: usize) {
        let labels = Labels::one("direction", "in");
        self.traffic
            .bytes
            .get_or_create(&labels)
            .inc_by(bytes as u64);
    }

    /// So many bytes of an answer's body went to a client.
    pub fn sent(&self, bytes: usize) {
        let labels = Labels::one("direction", "out");
        self.traffic
            .bytes
            .get_or_create(&labels)
            .inc_by(bytes as u64);
    }

    /// How long a request was here before it was sent.
    pub fn own_time(&self, time: Duration) {
        self.traffic.own.observe(time.as_secs_f64());
    }

    /// How long the end of an answer was held back until what was said was kept.
    pub fn keeping_time(&self, time: Duration) {
        self.traffic.keeping.observe(time.as_secs_f64());
    }

    /// A request began.
    pub fn began(&self) {
        self.traffic.in_flight.inc();
    }

    /// A request ended, whatever became of it.
    pub fn ended(&self) {
        self.traffic.in_flight.dec();
    }

    /// A summary made by this route was swapped in.
    pub fn swapped(&self, route: &'static str) {
        self.work
            .swaps
            .get_or_create(&Labels::one("route", route))
            .inc();
    }

    /// A preparation by this route ended.
    pub fn prepared(&self, route: &'static str, result: Preparation) {
        let labels = Labels::two(("route", route), ("result", result.as_str()));
        self.work.preparations.get_or_create(&labels).inc();
    }

    /// A request that was refused as too long was sent again, and this was the status.
    pub fn rescued(&self, status: u16) {
        let result = if status < 400 { "answered" } else { "refused" };
        self.work
            .rescues
            .get_or_create(&Labels::one("result", result))
            .inc();
    }

    /// The provider said that it changed the input in this way.
    pub fn transformed(&self, kind: &str) {
        self.work
            .transformations
            .get_or_create(&Labels::one("kind", closed(kind)))
            .inc();
    }

    /// The provider said why its cache was missed.
    pub fn cache_missed(&self, reason: &str) {
        self.work
            .cache_misses
            .get_or_create(&Labels::one("reason", closed(reason)))
            .inc();
    }

    /// So many conversations are in memory, with so many pins.
    pub fn holds(&self, conversations: usize, pins: usize) {
        let most = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.work.conversations.set(most(conversations));
        self.work.pins.set(most(pins));
    }

    /// The provider reported these tokens.
    pub fn used(&self, kind: TokenKind, tokens: u64) {
        let labels = Labels::one("kind", kind.as_str());
        self.usage.tokens.get_or_create(&labels).inc_by(tokens);
    }

    /// That cost so much, in USD.
    pub fn cost(&self, usd: f64) {
        if usd.is_finite() && usd > 0.0 {
            self.usage.cost.inc_by(usd);
        }
    }
}

/// A provider's word as a label. What does not look like one of its words counts as `other`, so that no
/// text gets in.
fn closed(word: &str) -> &str {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    if (1..=40).contains(&word.len()) && word.bytes().all(plain) {
        word
    } else {
        "other"
    }
}
