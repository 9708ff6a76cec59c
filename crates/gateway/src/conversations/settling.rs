//! Brings what is stored to where it rests, when nothing is being written and at the end.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{GRACE, Inner};

/// The writes seen in the last round.
#[derive(Debug, Default)]
pub(super) struct Seen(Option<u64>);

impl Seen {
    /// Returns true if this number of writes is that of the last round.
    fn is_idle(&mut self, written: u64) -> bool {
        self.0.replace(written) == Some(written)
    }
}

impl Inner {
    /// Has the engine settle, if nothing was written since the last round. Where all is at rest, that costs
    /// nothing.
    pub(super) async fn settle_at_rest(&self, seen: &mut Seen) {
        if seen.is_idle(self.writer.written()) {
            self.settle_engine().await;
        }
    }

    /// Has the engine settle. The caller waits no longer than [`GRACE`].
    pub(super) async fn settle_engine(&self) {
        let engine = Arc::clone(&self.parts.engine);
        match timeout(GRACE, spawn_blocking(move || engine.settle())).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "the store's log stays beside its file"),
            Ok(Err(_)) => {
                tracing::warn!("the store's log stays beside its file: the store panicked")
            }
            Err(_) => tracing::warn!("the store's log stays beside its file: the disk is slow"),
        }
    }
}
