//! The queue of writes. One writer at a time takes from it: a thread, or a caller that brings a
//! small write while nothing else is being written.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use history::{Engine, HistoryError, Store, Tenant};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// A change to a tenant's store. It may run again where it failed; nothing of it was kept then.
pub(super) type Work = Box<dyn FnMut(&mut dyn Store) -> Result<(), HistoryError> + Send>;

/// The number of writes that are committed together at most.
const TOGETHER: usize = 256;

/// The time that a write without a waiting caller waits for others, to be committed together with
/// them.
const SOON: Duration = Duration::from_millis(10);

/// The number of times that the thread polls, every [`SOON`], before it sleeps until it is woken.
/// Waking it takes longer than writing.
const LOOKS: u32 = 100;

/// The largest write, in bytes, that a caller makes on its own thread: some 50 pages, a tenth of a
/// millisecond. An async thread should not be kept for longer.
pub(super) const SMALL: usize = 32 << 10;

/// The urgency of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Somebody waits for it.
    Now,
    /// Within twice [`SOON`], or with what is given next.
    Soon,
    /// The same for what is not said in a conversation. If it fails, the store is not taken to fail.
    Aside,
}

/// One write.
pub(super) struct Write {
    pub tenant: Tenant,
    pub work: Work,
    pub when: When,
    /// About how many bytes.
    pub size: usize,
    pub done: oneshot::Sender<Result<(), HistoryError>>,
    /// Its permit among the writes that may wait.
    pub place: Option<OwnedSemaphorePermit>,
}

/// Waiting writes, in order.
#[derive(Default)]
struct Waiting {
    writes: Vec<Write>,
    /// Those who wait until nothing waits to be written.
    flushes: Vec<oneshot::Sender<()>>,
    is_asleep: bool,
    /// True at the end: a store that another process holds is waited for once more.
    is_ending: bool,
    /// True if the store was held then. No more is written.
    is_given_up: bool,
    is_closed: bool,
}

/// The writes that wait. Dropped by its last owner, it ends its thread once all is written.
pub(super) struct Queue(Arc<Shared>);

struct Shared {
    engine: Arc<dyn Engine>,
    waiting: Mutex<Waiting>,
    given: Condvar,
    /// The writes that were kept.
    written: AtomicU64,
    /// The writes that were given up at the end.
    lost: AtomicUsize,
    /// Held from before writes are taken until they are kept: they are kept in order.
    writing: Mutex<()>,
    is_failing: AtomicBool,
    /// The same for what is not said in a conversation.
    is_losing_costs: AtomicBool,
    /// True from when a write missed its caller's deadline until one is kept.
    is_late: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    /// Starts the thread that writes. Where the system gives none, every write is dropped, which its
    /// receipt tells.
    pub(super) fn start(engine: Arc<dyn Engine>) -> Self {
        let shared = Arc::new(Shared {
            engine,
            waiting: Mutex::default(),
            given: Condvar::new(),
            written: AtomicU64::new(0),
            lost: AtomicUsize::new(0),
            writing: Mutex::default(),
            is_failing: AtomicBool::new(false),
            is_losing_costs: AtomicBool::new(false),
            is_late: AtomicBool::new(false),
        });
        let own = Closing(Arc::clone(&shared));
        // Async threads must not wait for a disk.
        let thread = std::thread::Builder::new()
            .name("ebbtide-store".to_owned())
            .spawn(move || own.0.write_all());
        if let Err(error) = thread {
            tracing::error!(%error, "no history will be stored: the writer thread cannot start");
        }
        Self(shared)
    }

    /// Returns true if the newest write failed because of the store.
    pub(super) fn is_failing(&self) -> bool {
        self.0.is_failing.load(Ordering::Relaxed)
    }

    /// Returns true if a caller has stopped waiting for a write, and none has been kept since.
    pub(super) fn is_late(&self) -> bool {
        self.0.is_late.load(Ordering::Relaxed)
    }

    /// Notes that a caller has stopped waiting for a write.
    pub(super) fn note_late(&self) {
        self.0.is_late.store(true, Ordering::Relaxed);
    }

    /// The number of writes that were kept so far.
    pub(super) fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Returns a receiver that is told once nothing waits to be written, or that is closed with the queue.
    pub(super) fn flush(&self) -> oneshot::Receiver<()> {
        let (flush, flushed) = oneshot::channel();
        let mut waiting = lock(&self.0.waiting);
        if !waiting.is_closed {
            waiting.flushes.push(flush);
        }
        drop(waiting);
        self.0.given.notify_one();
        flushed
    }

    /// Waits for a store that another process holds only once more; what cannot be written by then is given up.
    pub(super) fn end(&self) {
        lock(&self.0.waiting).is_ending = true;
    }

    /// The number of writes that were given up at the end.
    pub(super) fn lost(&self) -> usize {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Gives something to the thread.
    pub(super) fn give(&self, write: Write) {
        let mut waiting = lock(&self.0.waiting);
        let is_now = write.when == When::Now;
        waiting.take_in(write);
        if is_now || waiting.is_asleep {
            drop(waiting);
            self.0.given.notify_one();
        }
    }

    /// Writes something, and what waits before it, where it is little and nothing else is being written;
    /// else gives it to the thread.
    pub(super) fn write(&self, write: Write) {
        {
            let mut waiting = lock(&self.0.waiting);
            waiting.take_in(write);
        }
        if !self.0.write_here() {
            self.0.given.notify_one();
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut waiting = lock(&self.0.waiting);
        waiting.is_closed = true;
        waiting.is_ending = true;
        drop(waiting);
        self.0.given.notify_one();
    }
}

/// Held by the thread: when the thread ends, in whichever way, no caller waits for it any more.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        let mut waiting = lock(&self.0.waiting);
        waiting.is_closed = true;
        waiting.writes.clear();
        waiting.flushes.clear();
    }
}

impl Waiting {
    fn take_in(&mut self, write: Write) {
        if self.is_closed {
            return;
        }
        self.writes.push(write);
    }

    /// The writes that are kept together next.
    fn next(&mut self) -> Vec<Write> {
        let rest = self.writes.split_off(self.writes.len().min(TOGETHER));
        std::mem::replace(&mut self.writes, rest)
    }

    fn urgency(&self) -> Urgency {
        let is_patient = |write: &Write| write.when != When::Now;
        if !self.flushes.is_empty() {
            Urgency::Now
        } else if self.writes.is_empty() {
            Urgency::None
        } else if self.is_closed
            || self.writes.len() >= TOGETHER
            || !self.writes.iter().all(is_patient)
        {
            Urgency::Now
        } else {
            Urgency::Soon
        }
    }

    /// Returns true if the waiting writes are small and belong to one tenant.
    fn is_small(&self) -> bool {
        let size = self.writes.iter().map(|write| write.size);
        let size = size.fold(0_usize, usize::saturating_add);
        let first = self.writes.first().map(|write| write.tenant);
        let is_same = |write: &Write| Some(write.tenant) == first;
        size <= SMALL && self.writes.iter().all(is_same)
    }
}

/// The urgency of the next write.
enum Urgency {
    None,
    Soon,
    Now,
}

impl Shared {
    fn write_all(&self) {
        while self.wait() {
            let _turn = lock(&self.writing);
            let mut batch = lock(&self.waiting).next();
            let mut held = Vec::new();
            each_tenant(&mut batch, |tenant, group| {
                let is_given_up = lock(&self.waiting).is_given_up;
                let together = match is_given_up {
                    true => Err(HistoryError::Busy),
                    false => self.engine.write(tenant, &mut |store| all_of(group, store)),
                };
                // Another process holds the file. At shutdown there is no time left to wait for it.
                if matches!(together, Err(HistoryError::Busy)) && !self.gives_up(group) {
                    if group.iter().any(|write| write.when != When::Aside) {
                        self.remember(&together);
                    }
                    held.push(tenant);
                } else {
                    self.answer(tenant, group, &together);
                }
            });
            batch.retain(|write| held.contains(&write.tenant));
            self.put_back(batch);
            self.flushed();
        }
    }

    /// Tells those who wait until nothing waits to be written, if that is so. Called in turn, so nothing is being
    /// written elsewhere.
    fn flushed(&self) {
        let mut waiting = lock(&self.waiting);
        if waiting.writes.is_empty() {
            for flush in waiting.flushes.drain(..) {
                // The caller may be gone.
                let _ = flush.send(());
            }
        }
    }

    /// The store is held: returns true if these writes and all that follow are given up.
    fn gives_up(&self, group: &[Write]) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.is_given_up = waiting.is_ending;
        if waiting.is_given_up {
            self.lost.fetch_add(group.len(), Ordering::Relaxed);
        }
        waiting.is_given_up
    }

    /// Waits until something is to be written; `false` where nothing will be any more.
    fn wait(&self) -> bool {
        let mut waiting = lock(&self.waiting);
        let (mut looks, mut waited) = (0, false);
        loop {
            match waiting.urgency() {
                Urgency::Now => return true,
                Urgency::Soon if waited => return true,
                Urgency::None if waiting.is_closed => return false,
                Urgency::None if looks >= LOOKS => {
                    looks = 0;
                    waiting.is_asleep = true;
                    let woken = self.given.wait(waiting);
                    waiting = woken.unwrap_or_else(PoisonError::into_inner);
                    waiting.is_asleep = false;
                }
                urgency => {
                    let woken = self.given.wait_timeout(waiting, SOON);
                    let (now, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
                    waiting = now;
                    waited = timeout.timed_out() && matches!(urgency, Urgency::Soon);
                    looks += 1;
                }
            }
        }
    }

    /// Writes what waits, on the caller's thread; `false` where it would take long or have to wait.
    fn write_here(&self) -> bool {
        let _turn = match self.writing.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let mut batch = {
            let mut waiting = lock(&self.waiting);
            if !waiting.is_small() {
                return false;
            }
            waiting.next()
        };
        let Some(tenant) = batch.first().map(|write| write.tenant) else {
            return true;
        };
        let written = self
            .engine
            .write_at_once(tenant, &mut |store| all_of(&mut batch, store));
        if let Some(together) = written {
            self.answer(tenant, &mut batch, &together);
            return true;
        }
        // Not begun.
        self.put_back(batch);
        false
    }

    /// Puts writes that were taken back into their place, before all that came since.
    fn put_back(&self, mut batch: Vec<Write>) {
        let mut waiting = lock(&self.waiting);
        batch.append(&mut waiting.writes);
        waiting.writes = batch;
    }

    /// Answers the callers of writes that were committed together. If that failed, commits them one by
    /// one, so that one bad write does not undo the others; but a store that another process holds would let
    /// each of them wait.
    fn answer(&self, tenant: Tenant, group: &mut [Write], together: &Result<(), HistoryError>) {
        let mut is_held = matches!(together, Err(HistoryError::Busy));
        for write in group {
            let kept = match together {
                Ok(()) => Ok(()),
                Err(_) if is_held => Err(HistoryError::Busy),
                Err(_) => self.engine.write(tenant, &mut |store| (write.work)(store)),
            };
            is_held |= matches!(kept, Err(HistoryError::Busy));
            match write.when {
                When::Aside => self.note_aside(&kept),
                When::Now | When::Soon => self.remember(&kept),
            }
            if kept.is_ok() {
                self.written.fetch_add(1, Ordering::Relaxed);
                self.is_late.store(false, Ordering::Relaxed);
            }
            let (done, _) = oneshot::channel();
            // The caller may be gone.
            let _ = std::mem::replace(&mut write.done, done).send(kept);
            write.place = None;
        }
    }

    /// Says so where what is not said in a conversation begins to be lost.
    fn note_aside(&self, kept: &Result<(), HistoryError>) {
        let was = self.is_losing_costs.swap(kept.is_err(), Ordering::Relaxed);
        if let Err(fault) = kept
            && !was
        {
            tracing::warn!(%fault, "the store does not take what was spent; the costs by day lack it");
        }
    }

    /// Remembers whether the store takes what is given, and says so where that changes.
    fn remember(&self, kept: &Result<(), HistoryError>) {
        let fault = match kept {
            Ok(()) => None,
            // The batch does not fit the stored turns; the store itself is well.
            Err(HistoryError::UnknownNode(_) | HistoryError::NotItsChild { .. }) => return,
            Err(fault) => Some(fault),
        };
        let was = self.is_failing.swap(fault.is_some(), Ordering::Relaxed);
        match fault {
            Some(fault) if !was => {
                tracing::warn!(%fault, "the store fails; new turns are not stored");
            }
            None if was => tracing::info!("the store works again"),
            Some(_) | None => {}
        }
    }
}

fn all_of(group: &mut [Write], store: &mut dyn Store) -> Result<(), HistoryError> {
    group.iter_mut().try_for_each(|write| (write.work)(store))
}

/// Each tenant's writes, in the order in which they came.
fn each_tenant(batch: &mut [Write], mut with: impl FnMut(Tenant, &mut [Write])) {
    batch.sort_by_key(|write| write.tenant);
    let mut rest = batch;
    while let Some(tenant) = rest.first().map(|write| write.tenant) {
        let same = rest.partition_point(|write| write.tenant == tenant);
        let (group, others) = rest
            .split_at_mut_checked(same)
            .unwrap_or((&mut [], &mut []));
        with(tenant, group);
        rest = others;
    }
}

#[cfg(test)]
mod tests;
