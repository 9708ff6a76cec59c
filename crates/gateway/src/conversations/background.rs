//! The work that is done beside requests.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks beside requests: preparations, receipts, writes that take long, the rounds of the store's care. They
/// end together.
#[derive(Clone, Debug, Default)]
pub(super) struct Background {
    tracker: TaskTracker,
    cancel: CancellationToken,
}

impl Background {
    /// Runs a task.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// The signal for a task to end. Cancelling it ends no other task.
    pub(super) fn signal(&self) -> CancellationToken {
        self.cancel.child_token()
    }

    /// Tells all tasks to end.
    pub(super) fn end(&self) {
        self.cancel.cancel();
        self.tracker.close();
    }

    /// Waits until all tasks have ended, but no longer than this: one that does not notice is not waited for.
    pub(super) async fn ended(&self, grace: Duration) {
        let _ = timeout(grace, self.tracker.wait()).await;
    }
}
