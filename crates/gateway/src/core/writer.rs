//! Keeps what is said: one thread writes, so that no request waits for the disk on an async thread.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use history::{Engine, HistoryError, Store, Tenant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// What is done to a tenant's store. It may be run again after it failed, so it must not matter how
/// often it is.
pub(super) type Work = Box<dyn FnMut(&mut dyn Store) -> Result<(), HistoryError> + Send>;

/// So many writes may wait; whoever brings one more waits himself.
const WAITING: usize = 4_096;

/// So many writes are kept together at most.
const TOGETHER: usize = 256;

/// How long a write that nobody waits for yet waits for others, to be kept together with them.
const SOON: Duration = Duration::from_millis(10);

/// So many reads run at the same time for each core. Each has a thread, which keeps caches of megabytes once
/// it has counted tokens; and more would only wait for each other.
const READS: usize = 2;

/// When something is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// Somebody waits for it.
    Now,
    /// Within [`SOON`], or with what is given next.
    Soon,
}

struct Write {
    tenant: Tenant,
    work: Work,
    when: When,
    done: oneshot::Sender<Result<(), HistoryError>>,
    _place: Option<OwnedSemaphorePermit>,
}

/// The way to the store. What is given to it is written in order.
#[derive(Clone)]
pub(super) struct Writer {
    engine: Arc<dyn Engine>,
    queue: Sender<Write>,
    places: Arc<Semaphore>,
    reads: Arc<Semaphore>,
    is_failing: Arc<AtomicBool>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

/// A write under way.
#[derive(Debug)]
pub(super) struct Receipt(oneshot::Receiver<Result<(), HistoryError>>);

impl Receipt {
    /// Waits until it is kept.
    ///
    /// # Errors
    /// What the store says, and where it is closed.
    pub(super) async fn kept(self) -> Result<(), StoreFailure> {
        let kept = self.0.await.map_err(|_| StoreFailure::Closed)?;
        Ok(kept?)
    }
}

/// Why something was not kept or read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreFailure {
    /// The store says so.
    #[error(transparent)]
    Store(#[from] HistoryError),
    /// The core is closed, or the store panicked.
    #[error("the store is closed")]
    Closed,
}

impl Writer {
    /// Starts the thread that writes. It ends when the last writer is dropped. Where the system gives no
    /// thread, every write is answered as if the store were closed.
    pub(super) fn start(engine: Arc<dyn Engine>) -> Self {
        let (queue, waiting) = channel();
        let own = Arc::clone(&engine);
        let is_failing = Arc::new(AtomicBool::new(false));
        let failing = Arc::clone(&is_failing);
        // Async threads must not wait for a disk, and what is kept together must come from one place.
        let thread = std::thread::Builder::new()
            .name("ebbtide-store".to_owned())
            .spawn(move || write_all(&*own, &waiting, &failing));
        if let Err(error) = thread {
            tracing::error!(%error, "nothing will be kept: no thread to write with");
        }
        let places = Arc::new(Semaphore::new(WAITING));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            engine,
            queue,
            places,
            reads: Arc::new(Semaphore::new(READS * cores)),
            is_failing,
        }
    }

    /// Whether the newest write failed because of the store.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Gives something to be written. Waits only where too much is waiting already.
    pub(super) async fn write(&self, tenant: Tenant, work: Work) -> Receipt {
        self.give(tenant, work, When::Now).await
    }

    /// As [`write`](Self::write), where nobody waits for the receipt until something else was given: it
    /// is written together with that, or a moment later. It takes no place: each request gives one such
    /// write, and requests are bounded.
    pub(super) fn write_soon(&self, tenant: Tenant, work: Work) -> Receipt {
        self.queued(tenant, work, When::Soon, None)
    }

    async fn give(&self, tenant: Tenant, work: Work, when: When) -> Receipt {
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        self.queued(tenant, work, when, place)
    }

    fn queued(
        &self,
        tenant: Tenant,
        work: Work,
        when: When,
        place: Option<OwnedSemaphorePermit>,
    ) -> Receipt {
        let (done, receipt) = oneshot::channel();
        // Where the queue is closed, the receipt says so.
        let _ = self.queue.send(Write {
            tenant,
            work,
            when,
            done,
            _place: place,
        });
        Receipt(receipt)
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
        // It is never closed. A read goes on where whoever wanted it went away, and keeps its place.
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

    /// Waits until everything given so far is written.
    pub(super) async fn flush(&self) {
        let nothing = Box::new(|_: &mut dyn Store| Ok(()));
        // What failed was told to whoever gave it.
        let _ = self.write(Tenant::ANONYMOUS, nothing).await.kept().await;
    }
}

fn write_all(engine: &dyn Engine, waiting: &Receiver<Write>, is_failing: &AtomicBool) {
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![first];
        gather(&mut batch, waiting);
        // Stable, so that what one tenant gave stays in order.
        batch.sort_by_key(|write| write.tenant);
        let mut rest = batch.as_mut_slice();
        while let Some(tenant) = rest.first().map(|write| write.tenant) {
            let same = rest.partition_point(|write| write.tenant == tenant);
            let (group, others) = rest
                .split_at_mut_checked(same)
                .unwrap_or((&mut [], &mut []));
            write_group(engine, tenant, group, is_failing);
            rest = others;
        }
    }
}

/// Remembers whether the store takes what is given, and says so where that changes.
fn remember(kept: &Result<(), HistoryError>, is_failing: &AtomicBool) {
    let fault = match kept {
        Ok(()) => None,
        // What was given does not fit to what is there; the store is well.
        Err(
            HistoryError::UnknownNode(_)
            | HistoryError::NotItsChild { .. }
            | HistoryError::NotOnPath(_),
        ) => return,
        Err(fault) => Some(fault),
    };
    let was = is_failing.swap(fault.is_some(), Ordering::Relaxed);
    match fault {
        Some(fault) if !was => {
            tracing::warn!(%fault, "the store fails: what is said from now on is not kept");
        }
        None if was => tracing::info!("the store takes what is said again"),
        Some(_) | None => {}
    }
}

/// Takes what waits already. Where nobody waits for any of it, more is waited for.
fn gather(batch: &mut Vec<Write>, waiting: &Receiver<Write>) {
    let until = Instant::now() + SOON;
    while batch.len() < TOGETHER {
        let patient = batch.iter().all(|write| write.when == When::Soon);
        let longest = match patient {
            true => until.saturating_duration_since(Instant::now()),
            false => Duration::ZERO,
        };
        match waiting.recv_timeout(longest) {
            Ok(next) => batch.push(next),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Writes what one tenant gave: together, or one by one where that fails, so that one bad write does not
/// undo the others.
fn write_group(engine: &dyn Engine, tenant: Tenant, group: &mut [Write], is_failing: &AtomicBool) {
    let together = engine.write(tenant, &mut |store| {
        group.iter_mut().try_for_each(|write| (write.work)(store))
    });
    for write in group {
        let kept = match &together {
            Ok(()) => Ok(()),
            Err(_) => engine.write(tenant, &mut |store| (write.work)(store)),
        };
        remember(&kept, is_failing);
        let (done, _) = oneshot::channel();
        // Nobody may be waiting any more.
        let _ = std::mem::replace(&mut write.done, done).send(kept);
    }
}
