//! Removes one conversation, from memory and from the store.

use std::sync::Arc;

use history::{ConversationId, Purge, Purged};
use tokio::task::spawn_blocking;

use super::{Reporter, StoreFailure};
use crate::report::{ReportError, Viewer};

impl Reporter {
    pub(super) async fn remove(
        &self,
        asker: Viewer,
        id: ConversationId,
    ) -> Result<Purged, ReportError> {
        let tenant = self.find(asker, id).await?.tenant;
        let in_memory = self.directory.registry.get(tenant, id);
        if in_memory.is_some_and(|shared| !self.directory.registry.remove(&shared)) {
            return Err(ReportError::UnderWay);
        }
        self.receipts.forget(id);
        // Earlier writes must not land after the removal.
        self.writer.flush().await;
        let what = Purge {
            tenant: Some(tenant),
            conversation: Some(id),
            before: None,
        };
        let engine = Arc::clone(&self.engine);
        let purged = spawn_blocking(move || engine.purge(what)).await;
        let purged = purged.map_err(|_| StoreFailure::Closed)?;
        Ok(purged?)
    }
}
