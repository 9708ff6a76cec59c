//! The waits of a request, or of the end of an answer, for the store, and their limits.

use std::future::Future;
use std::sync::Arc;

use ::conversation::{Batch, Input};

use super::Clock;
use super::background::Background;
use super::local::Local;
use super::running::Shared;
use super::writer::{Writer, work};
use crate::metrics::{Failure, Metrics};

/// Stores what must be stored before something goes on, as long as that does not take too long.
pub(super) struct Storing {
    pub(super) clock: Clock,
    pub(super) metrics: Arc<Metrics>,
    pub(super) writer: Writer,
    pub(super) local: Arc<Local>,
    pub(super) background: Background,
}

impl Storing {
    /// Waits for something to be stored, but not for longer than the store's patience: it goes on beside then, and is
    /// counted.
    pub(super) async fn in_time(&self, storing: impl Future<Output = ()> + Send + 'static) {
        let mut storing = Box::pin(storing);
        if self.writer.in_time(&mut storing).await.is_none() {
            self.metrics.failed(Failure::StoringInTime);
            self.background.spawn(storing);
        }
    }

    /// Stores something before a request goes on, if the store takes it in time. If it does not take it at all, the
    /// next request stores it again.
    pub(super) async fn store_in_time(&self, shared: &Arc<Shared>, batch: Batch) {
        let (writer, local) = (self.writer.clone(), Arc::clone(&self.local));
        let (clock, shared) = (Arc::clone(&self.clock), Arc::clone(shared));
        let storing = async move {
            let size = batch.size();
            let receipt = writer.write_little(shared.tenant, work(batch), size).await;
            if let Err(failure) = receipt.kept().await {
                // It is right in memory; only a restart would not know of it.
                let now = clock();
                local.not_stored(&shared, &failure, now);
                shared.lock().on(Input::Unkept, now);
            }
        };
        self.in_time(storing).await;
    }
}
