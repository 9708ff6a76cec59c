//! The conversations of all tenants: carries out what each of them decides.
//!
//! A request is brought to its conversation (the crate's `directory`), which is asked until it lets the request
//! go (`request`), the summaries that it orders are made in the background (`jobs`), and the answer is
//! brought to it (`ticket`). Everything for the store goes through one queue (`writer`). Beside that: `local` carries
//! out what concerns this process alone, `reports` answers people and tools, and `care` looks after the store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::conversation::Input;
use ::conversation::directory::{Directory, Room};
use ::conversation::journal::Served;
use ::conversation::words::Did;
use history::{ConversationId, Engine, HistoryError, Tenant};
use jiff::Timestamp;
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::metrics::Metrics;

mod calls;
mod care;
mod exchange;
mod jobs;
mod lineage;
mod local;
mod originals;
mod protocol;
mod queue;
mod queueing;
mod reading;
mod reports;
mod request;
mod running;
mod slots;
mod spending;
mod storing;
mod ticket;
mod unknowing;
mod writer;

pub use exchange::{Arrival, Endpoint, Generation, Heard, Outgoing, Remedy, Verdict};
pub(crate) use protocol::drop_betas;
pub(crate) use reading::Reading;
pub(crate) use slots::Occupied;
pub use ticket::Ticket;

use running::Running;

/// Tells the time. Only the binary knows a real one.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The interval at which idle conversations are looked for, and an idle store is settled.
const ROUND: Duration = Duration::from_secs(15);

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
    directory: Directory<Running>,
    writer: writer::Writer,
    reading: reading::Reading,
    jobs: jobs::Jobs,
    slots: slots::Slots,
    /// The calls of our tools.
    calls: calls::Calls,
    /// The receipts of the clients' own summaries.
    receipts: reports::Receipts,
    /// The sizes of conversations that are not in memory.
    sizes: reports::Sizes,
    /// Providers without compaction.
    unknowing: unknowing::Unknowing,
    /// The room for earlier messages that are put into requests.
    earlier: lineage::Room,
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
        let limits = &parts.config.limits;
        let room = Room {
            most: limits.conversations,
            idle: limits.idle,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                directory: Directory::new(Arc::new(parts.config.terms()), secret, room),
                writer: writer::Writer::start(Arc::clone(&parts.engine)),
                reading: reading::Reading::default(),
                jobs: jobs::Jobs::new(parts.config.limits.preparations),
                slots: slots::Slots::new(parts.config.policy.slots),
                calls: calls::Calls::default(),
                receipts: reports::Receipts::default(),
                sizes: reports::Sizes::default(),
                unknowing: unknowing::Unknowing::default(),
                earlier: lineage::Room::new(limits.bodies),
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

    /// Counts a request to a host until the returned value is dropped: summaries give way to it. `None` if servers are
    /// told apart by their models too.
    pub(crate) fn occupy_any(&self, url: &str) -> Option<Occupied> {
        self.inner.slots.occupy_any(url)
    }

    /// Counts the request of a ticket at its server until the returned value is dropped. `None` if it belongs to no
    /// conversation.
    pub(crate) fn occupy(&self, ticket: &Ticket) -> Option<Occupied> {
        let (url, model) = ticket.server()?;
        Some(self.inner.slots.occupy(url, model))
    }

    /// Notes what became of a request that came at this time.
    pub(crate) fn served(
        &self,
        (tenant, id): (Tenant, ConversationId),
        came: Timestamp,
        served: Served,
    ) {
        let Some(shared) = self.inner.directory.registry.get(tenant, id) else {
            return;
        };
        let mut live = shared.lock();
        let since = came.duration_since(live.record().began);
        let at = u32::try_from(since.as_millis() / 100).unwrap_or(0);
        live.on(Input::Served(Served { at, ..served }), came);
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
            let mut rounds = care::Rounds::default();
            loop {
                tokio::select! {
                    () = cancel.cancelled() => return,
                    () = sleep(ROUND) => {}
                }
                let Some(inner) = inner.upgrade() else { return };
                let now = (inner.parts.clock)();
                let rested = inner.directory.let_rest(now);
                let pins = rested.pins;
                inner.care().store(rested);
                let live = inner.directory.registry.count();
                inner.parts.metrics.holds(live, pins);
                inner.care().round(&mut rounds, now).await;
            }
        });
    }

    /// Ends what is under way: no new preparation begins, and everything is stored when this returns, unless
    /// another process holds the store. That is waited for a few seconds, and told.
    pub async fn close(&self) {
        let jobs = &self.inner.jobs;
        jobs.cancel.cancel();
        jobs.tracker.close();
        self.inner.writer.end();
        // One that does not notice is not waited for.
        let _ = timeout(GRACE, jobs.tracker.wait()).await;
        let now = (self.inner.parts.clock)();
        let care = self.inner.care();
        care.store(self.inner.directory.let_all_rest(now));
        care.end_writing().await;
        // The store is one file then, which can be copied.
        care.settle().await;
    }
}

impl Inner {
    /// Carries out what concerns this process alone.
    const fn local(&self) -> local::Local<'_> {
        local::Local {
            parts: &self.parts,
            directory: &self.directory,
            writer: &self.writer,
        }
    }

    /// Looks after the store.
    const fn care(&self) -> care::Care<'_> {
        care::Care {
            parts: &self.parts,
            writer: &self.writer,
        }
    }

    /// Answers questions about conversations, and takes orders.
    const fn reporter(&self) -> reports::Reporter<'_> {
        reports::Reporter {
            parts: &self.parts,
            directory: &self.directory,
            writer: &self.writer,
            reading: &self.reading,
            receipts: &self.receipts,
            sizes: &self.sizes,
        }
    }

    /// Remembers a client's compaction by its answer, so that what goes on from it is recognised.
    async fn remember(
        self: &Arc<Self>,
        tenant: Tenant,
        of: (history::ConversationId, bool),
        (said, at): (&[context::Part], Timestamp),
    ) {
        let keyed = self.directory.commons.keyed();
        for answer in ::conversation::continuation::answers(keyed, of, said, at) {
            self.directory.answers.add(tenant, [answer], false);
            let work = Box::new(move |store: &mut dyn history::Store| answer.store(store));
            let receipt = self.writer.write(tenant, work).await;
            if let Err(fault) = receipt.kept().await {
                tracing::warn!(%fault, "a client's compaction is remembered in memory only");
            }
        }
        if let (id, true) = of {
            self.receipt_of_own((tenant, id), said);
        }
    }

    /// Makes the receipt of the client's own summary in the background, as the client's hook would have it made.
    fn receipt_of_own(
        self: &Arc<Self>,
        (tenant, id): (history::Tenant, history::ConversationId),
        said: &[context::Part],
    ) {
        let texts = said.iter().filter_map(|part| match part {
            context::Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let said = texts.collect::<Vec<_>>().join("\n");
        let summary = ::conversation::continuation::summary_in(&said).to_owned();
        if summary.trim().is_empty() {
            return;
        }
        let inner = Arc::clone(self);
        self.jobs.tracker.spawn(async move {
            let viewer = crate::report::Viewer::Tenant(tenant);
            if let Err(error) = inner.reporter().compacted(viewer, id, summary).await {
                tracing::debug!(%error, "a client's own summary has no receipt");
            }
        });
    }
}

#[cfg(test)]
mod tests;
