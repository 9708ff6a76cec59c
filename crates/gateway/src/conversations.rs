//! The conversations of all tenants: carries out what each of them decides.
//!
//! [`Conversations`] is the front: the server hands it requests and gets verdicts and tickets back. Behind it, each part
//! holds only what it uses; `composition` puts them together. A passage alone holds the way back (`ticket` says why).
//!
//! | part | does |
//! |---|---|
//! | `exchange` | the types between this front and the server: an `Arrival` comes in, a `Verdict` goes out |
//! | `generating` | takes a request for a next message from its bytes to a verdict |
//! | `counting` | the same for a request that asks for a size |
//! | `protocol` (`Speaking`), `providers` | open what is sealed in a request, and know who compacts |
//! | `unknowing` | remembers the providers that refused compaction |
//! | `reading` | reads large requests beside the threads that carry answers |
//! | `lineage` (`Earlier`) | puts in the messages before an answer that a request names |
//! | `lookup` | finds the conversation of a request |
//! | `running` | holds, beside a conversation in memory, its preparation and those who wait for it |
//! | `asking` | asks the conversation until it lets the request go, carries out what it decides, and makes the bytes |
//! | `compacting`, `continuations` | answer clients that compact, and know what goes on from that |
//! | `ticket` (`Passage` and `Ticket`), `landing` | accompany a request that was sent, and take its answer |
//! | `calls` | knows the calls of our own tools that answers have just made |
//! | `jobs`, `maker`, `source` | make summaries in the background |
//! | `slots`, `queueing` | have summaries give way to requests, and recognize servers where they must |
//! | `background` | runs the tasks beside requests, and ends them together |
//! | `writer`, `queue`, `storing` | the way to the store, and how long it is waited for |
//! | `local`, `spending` | carry out what concerns this process alone, and keep the account of costs |
//! | `reports` (`Reporter`) | answers people and tools |
//! | `care` | looks after the store and what is at rest |

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::conversation::Input;
use ::conversation::directory::{Directory, Room};
use ::conversation::journal::Served;
use ::conversation::words::Did;
use history::{ConversationId, Engine, HistoryError, Tenant};
use jiff::Timestamp;

use crate::config::Config;
use crate::metrics::Metrics;

mod asking;
mod background;
mod calls;
mod care;
mod compacting;
mod composition;
mod continuations;
mod counting;
mod exchange;
mod generating;
mod jobs;
mod landing;
mod lineage;
mod local;
mod lookup;
mod maker;
mod protocol;
mod providers;
mod queue;
mod queueing;
mod reading;
mod reports;
mod running;
mod slots;
mod source;
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

use background::Background;
use calls::Calls;
use care::Care;
use composition::Ground;
use counting::Counting;
use generating::Generating;
use reports::Reporter;
use running::Running;
use slots::Slots;
use writer::Writer;

/// Tells the time. Only the binary knows a real one.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

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
    parts: Parts,
    directory: Arc<Directory<Running>>,
    writer: Writer,
    background: Background,
    slots: Arc<Slots>,
    /// The calls of our tools.
    calls: Arc<Calls>,
    care: Arc<Care>,
    reporter: Arc<Reporter>,
    generating: Arc<Generating>,
    counting: Arc<Counting>,
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
        let terms = Arc::new(parts.config.terms());
        let ground = Ground {
            directory: Arc::new(Directory::new(terms, secret, room)),
            writer: Writer::start(Arc::clone(&parts.engine)),
            reading: Arc::default(),
            background: Background::default(),
            parts,
        };
        Ok(ground.conversations())
    }

    /// The services that they rely on.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Returns true if the store refused the newest write.
    #[must_use]
    pub fn is_forgetting(&self) -> bool {
        self.writer.is_failing()
    }

    /// Counts a request to a host until the returned value is dropped: summaries give way to it. `None` if servers are
    /// told apart by their models too.
    pub(crate) fn occupy_any(&self, url: &str) -> Option<Occupied> {
        self.slots.occupy_any(url)
    }

    /// Counts the request of a ticket at its server until the returned value is dropped. `None` if it belongs to no
    /// conversation.
    pub(crate) fn occupy(&self, ticket: &Ticket) -> Option<Occupied> {
        let (url, model) = ticket.server()?;
        Some(self.slots.occupy(url, model))
    }

    /// Notes what became of a request that came at this time.
    pub(crate) fn served(
        &self,
        (tenant, id): (Tenant, ConversationId),
        came: Timestamp,
        served: Served,
    ) {
        let Some(shared) = self.directory.registry.get(tenant, id) else {
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
        self.care.watch(&self.background);
        match arrival.endpoint {
            Endpoint::Generate(dialect) => self.generating.generate(arrival, dialect, now).await,
            Endpoint::Count(dialect) => self.counting.count(arrival, dialect, now).await,
            Endpoint::Other => {
                let outgoing = Outgoing::as_it_came(arrival.body, vec![Did::Passed]);
                Verdict::Send(outgoing, Ticket::default())
            }
        }
    }

    /// Ends what is under way: no new preparation begins, and everything is stored when this returns, unless
    /// another process holds the store. That is waited for a few seconds, and told.
    pub async fn close(&self) {
        self.background.end();
        self.writer.end();
        self.background.ended(GRACE).await;
        self.care.end().await;
    }
}

#[cfg(test)]
mod tests;
