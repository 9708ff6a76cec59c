//! Looks after the store: stores what leaves memory, removes abandoned conversations after `limits.retention`, and
//! brings what is stored to where it rests, when nothing is being written and at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::conversation::directory::{Directory, Rested};
use history::Purge;
use jiff::{SignedDuration, Timestamp};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::background::Background;
use super::running::Running;
use super::writer::{Writer, work};
use super::{GRACE, Parts};

/// The interval at which idle conversations are looked for, and an idle store is settled.
pub(super) const ROUND: Duration = Duration::from_secs(15);

/// The interval at which the store is searched: a purge reads which turns can be reached, so not
/// every minute.
const EVERY: SignedDuration = SignedDuration::from_hours(1);

/// The next search of the store: at the first opportunity, then every hour.
#[derive(Debug, Default)]
struct NextSearch(Option<Timestamp>);

impl NextSearch {
    /// Returns true if it is time, and then sets the next time an hour from now.
    fn is_now(&mut self, now: Timestamp) -> bool {
        let due = self.0.is_none_or(|next| now >= next);
        if due {
            self.0 = now.checked_add(EVERY).ok();
        }
        due
    }
}

/// The writes seen in the last round.
#[derive(Debug, Default)]
struct Seen(Option<u64>);

impl Seen {
    /// Returns true if this number of writes is that of the last round.
    fn is_idle(&mut self, written: u64) -> bool {
        self.0.replace(written) == Some(written)
    }
}

/// The state of the rounds.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    search: NextSearch,
    seen: Seen,
}

/// Looks after the store, and after the conversations at rest.
pub(super) struct Care {
    pub(super) parts: Parts,
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) writer: Writer,
    /// True if a task makes the rounds.
    pub(super) is_watched: AtomicBool,
}

impl Care {
    /// Makes the rounds in the background from the first call on; conversations at rest leave memory in them. The
    /// `Conversations` handle keeps them going: they end once the last clone of it is gone, or with the background.
    pub(super) fn watch(self: &Arc<Self>, background: &Background) {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let (care, ends) = (Arc::downgrade(self), background.signal());
        background.spawn(async move {
            let mut rounds = Rounds::default();
            loop {
                tokio::select! {
                    () = ends.cancelled() => return,
                    () = sleep(ROUND) => {}
                }
                let Some(care) = care.upgrade() else { return };
                let now = (care.parts.clock)();
                let rested = care.directory.let_rest(now);
                let pins = rested.pins;
                care.store(rested);
                let live = care.directory.registry.count();
                care.parts.metrics.holds(live, pins);
                care.round(&mut rounds, now).await;
            }
        });
    }

    /// Stores all that is in memory and waits for what was given to the store, so that it is one file then, which can
    /// be copied.
    pub(super) async fn end(&self) {
        let now = (self.parts.clock)();
        self.store(self.directory.let_all_rest(now));
        self.end_writing().await;
        self.settle().await;
    }

    /// Does the work that is due every few seconds.
    pub(super) async fn round(&self, rounds: &mut Rounds, now: Timestamp) {
        self.forget(&mut rounds.search, now).await;
        self.settle_at_rest(&mut rounds.seen).await;
    }

    /// Stores the journals of conversations at rest, for the dashboard.
    fn store(&self, rested: Rested) {
        if self.writer.is_failing() {
            return;
        }
        for (tenant, batch) in rested.to_store {
            let size = batch.size();
            // No request waits for this write. If it is lost, only the dashboard knows less.
            drop(self.writer.write_soon(tenant, work(batch), size));
        }
    }

    /// Waits for what was given to the store, and says so if it does not take it.
    async fn end_writing(&self) {
        let flushed = timeout(GRACE, self.writer.flush()).await;
        let lost = self.writer.lost();
        if flushed.is_err() {
            tracing::warn!("shut down before everything was stored: the store does not answer");
        } else if lost > 0 {
            tracing::warn!(
                writes = lost,
                "shut down before everything was stored: another process holds the store"
            );
        }
    }

    /// Has the engine settle, if nothing was written since the last round. Where all is at rest, that costs
    /// nothing.
    async fn settle_at_rest(&self, seen: &mut Seen) {
        if seen.is_idle(self.writer.written()) {
            self.settle().await;
        }
    }

    /// Has the engine settle. The caller waits no longer than [`GRACE`].
    async fn settle(&self) {
        let engine = Arc::clone(&self.parts.engine);
        match timeout(GRACE, spawn_blocking(move || engine.settle())).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "the store's log stays beside its file"),
            Ok(Err(_)) => {
                tracing::warn!("the store's log stays beside its file: the store panicked")
            }
            Err(_) => tracing::warn!("the store's log stays beside its file: the disk is slow"),
        }
    }

    /// Removes the conversations of all tenants that were last seen before `limits.retention`.
    async fn forget(&self, search: &mut NextSearch, now: Timestamp) {
        let Some(kept) = self.parts.config.limits.retention else {
            return;
        };
        // Without a time that far back nothing can be older.
        let Ok(before) = now.checked_sub(kept) else {
            return;
        };
        if !search.is_now(now) {
            return;
        }
        let what = Purge {
            tenant: None,
            conversation: None,
            before: Some(before),
        };
        let engine = Arc::clone(&self.parts.engine);
        match spawn_blocking(move || engine.purge(what)).await {
            Ok(Ok(purged)) if purged.conversations > 0 => tracing::info!(
                conversations = purged.conversations,
                turns = purged.turns,
                bytes = purged.bytes,
                "conversations older than limits.retention were removed"
            ),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "nothing old was removed"),
            Err(_) => tracing::warn!("nothing old was removed: the store panicked"),
        }
    }
}
