//! Clients that add lines to their newest message and leave them out when they send it again, as aider does
//! with its reminders.

use std::collections::HashSet;

use context::{Part, Role, Turn, TurnId};

use crate::identity::{Key, Keyed};

/// The most lines of a message that are remembered.
const MOST: usize = 256;

/// The most replaced turns that a summary in use can have been made from: one shown, one ready, one ordered.
const SUMMARIES: usize = 4;

/// The lines of a message as keyed hashes: a conversation in memory holds no words.
#[derive(Debug, Default)]
pub(crate) struct Lines(HashSet<Key>);

impl Lines {
    pub(crate) fn of(keyed: Keyed, turn: &Turn) -> Self {
        let texts = turn.parts().iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Result(result) => Some(result.text.as_str()),
            _ => None,
        });
        let lines = texts.flat_map(str::lines).map(str::trim);
        let lines = lines.filter(|line| !line.is_empty()).take(MOST);
        Self(lines.map(|line| keyed.of(0, line.as_bytes())).collect())
    }

    /// Returns true if all lines of one stand in the other.
    fn only_add_to(&self, other: &Self) -> bool {
        let is_within = |one: &Self, other: &Self| !one.0.is_empty() && one.0.is_subset(&other.0);
        is_within(self, other) || is_within(other, self)
    }
}

/// The newest message of a conversation, and those that were sent again without what was added to them.
#[derive(Debug, Default)]
pub(crate) struct Decorations {
    newest: Lines,
    /// Ids of turns that were replaced, with the place of what replaced them.
    replaced: Vec<(TurnId, usize)>,
}

impl Decorations {
    /// Returns true if `new` begins with the newest message, but for lines that were added to it, and goes on
    /// with its answer. A message that was not answered may have been taken back.
    pub(crate) fn differ(&self, keyed: Keyed, new: &[Turn]) -> bool {
        let [again, answer, ..] = new else {
            return false;
        };
        again.role() != Role::Assistant
            && answer.role() == Role::Assistant
            && Lines::of(keyed, again).only_add_to(&self.newest)
    }

    /// Remembers that the turn `old` stands at `place` without what was added to it.
    pub(crate) fn replace(&mut self, old: TurnId, place: usize) {
        self.replaced.push((old, place));
    }

    /// Forgets the turns of a path that was left behind the first `common` ones.
    pub(crate) fn cut(&mut self, common: usize) {
        self.replaced.retain(|&(_, place)| place <= common);
    }

    /// Forgets the turns that no summary in use was made from.
    pub(crate) fn keep(&mut self, made_from: impl Fn(TurnId) -> bool) {
        if self.replaced.len() > SUMMARIES {
            self.replaced.retain(|&(old, _)| made_from(old));
        }
    }

    /// The place of what replaced a turn; 0 where it was not replaced.
    pub(crate) fn place_of(&self, id: TurnId) -> usize {
        let found = self.replaced.iter().find(|&&(old, _)| old == id);
        found.map_or(0, |&(_, place)| place)
    }

    /// Takes the newest message of a request.
    pub(crate) fn follow(&mut self, newest: Lines) {
        self.newest = newest;
    }

    /// Returns true if the client was seen to do so.
    pub(crate) const fn are_known(&self) -> bool {
        !self.replaced.is_empty()
    }
}
