//! Fields by name, at the place where they were last time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::value::Value;

/// The names and words of one program, each once: two of them that are the same text are then the same
/// piece of memory, which is faster to see.
#[derive(Default)]
pub(super) struct Names(RefCell<BTreeSet<Arc<str>>>);

impl Names {
    /// A name.
    pub(super) fn one(&self, name: &Arc<str>) -> Arc<str> {
        let mut known = self.0.borrow_mut();
        if let Some(known) = known.get(name) {
            return Arc::clone(known);
        }
        known.insert(Arc::clone(name));
        Arc::clone(name)
    }

    /// A constant.
    pub(super) fn within(&self, value: &Value) -> Value {
        match value {
            Value::Text(text) => Value::Text(self.one(text)),
            other => other.clone(),
        }
    }
}

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

    #[inline]
    pub(super) fn find<'a>(&self, fields: &'a [(Arc<str>, Value)]) -> Option<&'a Value> {
        let guess = self.guess.load(Ordering::Relaxed) as usize;
        match fields.get(guess) {
            Some((name, value)) if self.is(name) => Some(value),
            _ => self.search(fields),
        }
    }

    #[inline]
    fn is(&self, name: &Arc<str>) -> bool {
        Arc::ptr_eq(name, &self.name) || *name == self.name
    }

    #[cold]
    fn search<'a>(&self, fields: &'a [(Arc<str>, Value)]) -> Option<&'a Value> {
        let at = fields.iter().position(|(name, _)| self.is(name))?;
        self.guess
            .store(u32::try_from(at).unwrap_or_default(), Ordering::Relaxed);
        fields.get(at).map(|(_, value)| value)
    }
}
