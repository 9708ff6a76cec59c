//! What an engine has to do, and what follows from that for all of them.

use std::ops::Add;

use context::{Turn, TurnId};

use crate::error::HistoryError;
use crate::mark::{Mark, MarkId};

/// What recording a conversation added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// How many of its leading turns were known before.
    pub known: usize,
    /// How many were added behind them.
    pub added: usize,
    /// The node of its last turn; [`TurnId::ROOT`] for an empty conversation.
    pub head: TurnId,
}

/// How much an engine holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Turns, each counted once.
    pub turns: u64,
    /// Bytes of readable text in them.
    pub bytes: u64,
    /// Marks.
    pub marks: u64,
    /// Conversations.
    pub conversations: u64,
    /// Bytes of text beside the turns: summaries, pins, editions, kept messages.
    pub beside: u64,
}

impl Stored {
    /// What keeping a turn adds.
    #[must_use]
    pub fn turn(turn: &Turn) -> Self {
        let texts = turn.parts().iter().flat_map(context::Part::readable);
        Self {
            turns: 1,
            bytes: texts.map(|text| text.len() as u64).sum(),
            ..Self::default()
        }
    }

    /// What keeping a mark adds.
    #[must_use]
    pub fn mark(mark: &Mark) -> Self {
        Self {
            marks: 1,
            ..Self::text_beside(mark.summary.len())
        }
    }

    /// What keeping a conversation adds.
    #[must_use]
    pub fn conversation() -> Self {
        Self {
            conversations: 1,
            ..Self::default()
        }
    }

    /// What keeping this many bytes beside the turns adds.
    #[must_use]
    pub fn text_beside(bytes: usize) -> Self {
        Self {
            beside: bytes as u64,
            ..Self::default()
        }
    }
}

impl Add for Stored {
    type Output = Self;

    /// Both together; never more than the largest number.
    fn add(self, other: Self) -> Self {
        Self {
            turns: self.turns.saturating_add(other.turns),
            bytes: self.bytes.saturating_add(other.bytes),
            marks: self.marks.saturating_add(other.marks),
            conversations: self.conversations.saturating_add(other.conversations),
            beside: self.beside.saturating_add(other.beside),
        }
    }
}

/// Keeps turns as an append-only tree. There is no operation that changes or removes a turn.
pub trait NodeStore {
    /// Appends a turn to `parent`. A turn that is there already is left alone and the answer is
    /// `false`.
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] where the parent is not there, [`HistoryError::NotItsChild`]
    /// where the turn's id does not follow from it, [`HistoryError::Full`] at a limit. Nothing is
    /// stored then.
    fn append(&mut self, parent: TurnId, turn: &Turn) -> Result<bool, HistoryError>;

    /// A node's turn and the id of its parent.
    ///
    /// # Errors
    /// Where the engine fails. A node that is not there is `Ok(None)`, as is the root.
    fn node(&self, id: TurnId) -> Result<Option<(Turn, TurnId)>, HistoryError>;

    /// How much is held.
    ///
    /// # Errors
    /// Where the engine fails.
    fn stored(&self) -> Result<Stored, HistoryError>;

    /// The turns from the root to `node`, `node` included. Time is linear in their number.
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] where the node is not there.
    fn path(&self, node: TurnId) -> Result<Vec<Turn>, HistoryError> {
        let mut turns = Vec::new();
        let mut at = node;
        while at != TurnId::ROOT {
            let (turn, parent) = self.node(at)?.ok_or(HistoryError::UnknownNode(at))?;
            turns.push(turn);
            at = parent;
        }
        turns.reverse();
        Ok(turns)
    }

    /// How many leading turns of a conversation are known. A node's id covers all turns before it,
    /// so this takes a binary search: O(log n) look-ups.
    ///
    /// # Errors
    /// Where the engine fails.
    fn known(&self, turns: &[Turn]) -> Result<usize, HistoryError> {
        let (mut known, mut unknown) = (0, turns.len() + 1);
        while known + 1 < unknown {
            let middle = known.midpoint(unknown);
            let there = match turns.get(middle - 1) {
                Some(turn) => self.node(turn.id())?.is_some(),
                None => false,
            };
            if there {
                known = middle;
            } else {
                unknown = middle;
            }
        }
        Ok(known)
    }

    /// Records a whole conversation, of which usually all but the end is known.
    ///
    /// # Errors
    /// Those of [`append`](Self::append). Turns before the failing one stay recorded.
    fn record(&mut self, turns: &[Turn]) -> Result<Recorded, HistoryError> {
        let known = self.known(turns)?;
        let mut head = known
            .checked_sub(1)
            .and_then(|last| turns.get(last))
            .map_or(TurnId::ROOT, Turn::id);
        let mut added = 0;
        for turn in turns.iter().skip(known) {
            self.append(head, turn)?;
            head = turn.id();
            added += 1;
        }
        Ok(Recorded { known, added, head })
    }
}

/// Keeps the marks on a tree.
pub trait MarkStore: NodeStore {
    /// Adds a mark. One that is there already is left alone and the answer is `false`.
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] where its node is not there, [`HistoryError::Full`] at a limit.
    fn add_mark(&mut self, mark: Mark) -> Result<bool, HistoryError>;

    /// A mark by its id.
    ///
    /// # Errors
    /// Where the engine fails. A mark that is not there is `Ok(None)`.
    fn mark(&self, id: MarkId) -> Result<Option<Mark>, HistoryError>;

    /// The marks at one node, oldest first.
    ///
    /// # Errors
    /// Where the engine fails.
    fn marks_at(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError>;

    /// The marks on the path from the root to `node`, those nearest the root first.
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] where the node is not there.
    fn marks_on(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError> {
        let mut marks = Vec::new();
        for turn in self.path(node)? {
            marks.extend(self.marks_at(turn.id())?);
        }
        Ok(marks)
    }
}
