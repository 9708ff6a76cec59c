//! Providers that refused compaction.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ::conversation::identity::Key;
use jiff::{SignedDuration, Timestamp};

/// For how long a provider that refused compaction is not asked again.
const HOLDS: SignedDuration = SignedDuration::from_hours(24);
/// The most models that are remembered.
const MOST: usize = 1_024;

/// The models whose provider refused compaction, and until when that holds.
#[derive(Debug, Default)]
pub(super) struct Unknowing(Mutex<HashMap<Key, Timestamp>>);

impl Unknowing {
    /// Returns true if compaction was refused for a model.
    pub fn has(&self, key: Key, now: Timestamp) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&key).is_some_and(|until| now < *until)
    }

    /// Remembers a refusal. Returns false if it was known.
    pub fn learn(&self, key: Key, now: Timestamp) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, until| now < *until);
        if known.len() >= MOST {
            known.clear();
        }
        let until = now.checked_add(HOLDS).unwrap_or(Timestamp::MAX);
        known.insert(key, until).is_none()
    }
}
