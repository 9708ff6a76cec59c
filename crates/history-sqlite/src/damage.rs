//! The damaged rows met since the store was opened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use context::TurnId;
use history::Record;

use crate::connection::lock;

/// The most rows that are remembered, so that a store that is damaged everywhere takes no memory.
const MOST: usize = 10_000;

/// The damaged rows, each once.
#[derive(Debug, Default)]
pub struct Damage {
    rows: Mutex<BTreeSet<(Record, i64)>>,
    /// The turns that can be written again, with their rows where these are damaged.
    turns: Mutex<BTreeMap<TurnId, Option<i64>>>,
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
    pub fn turn(&self, row: i64, id: TurnId) {
        self.note(Record::Turn, row);
        self.open(id, Some(row));
    }

    /// Remembers a gap that a repair left. The store is sound all the same.
    pub fn gap(&self, id: TurnId) {
        self.open(id, None);
    }

    fn open(&self, id: TurnId, row: Option<i64>) {
        let mut turns = lock(&self.turns);
        if turns.len() < MOST {
            turns.insert(id, row);
        }
    }

    /// True if the turn's record is not what was written.
    pub fn is_open(&self, id: TurnId) -> bool {
        lock(&self.turns).contains_key(&id)
    }

    /// Forgets a turn that was written again.
    pub fn close(&self, id: TurnId) {
        if let Some(Some(row)) = lock(&self.turns).remove(&id) {
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
