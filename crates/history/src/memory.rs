//! The in-memory engine, for tests and for processes that need no persistence.

mod engine;
mod purge;
mod records;

use std::sync::Arc;

use context::{Text, Turn, TurnId};
use jiff::civil::Date;
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use crate::account::Spent;
use crate::conversation::{Conversation, ConversationId};
use crate::edition::Edition;
use crate::engine::{Owner, Pinned};
use crate::error::HistoryError;
use crate::limits::Limits;
use crate::mark::{Mark, MarkId};
use crate::store::{MarkStore, NodeStore, Stored};

pub use engine::MemoryEngine;

/// One tenant's data in memory.
///
/// Cloning takes constant time and shares all entries; a later write costs O(log n) more per changed
/// entry. A transaction is therefore a clone that replaces the original or is dropped, and each reader
/// has its own snapshot.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    limits: Limits,
    stored: Stored,
    nodes: HashTrieMapSync<TurnId, Node>,
    marks: HashTrieMapSync<MarkId, Mark>,
    marks_at: HashTrieMapSync<TurnId, Vec<MarkId>>,
    conversations: HashTrieMapSync<ConversationId, Kept>,
    heads: HashTrieMapSync<TurnId, Vec<ConversationId>>,
    pins: HashTrieMapSync<ConversationId, Vec<Pinned>>,
    editions: Editions,
    originals: HashTrieMapSync<TurnId, Arc<[u8]>>,
    chunks: HashTrieMapSync<[u8; 16], (Text, Option<Owner>)>,
    spent: RedBlackTreeMapSync<(Date, Text), Spent>,
}

/// A conversation and its journal.
#[derive(Clone, Debug)]
struct Kept {
    conversation: Conversation,
    journal: Option<Text>,
}

#[derive(Clone, Debug)]
struct Node {
    turn: Turn,
    parent: TurnId,
}

/// The editions of each turn.
#[derive(Clone, Debug, Default)]
struct Editions {
    of: HashTrieMapSync<TurnId, Vec<Numbered>>,
    next: u64,
}

/// An edition and its sequence number among all editions.
#[derive(Clone, Debug)]
struct Numbered {
    number: u64,
    edition: Edition,
}

impl Memory {
    /// An empty store with these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    fn contains(&self, node: TurnId) -> bool {
        node == TurnId::ROOT || self.nodes.contains_key(&node)
    }

    fn is_empty(&self) -> bool {
        self.nodes.is_empty()
            && self.conversations.is_empty()
            && self.pins.is_empty()
            && self.chunks.is_empty()
            && self.spent.is_empty()
    }

    /// Counts `more` as held unless that exceeds a limit.
    fn hold(&mut self, more: Stored) -> Result<(), HistoryError> {
        let held = self.stored + more;
        self.limits.allow(&held)?;
        self.stored = held;
        Ok(())
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
        self.hold(Stored::turn(turn))?;
        let turn = turn.clone();
        self.nodes.insert_mut(turn.id(), Node { turn, parent });
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
        self.hold(Stored::mark(&mark))?;
        pushed(&mut self.marks_at, mark.node, id);
        self.marks.insert_mut(id, mark);
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

/// Appends to the list at a key. The lists are short.
fn pushed<K, V>(lists: &mut HashTrieMapSync<K, Vec<V>>, key: K, value: V)
where
    K: Copy + Eq + std::hash::Hash,
    V: Clone,
{
    if let Some(list) = lists.get_mut(&key) {
        list.push(value);
    } else {
        lists.insert_mut(key, vec![value]);
    }
}

#[cfg(test)]
mod tests;
