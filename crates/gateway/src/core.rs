//! The inner half: keeps the conversations and decides what is sent.
//!
//! A request joins its conversation (`join`), the conversation's supervisor is asked until it lets the
//! request go (`decide`), what it orders is made in the background (`prepare`), and the answer is
//! heard (`ticket`). What was said is kept (`writer`); text stays in memory only while it is needed.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use history::{Engine, HistoryError};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::metrics::Metrics;
use crate::words::Did;

mod call;
mod choice;
mod continuation;
mod count;
mod decide;
mod dress;
mod durations;
mod exchange;
mod identity;
mod join;
mod journal;
mod keep;
mod ledger;
mod live;
mod money;
mod orders;
mod own;
mod pins;
mod prepare;
mod queue;
mod reading;
mod recall;
mod registry;
mod reports;
mod rescue;
mod retention;
mod revive;
mod say;
mod texts;
mod ticket;
mod windows;
mod writer;

pub use exchange::{Arrival, Direct, Endpoint, Generation, Heard, Outgoing, Rescue, Verdict};
pub use ticket::Ticket;

/// Tells the time. Only the binary knows a real one.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How often conversations that rest are looked for.
const ROUND: Duration = Duration::from_secs(15);

/// After how long without a request the texts of a conversation leave memory.
const REST: SignedDuration = SignedDuration::from_secs(45);

/// How long preparations may take to notice that they are not wanted any more.
const GRACE: Duration = Duration::from_secs(5);

/// What the inner half is made of.
#[derive(Clone)]
pub struct Parts {
    /// What was set.
    pub config: Arc<Config>,
    /// Where the history is kept.
    pub engine: Arc<dyn Engine>,
    /// The time, for what is not called with one.
    pub clock: Clock,
    /// Where it counts what it does.
    pub metrics: Arc<Metrics>,
}

/// The conversations of all tenants, and what is decided about their requests. Cloning shares them.
#[derive(Clone)]
pub struct Core {
    inner: Arc<Inner>,
}

/// What requests, preparations and answers have in common.
struct Inner {
    parts: Parts,
    secret: [u8; 32],
    keyed: identity::Keyed,
    writer: writer::Writer,
    registry: registry::Registry,
    answers: continuation::Answers,
    heads: recall::Heads,
    reading: reading::Reading,
    models: call::Models,
    windows: windows::Windows,
    jobs: prepare::Jobs,
    client: model::Client,
    /// The share of the window at which the strategy begins to act.
    soft: f64,
    /// How many conversations were begun.
    begun: AtomicU64,
    /// Whether somebody looks for conversations that rest.
    is_watched: AtomicBool,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

impl Core {
    /// An inner half without conversations.
    ///
    /// # Errors
    /// Where the engine fails.
    pub fn new(parts: Parts) -> Result<Self, HistoryError> {
        let secret = parts.engine.secret()?;
        let most = parts.config.limits.preparations;
        Ok(Self {
            inner: Arc::new(Inner {
                secret,
                keyed: identity::Keyed::new(&secret),
                writer: writer::Writer::start(Arc::clone(&parts.engine)),
                registry: registry::Registry::default(),
                answers: continuation::Answers::default(),
                heads: recall::Heads::default(),
                reading: reading::Reading::default(),
                models: call::Models::default(),
                windows: windows::Windows::default(),
                jobs: prepare::Jobs::new(most),
                client: model::Client::new(model::Settings::default()),
                soft: choice::acts_from(&parts.config.policy),
                begun: AtomicU64::new(0),
                is_watched: AtomicBool::new(false),
                parts,
            }),
        })
    }

    /// What it is made of.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    /// Whether the newest thing that was to be kept could not be, because of the store.
    #[must_use]
    pub fn is_forgetting(&self) -> bool {
        self.inner.writer.is_failing()
    }

    /// Decides about a request. It may wait; dropping it says that the client went away. The caller
    /// keeps the arrival's bytes and sends them where this panics.
    pub async fn arrive(&self, arrival: Arrival, now: Timestamp) -> Verdict {
        if !self.inner.is_watched.swap(true, Ordering::Relaxed) {
            self.watch();
        }
        match arrival.endpoint {
            Endpoint::Generate(dialect) => self.inner.generate(arrival, dialect, now).await,
            Endpoint::Count(dialect) => self.inner.count(arrival, dialect, now).await,
            Endpoint::Other => {
                let outgoing = decide::as_it_came(arrival.body, Did::Passed);
                Verdict::Send(outgoing, Ticket::default())
            }
        }
    }

    /// Lets conversations that rest leave memory, as long as there is a core.
    fn watch(&self) {
        let inner = Arc::downgrade(&self.inner);
        let cancel = self.inner.jobs.cancel.clone();
        self.inner.jobs.tracker.spawn(async move {
            let mut retention = retention::Due::default();
            loop {
                tokio::select! {
                    () = cancel.cancelled() => return,
                    () = sleep(ROUND) => {}
                }
                let Some(inner) = inner.upgrade() else { return };
                let now = (inner.parts.clock)();
                inner.let_rest(now);
                inner.forget(&mut retention, now).await;
            }
        });
    }

    /// Ends what is under way: no new preparation begins, and what is to be kept is kept when this
    /// returns.
    pub async fn close(&self) {
        let jobs = &self.inner.jobs;
        jobs.cancel.cancel();
        jobs.tracker.close();
        // One that does not notice is not waited for.
        let _ = timeout(GRACE, jobs.tracker.wait()).await;
        self.inner.writer.flush().await;
    }
}

impl Inner {
    /// The texts of conversations that rest leave memory, and idle conversations altogether.
    fn let_rest(&self, now: Timestamp) {
        let limits = &self.parts.config.limits;
        self.registry.sweep(now, limits.idle, limits.conversations);
        self.heads.sweep();
        let rest = i64::try_from(REST.as_millis()).unwrap_or(i64::MAX);
        let oldest = now.as_millisecond().saturating_sub(rest);
        let mut pins = 0;
        for shared in self.registry.all(None) {
            let mut live = shared.lock();
            pins += live.pins.iter().count();
            if shared.seen() < oldest && !live.is_busy() {
                live.rest();
            }
        }
        self.parts.metrics.holds(self.registry.len(), pins);
    }
}

#[cfg(test)]
mod tests;
