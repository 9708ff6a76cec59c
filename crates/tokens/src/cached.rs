//! Counts that are remembered by content.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use context::{TokenCounter, Tokens};

/// Texts shorter than this are counted each time: counting them costs about what hashing does.
const SHORTEST: usize = 64;

/// The number of texts that are remembered unless another is asked for: about 3 MB.
const CAPACITY: usize = 1 << 16;

/// Remembers the count of every text of some length by a hash of its content, so that a
/// conversation that is sent again costs only its new turns. Bounded: at the capacity, texts that
/// were not asked for lately are forgotten.
#[derive(Debug)]
pub struct CachedCounter<C> {
    counter: C,
    memory: Mutex<Memory>,
}

impl<C: TokenCounter> CachedCounter<C> {
    /// A counter that remembers what `counter` said about up to 65,536 texts.
    #[must_use]
    pub fn new(counter: C) -> Self {
        Self::with_capacity(counter, CAPACITY)
    }

    /// The same with room for `capacity` texts, at least two.
    #[must_use]
    pub fn with_capacity(counter: C, capacity: usize) -> Self {
        let memory = Memory {
            half: (capacity / 2).max(1),
            recent: HashMap::new(),
            older: HashMap::new(),
        };
        Self {
            counter,
            memory: Mutex::new(memory),
        }
    }

    /// The number of texts that are remembered now.
    #[must_use]
    pub fn remembered(&self) -> usize {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.recent.len() + memory.older.len()
    }
}

impl<C: TokenCounter> TokenCounter for CachedCounter<C> {
    fn count(&self, text: &str) -> Tokens {
        if text.len() < SHORTEST {
            return self.counter.count(text);
        }
        let key = Key::of(text);
        let remembered = self
            .memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key);
        // Counted outside the lock: two threads may count one new text twice, but none waits.
        remembered.unwrap_or_else(|| {
            let tokens = self.counter.count(text);
            self.memory
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .put(key, tokens);
            tokens
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key([u8; 16]);

impl Key {
    /// 128 bits of blake3: no two texts in the life of a process share them by accident.
    fn of(text: &str) -> Self {
        let mut key = [0; 16];
        blake3::Hasher::new()
            .update(text.as_bytes())
            .finalize_xof()
            .fill(&mut key);
        Self(key)
    }
}

/// Two generations. When the recent one is half the capacity it becomes the older one, and what was
/// the older one and was not asked for since is forgotten.
#[derive(Debug)]
struct Memory {
    half: usize,
    recent: HashMap<Key, Tokens>,
    older: HashMap<Key, Tokens>,
}

impl Memory {
    fn get(&mut self, key: Key) -> Option<Tokens> {
        if let Some(&tokens) = self.recent.get(&key) {
            return Some(tokens);
        }
        let tokens = self.older.remove(&key)?;
        self.put(key, tokens);
        Some(tokens)
    }

    fn put(&mut self, key: Key, tokens: Tokens) {
        if self.recent.len() >= self.half {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(key, tokens);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::CachedCounter;
    use context::{Heuristic, TokenCounter, Tokens};
    use proptest::prelude::*;

    /// Counts how often it is asked.
    #[derive(Default)]
    struct Asked(AtomicU64);

    impl TokenCounter for Asked {
        fn count(&self, text: &str) -> Tokens {
            self.0.fetch_add(1, Ordering::Relaxed);
            Heuristic.count(text)
        }
    }

    fn long(number: usize) -> String {
        format!("{number:0>80}")
    }

    #[test]
    fn a_text_is_counted_once() {
        let cached = CachedCounter::new(Asked::default());
        for _ in 0..3 {
            assert_eq!(cached.count(&long(1)), Tokens::new(20));
        }
        assert_eq!(cached.counter.0.load(Ordering::Relaxed), 1);
        assert_eq!(cached.remembered(), 1);
    }

    #[test]
    fn what_is_asked_for_again_survives() {
        let cached = CachedCounter::with_capacity(Asked::default(), 8);
        for number in 0..100 {
            let _ = cached.count(&long(7_777));
            let _ = cached.count(&long(number));
            assert!(cached.remembered() <= 8);
        }
        assert_eq!(cached.counter.0.load(Ordering::Relaxed), 101);
    }

    proptest! {
        #[test]
        fn a_cached_count_is_the_count(
            texts in prop::collection::vec("[a-c ]{60,70}", 0..40),
            capacity in 0_usize..9,
        ) {
            let cached = CachedCounter::with_capacity(Heuristic, capacity);
            for text in &texts {
                prop_assert_eq!(cached.count(text), Heuristic.count(text));
                prop_assert!(cached.remembered() <= capacity.max(2));
            }
        }
    }
}
