//! The damaged rows met since the store was opened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use context::TurnId;
use history::Record;

use crate::connection::lock;

/// The most rows that are remembered, so that a store that is damaged everywhere takes no memory.
pub const MOST: usize = 10_000;

/// The number of a tenant's row, and a turn: several tenants may have the same one.
pub type Key = (i64, TurnId);

/// The damaged rows, each once.
#[derive(Debug, Default)]
pub struct Damage {
    rows: Mutex<BTreeSet<(Record, i64)>>,
    /// The turns that can be written again, with their rows where these are damaged.
    turns: Mutex<BTreeMap<Key, Option<i64>>>,
}

impl Damage {
    /// Remembers a row by its number.
    pub fn note(&self, kind: Record, row: i64) {
        let mut rows = lock(&self.rows);
        if rows.len() < MOST {
            rows.insert((kind, row));
        }
    }

    /// Remembers a damaged turn.
    pub fn turn(&self, row: i64, key: Key) {
        self.note(Record::Turn, row);
        self.open(key, Some(row));
    }

    /// Remembers a gap that a repair left. The store is sound all the same.
    pub fn gap(&self, key: Key) {
        self.open(key, None);
    }

    fn open(&self, key: Key, row: Option<i64>) {
        let mut turns = lock(&self.turns);
        if turns.len() < MOST {
            turns.insert(key, row);
        }
    }

    /// True if the turn's record is not what was written.
    pub fn is_open(&self, key: Key) -> bool {
        lock(&self.turns).contains_key(&key)
    }

    /// Forgets a turn that was written again.
    pub fn close(&self, key: Key) {
        if let Some(Some(row)) = lock(&self.turns).remove(&key) {
            lock(&self.rows).remove(&(Record::Turn, row));
        }
    }

    /// Counts the rows by kind.
    pub fn counts(&self) -> BTreeMap<Record, u64> {
        let mut counts = BTreeMap::new();
        for (kind, _) in lock(&self.rows).iter() {
            *counts.entry(*kind).or_insert(0) += 1;
        }
        counts
    }
}
