//! Lets conversations leave memory: when the caller says so, and by itself while requests come.

use std::sync::{PoisonError, TryLockError};

use conversation::Batch;
use history::{HistoryError, Tenant};
use jiff::{SignedDuration, Timestamp};

use crate::engine::Engine;

/// The time between two rounds through the conversations in memory.
const ROUND: SignedDuration = SignedDuration::from_secs(15);

/// The most conversations that leave memory, and the most journals that are written, with one request.
const AT_ONCE: usize = 64;

/// The rounds through the conversations in memory.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// The time of the last round. `None`: the next request continues it.
    last: Option<Timestamp>,
    /// True if the store refused the last write. The next round tries again.
    is_refused: bool,
}

impl Rounds {
    /// Returns true if it is time for a round.
    fn is_due(&mut self, now: Timestamp) -> bool {
        let Some(last) = self.last else { return true };
        if now < last {
            // The caller's clock was set back.
            self.last = Some(now);
        }
        now.duration_since(last) >= ROUND
    }
}

impl Engine {
    /// Lets conversations without a recent request leave memory; they come back from the store.
    ///
    /// Requests do this by themselves, so a program that never calls it stays within its
    /// [room](crate::Builder::room): every 15 seconds, by the times that are passed, the next request lets at most 64
    /// idle conversations leave and writes at most 64 journals of those that left. Call it to have all of that done at
    /// once, for example before a time without requests or before the program ends.
    pub fn rest(&self, now: Timestamp) {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let rested = self.directory.let_rest(now);
        rounds.last = Some(now);
        rounds.is_refused = self.store_left(rested.to_store).is_err();
    }

    /// Does a part of what [`rest`](Self::rest) does, if it is time. Another thread that is at it is not waited for.
    pub(crate) fn rest_in_passing(&self, now: Timestamp) {
        let mut rounds = match self.rounds.try_lock() {
            Ok(rounds) => rounds,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let left = match rounds.is_due(now) {
            true => {
                let rested = self.directory.let_some_rest(now, AT_ONCE);
                rounds.last = (!rested.is_more).then_some(now);
                rested.to_store
            }
            // Each try may take as long as the store waits for another process.
            false if rounds.is_refused => return,
            // New conversations that find no room have others leave between two rounds.
            false => self.directory.registry.take_left(AT_ONCE),
        };
        rounds.is_refused = self.store_left(left).is_err();
        if rounds.is_refused {
            rounds.last = Some(now);
        }
    }

    /// Stores the journals of conversations that left memory. Those that the store refuses are kept for later:
    /// without its journal, a conversation comes back without what happened before.
    fn store_left(&self, mut left: Vec<(Tenant, Batch)>) -> Result<(), HistoryError> {
        let mut stored = 0;
        let mut of_tenants = left.chunk_by(|(one, _), (other, _)| one == other);
        let kept = of_tenants.try_for_each(|own| {
            let Some(&(tenant, _)) = own.first() else {
                return Ok(());
            };
            self.store.write(tenant, &mut |store| {
                own.iter().try_for_each(|(_, batch)| batch.write(store))
            })?;
            stored += own.len();
            Ok(())
        });
        if kept.is_err() {
            self.directory.registry.give_back(left.split_off(stored));
        }
        kept
    }
}

#[cfg(test)]
mod tests;
