//! In what order things are written, and by whom.

use std::sync::{Arc, Mutex};

use history::{Engine, HistoryError, Limits, MemoryEngine, Purge, Purged, Store, Tenant};
use tokio::sync::oneshot;

use super::{Queue, SMALL, When, Work, Write, lock};

type Writing<'w> = dyn FnMut(&mut dyn Store) -> Result<(), HistoryError> + 'w;
type Reading<'r> = dyn FnMut(&dyn Store) -> Result<(), HistoryError> + 'r;

/// An engine in memory that writes at once where it is free, and remembers which thread wrote.
struct Quick {
    memory: MemoryEngine,
    busy: Mutex<()>,
    threads: Mutex<Vec<Option<String>>>,
}

impl Quick {
    fn note(&self) {
        let name = std::thread::current().name().map(str::to_owned);
        lock(&self.threads).push(name);
    }
}

impl Engine for Quick {
    fn secret(&self) -> Result<[u8; 32], HistoryError> {
        self.memory.secret()
    }

    fn tenants(&self) -> Result<Vec<Tenant>, HistoryError> {
        self.memory.tenants()
    }

    fn write(&self, of: Tenant, work: &mut Writing<'_>) -> Result<(), HistoryError> {
        let _busy = lock(&self.busy);
        self.note();
        self.memory.write(of, work)
    }

    fn write_at_once(
        &self,
        of: Tenant,
        work: &mut Writing<'_>,
    ) -> Option<Result<(), HistoryError>> {
        let _busy = self.busy.try_lock().ok()?;
        self.note();
        Some(self.memory.write(of, work))
    }

    fn read(&self, of: Tenant, work: &mut Reading<'_>) -> Result<(), HistoryError> {
        self.memory.read(of, work)
    }

    fn purge(&self, what: Purge) -> Result<Purged, HistoryError> {
        self.memory.purge(what)
    }

    fn preview(&self, what: Purge) -> Result<Purged, HistoryError> {
        self.memory.preview(what)
    }
}

const ONE: Tenant = Tenant::from_bytes([1; 16]);
const OTHER: Tenant = Tenant::from_bytes([2; 16]);
const THREAD: &str = "ebbtide-store";

type Receipt = oneshot::Receiver<Result<(), HistoryError>>;

/// A queue, its engine, and the numbers that were written, in order.
struct House {
    engine: Arc<Quick>,
    queue: Queue,
    written: Arc<Mutex<Vec<u32>>>,
}

impl House {
    fn new() -> Self {
        let engine = Arc::new(Quick {
            memory: MemoryEngine::new([7; 32], Limits::NONE),
            busy: Mutex::new(()),
            threads: Mutex::default(),
        });
        let shared: Arc<dyn Engine> = Arc::<Quick>::clone(&engine);
        Self {
            engine,
            queue: Queue::start(shared),
            written: Arc::default(),
        }
    }

    fn write(&self, tenant: Tenant, number: u32, size: usize, when: When) -> (Write, Receipt) {
        let written = Arc::clone(&self.written);
        let work: Work = Box::new(move |_| {
            lock(&written).push(number);
            Ok(())
        });
        let (done, receipt) = oneshot::channel();
        let write = Write {
            tenant,
            work,
            when,
            size,
            done,
            place: None,
        };
        (write, receipt)
    }

    fn here(&self, number: u32, size: usize) -> Receipt {
        let (write, receipt) = self.write(ONE, number, size, When::Now);
        self.queue.write(write);
        receipt
    }

    fn soon(&self, tenant: Tenant, number: u32) -> Receipt {
        let (write, receipt) = self.write(tenant, number, 10, When::Soon);
        self.queue.give(write);
        receipt
    }

    /// Returns true if the newest write was the thread's.
    fn by_thread(&self) -> bool {
        lock(&self.engine.threads)
            .last()
            .is_some_and(|name| name.as_deref() == Some(THREAD))
    }
}

#[test]
fn little_is_written_by_whoever_brings_it_with_what_waits_before_it() {
    let house = House::new();
    let mut soon = house.soon(ONE, 1);
    let mut here = house.here(2, 100);
    // The thread may have been faster, which takes nothing from it.
    if here.try_recv() == Ok(Ok(())) {
        assert!(!house.by_thread());
        assert_eq!(soon.try_recv(), Ok(Ok(())));
    } else {
        assert_eq!(here.blocking_recv(), Ok(Ok(())));
    }
    assert_eq!(*lock(&house.written), [1, 2]);
}

#[test]
fn the_thread_writes_what_is_much_or_would_wait() {
    let house = House::new();
    assert_eq!(house.here(1, SMALL + 1).blocking_recv(), Ok(Ok(())));
    assert!(house.by_thread());
    let busy = lock(&house.engine.busy);
    let mut waits = house.here(2, 10);
    assert_eq!(waits.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    let behind = house.here(3, 10);
    drop(busy);
    assert_eq!(waits.blocking_recv(), Ok(Ok(())));
    assert_eq!(behind.blocking_recv(), Ok(Ok(())));
    assert_eq!(*lock(&house.written), [1, 2, 3]);
}

#[test]
fn what_comes_while_something_is_written_is_committed_together() {
    let house = House::new();
    let busy = lock(&house.engine.busy);
    let receipts: Vec<Receipt> = (0..64).map(|number| house.here(number, 10)).collect();
    drop(busy);
    for receipt in receipts {
        assert_eq!(receipt.blocking_recv(), Ok(Ok(())));
    }
    // The thread may have begun with the first ones.
    assert!(lock(&house.engine.threads).len() <= 2);
    assert!(lock(&house.written).iter().copied().eq(0..64));
}

#[test]
fn what_nobody_waits_for_is_written_soon_and_whatever_waits_at_the_end() {
    let house = House::new();
    assert_eq!(house.soon(ONE, 1).blocking_recv(), Ok(Ok(())));
    let receipts = [house.soon(OTHER, 2), house.soon(ONE, 3)];
    let House { queue, written, .. } = house;
    drop(queue);
    for receipt in receipts {
        assert_eq!(receipt.blocking_recv(), Ok(Ok(())));
    }
    // Each tenant's in order; which tenant's first does not matter.
    assert_eq!(*lock(&written), [1, 3, 2]);
}

#[test]
fn one_that_fails_takes_no_other_with_it() {
    let house = House::new();
    let soon = house.soon(ONE, 1);
    let (mut write, bad) = house.write(ONE, 2, 10, When::Now);
    write.work = Box::new(|_| Err(HistoryError::NoSpace));
    house.queue.write(write);
    assert_eq!(bad.blocking_recv(), Ok(Err(HistoryError::NoSpace)));
    assert_eq!(soon.blocking_recv(), Ok(Ok(())));
    assert!(house.queue.is_failing());
    assert_eq!(house.here(3, 10).blocking_recv(), Ok(Ok(())));
    assert!(!house.queue.is_failing());
}

#[test]
fn many_at_once_are_all_written_each_givers_in_order() {
    const GIVERS: u32 = 8;
    const EACH: u32 = 200;
    let house = House::new();
    std::thread::scope(|scope| {
        for giver in 0..GIVERS {
            let house = &house;
            scope.spawn(move || {
                for n in 0..EACH {
                    let number = giver * EACH + n;
                    let receipt = match n % 3 {
                        0 => house.soon(if giver % 2 == 0 { ONE } else { OTHER }, number),
                        1 => house.here(number, 10),
                        _ => house.here(number, SMALL + 1),
                    };
                    if n % 5 == 0 {
                        assert_eq!(receipt.blocking_recv(), Ok(Ok(())));
                    }
                }
            });
        }
    });
    assert_eq!(house.here(u32::MAX, 10).blocking_recv(), Ok(Ok(())));
    let House {
        queue,
        written,
        engine,
    } = house;
    drop(queue);
    // The thread lets go of the engine when it ends.
    while Arc::strong_count(&engine) > 1 {
        std::thread::yield_now();
    }
    let written = lock(&written);
    assert_eq!(written.len() as u32, GIVERS * EACH + 1);
    for giver in (0..GIVERS).step_by(2) {
        let own = written.iter().filter(|&&number| number / EACH == giver);
        let own: Vec<u32> = own.copied().collect();
        assert!(own.is_sorted(), "{own:?}");
    }
}

#[test]
fn what_is_not_said_in_a_conversation_does_not_make_the_store_fail() {
    let house = House::new();
    for fault in [HistoryError::Busy, HistoryError::NoSpace] {
        let mut faults = vec![fault; 3];
        let work: Work = Box::new(move |_| faults.pop().map_or(Ok(()), Err));
        let (done, receipt) = oneshot::channel();
        house.queue.give(Write {
            tenant: ONE,
            work,
            when: When::Aside,
            size: 10,
            done,
            place: None,
        });
        receipt.blocking_recv().unwrap().ok();
        assert!(!house.queue.is_failing());
    }
}
