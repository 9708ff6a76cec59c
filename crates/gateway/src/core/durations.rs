//! How long summaries take, by tenant, upstream and model: what one conversation learns, the others begin
//! with.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use conversation::homunculus::Writing;

use super::identity::Key;

/// So many are remembered.
const MOST: usize = 1_024;

/// What was learnt.
#[derive(Debug, Default)]
pub(super) struct Durations(Mutex<HashMap<Key, Writing>>);

impl Durations {
    /// What is known.
    pub(super) fn of(&self, key: Key) -> Writing {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&key).copied().unwrap_or_default()
    }

    /// Something was learnt.
    pub(super) fn keep(&self, key: Key, writing: Writing) {
        if writing == Writing::default() {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&key) {
            // It is learnt again soon enough.
            known.clear();
        }
        known.insert(key, writing);
    }
}

#[cfg(test)]
mod tests {
    use conversation::homunculus::Writing;
    use jiff::SignedDuration;

    use super::{Durations, MOST};

    #[test]
    fn what_is_learnt_of_one_model_says_nothing_of_another() {
        let durations = Durations::default();
        let mut writing = Writing::default();
        writing.learn(SignedDuration::from_secs(40));
        durations.keep(1, writing);
        durations.keep(1, Writing::default());
        assert_eq!(
            durations.of(1),
            writing,
            "who knows nothing takes nothing away"
        );
        assert_eq!(durations.of(2), Writing::default());
        for key in 0..2 * MOST as u64 {
            durations.keep(key, writing);
            assert!(durations.0.lock().unwrap().len() <= MOST);
        }
    }
}
