//! Fields by name, at the place where they were last time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::value::Value;

/// A field that is read again and again from records of nearly always one layout: where it stood last
/// time is looked at first. Nothing depends on the guess but the time it takes.
#[derive(Debug)]
pub(super) struct Slot {
    name: Arc<str>,
    guess: AtomicU32,
}

impl Slot {
    pub(super) fn new(name: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            guess: AtomicU32::new(0),
        }
    }

    pub(super) const fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn find<'a>(&self, fields: &'a [(Arc<str>, Value)]) -> Option<&'a Value> {
        let guess = self.guess.load(Ordering::Relaxed) as usize;
        match fields.get(guess) {
            Some((name, value)) if **name == *self.name => Some(value),
            _ => self.search(fields),
        }
    }

    fn search<'a>(&self, fields: &'a [(Arc<str>, Value)]) -> Option<&'a Value> {
        let at = fields.iter().position(|(name, _)| **name == *self.name)?;
        self.guess
            .store(u32::try_from(at).unwrap_or_default(), Ordering::Relaxed);
        fields.get(at).map(|(_, value)| value)
    }
}
