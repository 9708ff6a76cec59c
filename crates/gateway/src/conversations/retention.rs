//! Removes abandoned conversations from the store after `limits.retention`.

use std::sync::Arc;

use history::Purge;
use jiff::{SignedDuration, Timestamp};
use tokio::task::spawn_blocking;

use super::Inner;

/// The interval at which the store is searched: a purge reads which turns can be reached, so not
/// every minute.
const EVERY: SignedDuration = SignedDuration::from_hours(1);

/// The next search of the store: at the first opportunity, then every hour.
#[derive(Debug, Default)]
pub(super) struct Due(Option<Timestamp>);

impl Due {
    /// Returns true if it is time, and then sets the next time an hour from now.
    fn is_now(&mut self, now: Timestamp) -> bool {
        let due = self.0.is_none_or(|next| now >= next);
        if due {
            self.0 = now.checked_add(EVERY).ok();
        }
        due
    }
}

impl Inner {
    /// Removes what was last seen longer ago than is kept, whosoever's it is.
    pub(super) async fn forget(&self, due: &mut Due, now: Timestamp) {
        let Some(kept) = self.parts.config.limits.retention else {
            return;
        };
        // Without a time that far back nothing can be older.
        let Ok(before) = now.checked_sub(kept) else {
            return;
        };
        if !due.is_now(now) {
            return;
        }
        let what = Purge {
            tenant: None,
            conversation: None,
            before: Some(before),
        };
        let engine = Arc::clone(&self.parts.engine);
        match spawn_blocking(move || engine.purge(what)).await {
            Ok(Ok(purged)) if purged.conversations > 0 => tracing::info!(
                conversations = purged.conversations,
                turns = purged.turns,
                bytes = purged.bytes,
                "conversations older than limits.retention were removed"
            ),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "nothing old was removed"),
            Err(_) => tracing::warn!("nothing old was removed: the store panicked"),
        }
    }
}
