//! The conversations of all tenants: carries out what each of them decides.
//!
//! A request is brought to its conversation (`find`), the conversation is asked until it lets the request
//! go (`request`), the summaries that it orders are made in the background (`jobs`), and the answer is
//! brought to it (`ticket`). What it gives to the store goes through one queue (`writer`).

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ::conversation::continuation::Answers;
use ::conversation::words::Did;
use ::conversation::{Commons, Effect, Input, Lesson, Notice, Terms};
use history::{Engine, HistoryError, Tenant};
use jiff::{SignedDuration, Timestamp};
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::metrics::{Failure, Metrics, TokenKind};

mod exchange;
mod find;
mod jobs;
mod queue;
mod reading;
mod registry;
mod reports;
mod request;
mod retention;
mod ticket;
mod writer;

pub use exchange::{Arrival, Endpoint, Generation, Heard, Outgoing, Remedy, Verdict};
pub use ticket::Ticket;

use registry::Shared;
use writer::StoreFailure;

/// Tells the time. Only the binary knows a real one.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The interval at which idle conversations are looked for.
const ROUND: Duration = Duration::from_secs(15);

/// The time without a request after which the texts of a conversation leave memory.
const REST: SignedDuration = SignedDuration::from_secs(45);

/// The time that preparations have to notice that they are no longer wanted.
const GRACE: Duration = Duration::from_secs(5);

/// The services that conversations rely on.
#[derive(Clone)]
pub struct Parts {
    /// The configuration.
    pub config: Arc<Config>,
    /// The history.
    pub engine: Arc<dyn Engine>,
    /// The time, for what is not called with one.
    pub clock: Clock,
    /// The metrics.
    pub metrics: Arc<Metrics>,
}

/// The conversations of all tenants. Cloning shares them.
#[derive(Clone)]
pub struct Conversations {
    inner: Arc<Inner>,
}

/// State that requests, preparations and reports share.
struct Inner {
    parts: Parts,
    terms: Arc<Terms>,
    commons: Commons,
    writer: writer::Writer,
    registry: registry::Registry,
    answers: Answers,
    reading: reading::Reading,
    jobs: jobs::Jobs,
    /// The number of conversations begun.
    begun: AtomicU64,
    /// True if a task looks for idle conversations.
    is_watched: AtomicBool,
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations").finish_non_exhaustive()
    }
}

impl Conversations {
    /// No conversations in memory; those of the store come back with their next request.
    ///
    /// # Errors
    /// Where the engine fails.
    pub fn new(parts: Parts) -> Result<Self, HistoryError> {
        let secret = parts.engine.secret()?;
        Ok(Self {
            inner: Arc::new(Inner {
                terms: Arc::new(parts.config.terms()),
                commons: Commons::new(secret),
                writer: writer::Writer::start(Arc::clone(&parts.engine)),
                registry: registry::Registry::default(),
                answers: Answers::default(),
                reading: reading::Reading::default(),
                jobs: jobs::Jobs::new(parts.config.limits.preparations),
                begun: AtomicU64::new(0),
                is_watched: AtomicBool::new(false),
                parts,
            }),
        })
    }

    /// The services that they rely on.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    /// Returns true if the store refused the newest write.
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
                let outgoing = Outgoing::as_it_came(arrival.body, vec![Did::Passed]);
                Verdict::Send(outgoing, Ticket::default())
            }
        }
    }

    /// Lets conversations at rest leave memory, as long as there are any.
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

    /// Ends what is under way: no new preparation begins, and everything is stored when this returns.
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
    /// Lets the texts of conversations at rest leave memory, and idle conversations altogether.
    fn let_rest(&self, now: Timestamp) {
        let limits = &self.parts.config.limits;
        self.registry.sweep(now, limits.idle, limits.conversations);
        self.commons.elements().sweep();
        let rest = i64::try_from(REST.as_millis()).unwrap_or(i64::MAX);
        let oldest = now.as_millisecond().saturating_sub(rest);
        let mut pins = 0;
        for shared in self.registry.all(None) {
            let mut conversation = shared.lock();
            pins += conversation.pins().iter().count();
            if shared.seen() < oldest && !conversation.is_busy() {
                conversation.on(Input::Rest, now);
            }
        }
        self.parts.metrics.holds(self.registry.len(), pins);
    }

    /// Carries out the effects that concern only this process; the others.
    fn settle(&self, shared: &Shared, key: u64, effects: Vec<Effect>) -> Vec<Effect> {
        let now = || (self.parts.clock)();
        let here = |effect: Effect| match effect {
            Effect::Abandon(job) => {
                shared.abandon(job);
                None
            }
            Effect::Tell(notice) => {
                self.tell(shared, &notice);
                None
            }
            Effect::Learn(Lesson::Window(found)) => {
                self.commons.learn_window(key, found, now());
                None
            }
            Effect::Learn(Lesson::Accepted(input)) => {
                self.commons.accepted(key, input);
                None
            }
            other => Some(other),
        };
        effects.into_iter().filter_map(here).collect()
    }

    /// Logs and counts.
    fn tell(&self, shared: &Shared, notice: &Notice) {
        let (metrics, conversation) = (&self.parts.metrics, shared.id);
        match notice {
            Notice::Swapped(route) => metrics.swapped(route.as_str()),
            Notice::StrategyFailed(failure) => {
                let strategy = self.parts.config.policy.strategy.written();
                tracing::warn!(
                    strategy, %conversation, %failure,
                    "the strategy failed; the default strategy takes over"
                );
                metrics.failed(Failure::Strategy);
            }
            Notice::Commanded(command, refused) => tracing::debug!(
                target: "ebbtide::strategy",
                %conversation, command, refused, "the strategy gave a command"
            ),
            Notice::CameToNothing(refusal) => tracing::debug!(
                target: "ebbtide::strategy",
                %conversation, why = refusal.word(),
                "a summary that the strategy asked for came to nothing"
            ),
            Notice::CacheMissed(reason) => metrics.cache_missed(reason),
            Notice::Transformed(kind) => metrics.transformed(kind),
            Notice::Spent(cost) => metrics.cost(*cost),
            Notice::Billed(bill) => {
                let used = &bill.used;
                metrics.used(TokenKind::Fresh, used.fresh.get());
                metrics.used(TokenKind::CacheRead, used.cache_read.get());
                let written = used.cache_write + used.cache_write_long;
                metrics.used(TokenKind::CacheWrite, written.get());
                metrics.used(TokenKind::Output, used.output.get());
                metrics.cost(bill.cost);
            }
            _ => {}
        }
    }

    /// The store failed: told, counted and noted, and the next request stores everything again.
    fn not_stored(&self, shared: &Shared, failure: &StoreFailure, now: Timestamp) {
        let conversation = shared.id;
        tracing::warn!(%conversation, %failure, "not stored; the next request stores it again");
        self.parts.metrics.failed(Failure::Keeping);
        shared.lock().on(Input::NotStored, now);
    }

    /// Remembers a client's compaction by its answer, so that what goes on from it is recognised.
    async fn remember(
        &self,
        tenant: Tenant,
        of: (history::ConversationId, bool),
        (said, at): (&[context::Part], Timestamp),
    ) {
        let keyed = self.commons.keyed();
        for answer in ::conversation::continuation::answers(keyed, of, said, at) {
            self.answers.add(tenant, [answer], false);
            let work = Box::new(move |store: &mut dyn history::Store| answer.store(store));
            let receipt = self.writer.write(tenant, work).await;
            if let Err(fault) = receipt.kept().await {
                tracing::warn!(%fault, "a client's compaction is remembered in memory only");
            }
        }
    }
}

#[cfg(test)]
mod tests;
