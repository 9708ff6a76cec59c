//! The way to the store: what is said is given to it in order, and what was said is read from it.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::conversation::Batch;
use history::{Engine, HistoryError, Store, Tenant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::queue::{Queue, When, Work, Write};

/// The longest that a request or the end of an answer waits for the store, and the same while it fails anyway. What it
/// has not taken by then stays in the queue, in order.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_millis(20));

/// The number of writes that may wait. One more is dropped if no room comes in time.
const WAITING: usize = 4_096;

/// The number of concurrent reads for each core. Each has a thread, which keeps caches of megabytes
/// once it has counted tokens; more would only wait for each other.
const READS: usize = 2;

/// The way to the store. Writes happen in the order in which they are given.
#[derive(Clone)]
pub(super) struct Writer {
    engine: Arc<dyn Engine>,
    queue: Arc<Queue>,
    places: Arc<Semaphore>,
    reads: Arc<Semaphore>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// A write under way; `None` if there was no place for it.
#[derive(Debug)]
pub(super) struct Receipt(Option<oneshot::Receiver<Result<(), HistoryError>>>);

impl Receipt {
    /// Waits until it is kept.
    ///
    /// # Errors
    /// What the store says, where it is closed, and where the write was dropped.
    pub(super) async fn kept(self) -> Result<(), StoreFailure> {
        let under_way = self.0.ok_or(StoreFailure::Crowded)?;
        let kept = under_way.await.map_err(|_| StoreFailure::Closed)?;
        Ok(kept?)
    }
}

/// The fate of a write that its caller may take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Begun,
    TakenBack,
}

/// Why something was not kept or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreFailure {
    /// The store says so.
    #[error(transparent)]
    Store(#[from] HistoryError),
    /// So many writes wait already that this one was dropped.
    #[error("too many writes wait for the store")]
    Crowded,
    /// The write has begun, and takes too long to wait for.
    #[error("the store takes too long; the change may still be kept")]
    Late,
    /// The core is closed, or the store panicked.
    #[error("the store is closed")]
    Closed,
}

impl Writer {
    /// Starts the thread that writes. It ends when the last writer is dropped. Where the system gives no
    /// thread, every write is answered as if the store were closed.
    pub(super) fn start(engine: Arc<dyn Engine>) -> Self {
        let queue = Arc::new(Queue::start(Arc::clone(&engine)));
        let places = Arc::new(Semaphore::new(WAITING));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            engine,
            queue,
            places,
            reads: Arc::new(Semaphore::new(READS * cores)),
        }
    }

    /// Returns true if the newest write failed because of the store.
    pub(super) fn is_failing(&self) -> bool {
        self.queue.is_failing()
    }

    /// Waits for the store, but only as long as a request or the end of an answer may. A request that needs several
    /// writes waits long for the first alone.
    pub(super) async fn in_time<F: Future>(&self, storing: F) -> Option<F::Output> {
        let (usual, failing) = PATIENCE;
        let is_held = self.is_failing() || self.queue.is_late();
        let stored = timeout(if is_held { failing } else { usual }, storing).await;
        if stored.is_err() {
            self.queue.note_late();
        }
        stored.ok()
    }

    /// Gives something to be written. Waits only where too much is waiting already, and no longer than half a second.
    pub(super) async fn write(&self, tenant: Tenant, work: Work) -> Receipt {
        let Some(place) = self.place().await else {
            return Receipt(None);
        };
        let (write, receipt) = queued((tenant, place), work, When::Now);
        self.queue.give(write);
        receipt
    }

    /// Like [`write`](Self::write), for a write of about `size` bytes. If it is small and nothing
    /// else is being written, it is committed when this returns.
    pub(super) async fn write_little(&self, tenant: Tenant, work: Work, size: usize) -> Receipt {
        let Some(place) = self.place().await else {
            return Receipt(None);
        };
        let (write, receipt) = queued((tenant, place), work, When::Now);
        self.queue.write(Write { size, ..write });
        receipt
    }

    /// Like [`write`](Self::write), for a write whose receipt is awaited only after a later one: it
    /// is committed together with that one, or a moment later. It does not wait for room.
    pub(super) fn write_soon(&self, tenant: Tenant, work: Work, size: usize) -> Receipt {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Receipt(None);
        };
        let (write, receipt) = queued((tenant, place), work, When::Soon);
        self.queue.give(Write { size, ..write });
        receipt
    }

    /// Gives something of about `size` bytes to be written that is not said in a conversation. It is committed with what
    /// is written next, or a moment later. Returns false if there is no room, without waiting for it.
    pub(super) fn write_aside(&self, tenant: Tenant, work: Work, size: usize) -> bool {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return false;
        };
        let (write, _nobody_waits) = queued((tenant, place), work, When::Aside);
        self.queue.give(Write { size, ..write });
        true
    }

    /// Gives something to be written, and waits until it is kept, but no longer than twice the usual patience. A
    /// write that has not begun after half of that is taken back.
    ///
    /// # Errors
    /// What the store says. Nothing is changed then, except perhaps after [`StoreFailure::Late`].
    pub(super) async fn write_or_take_back(
        &self,
        tenant: Tenant,
        mut work: Work,
    ) -> Result<(), StoreFailure> {
        let fate = Arc::new(OnceLock::new());
        let decided = Arc::clone(&fate);
        let work =
            Box::new(
                move |store: &mut dyn Store| match decided.get_or_init(|| Fate::Begun) {
                    Fate::Begun => work(store),
                    Fate::TakenBack => Ok(()),
                },
            );
        let (patience, _) = PATIENCE;
        let mut kept = Box::pin(self.write(tenant, work).await.kept());
        if let Ok(kept) = timeout(patience, &mut kept).await {
            return kept;
        }
        match fate.get_or_init(|| Fate::TakenBack) {
            Fate::TakenBack => Err(StoreFailure::Store(HistoryError::Busy)),
            Fate::Begun => timeout(patience, kept)
                .await
                .unwrap_or(Err(StoreFailure::Late)),
        }
    }

    /// Takes all places, as if so many writes were waiting.
    #[cfg(test)]
    pub(super) fn take_places(&self) -> OwnedSemaphorePermit {
        let all = u32::try_from(WAITING).unwrap();
        Arc::clone(&self.places)
            .try_acquire_many_owned(all)
            .unwrap()
    }

    /// A place among the writes that wait. `None` if none is free in time.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let free = Arc::clone(&self.places).acquire_owned();
        let (usual, failing) = PATIENCE;
        let patience = if self.is_failing() { failing } else { usual };
        timeout(patience, free).await.ok()?.ok()
    }

    /// Reads from a tenant's store, on a thread that may wait.
    ///
    /// # Errors
    /// What the store or `work` says.
    pub(super) async fn read<T, F>(&self, tenant: Tenant, work: F) -> Result<T, StoreFailure>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Store) -> Result<T, HistoryError> + Send + 'static,
    {
        let engine = Arc::clone(&self.engine);
        // It is never closed. A read whose caller went away continues and keeps its permit.
        let place = Arc::clone(&self.reads).acquire_owned().await.ok();
        let reading = spawn_blocking(move || {
            let _place = place;
            let mut work = Some(work);
            let mut found = None;
            engine.read(tenant, &mut |store| {
                if let Some(work) = work.take() {
                    found = Some(work(store)?);
                }
                Ok(())
            })?;
            found.ok_or(StoreFailure::Closed)
        });
        reading.await.unwrap_or(Err(StoreFailure::Closed))
    }

    /// The tenants that something is kept of.
    ///
    /// # Errors
    /// What the store says.
    pub(super) async fn tenants(&self) -> Result<Vec<Tenant>, StoreFailure> {
        let engine = Arc::clone(&self.engine);
        let found = spawn_blocking(move || engine.tenants()).await;
        Ok(found.map_err(|_| StoreFailure::Closed)??)
    }

    /// The number of writes that were kept so far.
    pub(super) fn written(&self) -> u64 {
        self.queue.written()
    }

    /// Waits for a store that another process holds only once more, from now on.
    pub(super) fn end(&self) {
        self.queue.end();
    }

    /// The number of writes that were given up since.
    pub(super) fn lost(&self) -> usize {
        self.queue.lost()
    }

    /// Waits until nothing waits to be written.
    pub(super) async fn flush(&self) {
        // Callers have heard of their failed writes.
        let _ = self.queue.flush().await;
    }
}

/// The write of a batch.
pub(super) fn work(batch: Batch) -> Work {
    Box::new(move |store| batch.write(store))
}

/// A write of unknown size with its place, and its receipt.
fn queued(
    (tenant, place): (Tenant, OwnedSemaphorePermit),
    work: Work,
    when: When,
) -> (Write, Receipt) {
    let (done, receipt) = oneshot::channel();
    let write = Write {
        tenant,
        work,
        when,
        size: usize::MAX,
        done,
        place: Some(place),
    };
    (write, Receipt(Some(receipt)))
}
