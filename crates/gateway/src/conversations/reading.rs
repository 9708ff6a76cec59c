//! Reads and counts large requests beside the threads that carry answers, a few at a time.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

/// From so many bytes on, messages are read beside: some milliseconds, in which a thread would carry
/// nothing. Less costs less than going aside.
const MUCH: usize = 64 << 10;

/// The places for those who read much.
#[derive(Debug)]
pub(crate) struct Reading(Semaphore);

impl Default for Reading {
    /// One permit for each core. More would only wait for each other, and each thread that counts
    /// keeps a cache of a megabyte.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Semaphore::new(cores))
    }
}

impl Reading {
    /// Does some work that reads so many bytes.
    pub(crate) async fn of<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes < MUCH {
            return work();
        }
        // It is never closed; without a place the work is done as well.
        let _place = self.0.acquire().await;
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
            // There is no other thread to go to.
            _ => work(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MUCH, Reading};

    async fn check() {
        let reading = Reading::default();
        let works = (0..8).map(|index| reading.of(index * MUCH / 4, move || index));
        let mut done = Vec::new();
        for work in works {
            done.push(work.await);
        }
        assert_eq!(done, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[tokio::test]
    async fn little_and_much_on_one_thread() {
        check().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn little_and_much_on_many() {
        check().await;
    }
}
