//! Beside a conversation in memory: its preparation under way, and those who wait for it.

use std::sync::{Mutex, PoisonError};

use ::conversation::directory;
use ::conversation::homunculus::JobId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A conversation in memory.
pub(super) type Shared = directory::Shared<Running>;

/// The preparation of one conversation.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// Wakes requests that are held when a preparation has ended.
    pub settled: Notify,
    /// The preparation under way.
    job: Mutex<Option<(JobId, Reins)>>,
}

/// The signals to a preparation.
#[derive(Clone, Debug)]
pub(super) struct Reins {
    /// Ends it.
    pub cancel: CancellationToken,
    /// Makes it go without a model if that would have to wait for a slot.
    pub hurry: CancellationToken,
}

impl Running {
    /// Notes the preparation under way; one before it ends.
    pub(super) fn begin(&self, job: JobId, reins: Reins) {
        let mut running = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = running.replace((job, reins)) {
            old.cancel.cancel();
        }
    }

    /// A request waits for the preparation under way.
    pub(super) fn hurry(&self) {
        let running = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reins)) = &*running {
            reins.hurry.cancel();
        }
    }

    /// Ends a preparation.
    pub(super) fn abandon(&self, job: JobId) {
        let mut running = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reins)) = running.take_if(|(running, _)| *running == job) {
            reins.cancel.cancel();
        }
    }
}
