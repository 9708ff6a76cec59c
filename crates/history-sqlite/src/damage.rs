//! The damaged rows met since the store was opened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use history::Record;

use crate::connection::lock;

/// The most rows that are remembered, so that a store that is damaged everywhere takes no memory.
const MOST: usize = 10_000;

/// The damaged rows, each once.
#[derive(Debug, Default)]
pub struct Damage(Mutex<BTreeSet<(Record, i64)>>);

impl Damage {
    /// Remembers a row by its number.
    pub fn note(&self, kind: Record, row: i64) {
        let mut rows = lock(&self.0);
        if rows.len() < MOST {
            rows.insert((kind, row));
        }
    }

    /// Counts the rows by kind.
    pub fn counts(&self) -> BTreeMap<Record, u64> {
        let mut counts = BTreeMap::new();
        for (kind, _) in lock(&self.0).iter() {
            *counts.entry(*kind).or_insert(0) += 1;
        }
        counts
    }
}
