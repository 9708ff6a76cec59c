//! The waits of a request, or of the end of an answer, for the store, and their limits.

use std::future::Future;
use std::sync::Arc;

use ::conversation::{Batch, Input};

use super::Inner;
use super::running::Shared;
use super::writer::work;
use crate::metrics::Failure;

impl Inner {
    /// Waits for something to be stored, but not for longer than the store's patience: it goes on beside then, and is
    /// counted.
    pub(super) async fn in_time(&self, storing: impl Future<Output = ()> + Send + 'static) {
        let mut storing = Box::pin(storing);
        if self.writer.in_time(&mut storing).await.is_none() {
            self.parts.metrics.failed(Failure::StoringInTime);
            self.jobs.tracker.spawn(storing);
        }
    }

    /// Stores something before a request goes on, if the store takes it in time. If it does not take it at all, the
    /// next request stores it again.
    pub(super) async fn store_in_time(self: &Arc<Self>, shared: &Arc<Shared>, batch: Batch) {
        let (inner, shared) = (Arc::clone(self), Arc::clone(shared));
        let storing = async move {
            let size = batch.size();
            let writer = &inner.writer;
            let receipt = writer.write_little(shared.tenant, work(batch), size).await;
            if let Err(failure) = receipt.kept().await {
                // It is right in memory; only a restart would not know of it.
                let now = (inner.parts.clock)();
                inner.local().not_stored(&shared, &failure, now);
                shared.lock().on(Input::Unkept, now);
            }
        };
        self.in_time(storing).await;
    }
}
