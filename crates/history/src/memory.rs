//! The engine in memory: what tests use, and what a process that need not survive uses.

use std::collections::HashMap;

use context::{Turn, TurnId};

use crate::error::HistoryError;
use crate::mark::{Mark, MarkId};
use crate::store::{MarkStore, NodeStore, Stored};

/// How much an engine may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Turns.
    pub turns: u64,
    /// Bytes of readable text in them.
    pub bytes: u64,
    /// Marks.
    pub marks: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        turns: u64::MAX,
        bytes: u64::MAX,
        marks: u64::MAX,
    };
}

/// A tree of turns and its marks, in memory. Cloning copies the index; turns are shared.
#[derive(Clone, Debug)]
pub struct Memory {
    limits: Limits,
    stored: Stored,
    nodes: HashMap<TurnId, Node>,
    marks: HashMap<MarkId, Mark>,
    marks_at: HashMap<TurnId, Vec<MarkId>>,
}

#[derive(Clone, Debug)]
struct Node {
    turn: Turn,
    parent: TurnId,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Limits::NONE)
    }
}

impl Memory {
    /// An empty tree.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            stored: Stored::default(),
            nodes: HashMap::new(),
            marks: HashMap::new(),
            marks_at: HashMap::new(),
        }
    }

    fn contains(&self, node: TurnId) -> bool {
        node == TurnId::ROOT || self.nodes.contains_key(&node)
    }
}

impl NodeStore for Memory {
    fn append(&mut self, parent: TurnId, turn: &Turn) -> Result<bool, HistoryError> {
        if !self.contains(parent) {
            return Err(HistoryError::UnknownNode(parent));
        }
        if !turn.follows(parent) {
            return Err(HistoryError::NotItsChild {
                turn: turn.id(),
                parent,
            });
        }
        if self.nodes.contains_key(&turn.id()) {
            return Ok(false);
        }
        let bytes = self.stored.bytes.saturating_add(text_bytes(turn));
        within(self.stored.turns + 1, self.limits.turns, "turns")?;
        within(bytes, self.limits.bytes, "bytes")?;
        self.stored.turns += 1;
        self.stored.bytes = bytes;
        let turn = turn.clone();
        self.nodes.insert(turn.id(), Node { turn, parent });
        Ok(true)
    }

    fn node(&self, id: TurnId) -> Result<Option<(Turn, TurnId)>, HistoryError> {
        Ok(self
            .nodes
            .get(&id)
            .map(|node| (node.turn.clone(), node.parent)))
    }

    fn stored(&self) -> Result<Stored, HistoryError> {
        Ok(self.stored)
    }
}

impl MarkStore for Memory {
    fn add_mark(&mut self, mark: Mark) -> Result<bool, HistoryError> {
        if !self.nodes.contains_key(&mark.node) {
            return Err(HistoryError::UnknownNode(mark.node));
        }
        let id = mark.id();
        if self.marks.contains_key(&id) {
            return Ok(false);
        }
        within(self.stored.marks + 1, self.limits.marks, "marks")?;
        self.stored.marks += 1;
        self.marks_at.entry(mark.node).or_default().push(id);
        self.marks.insert(id, mark);
        Ok(true)
    }

    fn mark(&self, id: MarkId) -> Result<Option<Mark>, HistoryError> {
        Ok(self.marks.get(&id).cloned())
    }

    fn marks_at(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError> {
        Ok(self
            .marks_at
            .get(&node)
            .into_iter()
            .flatten()
            .filter_map(|id| self.marks.get(id).cloned())
            .collect())
    }
}

fn within(wanted: u64, limit: u64, what: &'static str) -> Result<(), HistoryError> {
    if wanted > limit {
        return Err(HistoryError::Full { limit, what });
    }
    Ok(())
}

/// The readable bytes of a turn.
fn text_bytes(turn: &Turn) -> u64 {
    turn.parts()
        .iter()
        .flat_map(context::Part::readable)
        .map(|text| text.len() as u64)
        .sum()
}

#[cfg(test)]
mod tests;
