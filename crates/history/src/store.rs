//! The traits of one tenant's tree, with the operations that follow for every engine.

use std::ops::Add;

use context::{Turn, TurnId};

use crate::error::HistoryError;
use crate::mark::{Mark, MarkId};

/// The result of recording a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Number of leading turns that were stored before.
    pub known: usize,
    /// Number of turns added after them.
    pub added: usize,
    /// The id of the last turn; [`TurnId::ROOT`] for an empty conversation.
    pub head: TurnId,
}

/// The amount of data that a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Distinct turns.
    pub turns: u64,
    /// Bytes of readable text in the turns.
    pub bytes: u64,
    /// Number of marks.
    pub marks: u64,
    /// Number of conversations.
    pub conversations: u64,
    /// Bytes of other text: summaries, pins, editions, kept messages.
    pub beside: u64,
}

impl Stored {
    /// The amount that one turn adds.
    #[must_use]
    pub fn turn(turn: &Turn) -> Self {
        let texts = turn.parts().iter().flat_map(context::Part::readable);
        Self {
            turns: 1,
            bytes: texts.map(|text| text.len() as u64).sum(),
            ..Self::default()
        }
    }

    /// The amount that one mark adds.
    #[must_use]
    pub fn mark(mark: &Mark) -> Self {
        Self {
            marks: 1,
            ..Self::text_beside(mark.summary.len())
        }
    }

    /// The amount that one conversation adds.
    #[must_use]
    pub fn conversation() -> Self {
        Self {
            conversations: 1,
            ..Self::default()
        }
    }

    /// The amount that this many bytes outside the turns add.
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

    /// Adds field by field, saturating.
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

/// An append-only tree of turns. No operation changes or removes a turn.
pub trait NodeStore {
    /// Appends a turn to `parent`. Returns `false` if the turn is stored already; a damaged record of it is
    /// [restored](Self::restore).
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] if the parent is unknown, [`HistoryError::NotItsChild`] if the
    /// turn's id does not follow from it, [`HistoryError::Full`] at a limit. Nothing is stored then.
    fn append(&mut self, parent: TurnId, turn: &Turn) -> Result<bool, HistoryError>;

    /// Returns a node's turn and its parent's id. The root itself is no node. A turn whose content is damaged is
    /// a [gap](Turn::gap).
    fn node(&self, id: TurnId) -> Result<Option<(Turn, TurnId)>, HistoryError>;

    /// Writes a turn again whose record is damaged, with its place after `parent`. Returns `false` if it is not
    /// stored, not damaged, or another turn's child.
    fn restore(&mut self, _parent: TurnId, _turn: &Turn) -> Result<bool, HistoryError> {
        Ok(false)
    }

    /// Returns true if a damaged record of one of these turns was met, which [`restore`](Self::restore) mends.
    fn is_damaged(&self, _turns: &[TurnId]) -> bool {
        false
    }

    /// Returns how much is stored.
    fn stored(&self) -> Result<Stored, HistoryError>;

    /// Returns the turns from the root to `node`, inclusive, in O(length) time. Turns whose content is damaged
    /// are [gaps](Turn::gap).
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] if the node is unknown.
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

    /// Counts the leading turns of a conversation that are stored. A node's id covers all turns before
    /// it, so a binary search with O(log n) look-ups suffices.
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

    /// Records a whole conversation. Usually only its end is new.
    ///
    /// # Errors
    /// The errors of [`append`](Self::append). Turns before the failing one stay recorded.
    fn record(&mut self, turns: &[Turn]) -> Result<Recorded, HistoryError> {
        let known = self.known(turns)?;
        let mut head = TurnId::ROOT;
        for turn in turns.iter().take(known) {
            self.restore(head, turn)?;
            head = turn.id();
        }
        let mut added = 0;
        for turn in turns.iter().skip(known) {
            self.append(head, turn)?;
            head = turn.id();
            added += 1;
        }
        Ok(Recorded { known, added, head })
    }
}

/// The marks on a tree.
pub trait MarkStore: NodeStore {
    /// Adds a mark. Returns `false` if it is stored already.
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] if its node is unknown, [`HistoryError::Full`] at a limit.
    fn add_mark(&mut self, mark: Mark) -> Result<bool, HistoryError>;

    /// Returns the mark with this id.
    fn mark(&self, id: MarkId) -> Result<Option<Mark>, HistoryError>;

    /// Returns the marks at one node, oldest first.
    fn marks_at(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError>;

    /// Returns the marks on the path from the root to `node`, closest to the root first.
    ///
    /// # Errors
    /// [`HistoryError::UnknownNode`] if the node is unknown.
    fn marks_on(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError> {
        let mut marks = Vec::new();
        for turn in self.path(node)? {
            marks.extend(self.marks_at(turn.id())?);
        }
        Ok(marks)
    }
}
