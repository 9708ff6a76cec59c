//! The record of the turns that a window no longer shows.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ContextWindow, State};
use crate::archive::{Archive, ArchiveError, Place};
use crate::linearity::{LinearityMap, ResourceClass};
use crate::turn::{Turn, TurnId};

/// One turn of the window, the stand-in, that stands for turns which are not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    mark: Place,
    stand_in: TurnId,
    summarised: Vec<TurnId>,
    dropped: Vec<TurnId>,
    /// The classes of all turns before they were taken away.
    before: LinearityMap,
}

impl Compacted {
    /// The mark under which the archive has all turns up to the last one that is not shown.
    #[must_use]
    pub const fn mark(&self) -> Place {
        self.mark
    }

    /// The turn that says what is missing, and sums up what is summarised.
    #[must_use]
    pub const fn stand_in(&self) -> TurnId {
        self.stand_in
    }

    /// The turns whose content the stand-in sums up, in order.
    #[must_use]
    pub fn summarised(&self) -> &[TurnId] {
        &self.summarised
    }

    /// The turns that are gone without a word, in order.
    #[must_use]
    pub fn dropped(&self) -> &[TurnId] {
        &self.dropped
    }

    /// Returns true if a turn was in the window before.
    pub(super) fn knows(&self, id: TurnId) -> bool {
        self.before.class(id).is_some()
    }
}

/// The turns taken out of a window, and the turn that replaces them.
pub struct Replacement {
    /// The turns to sum up, in order.
    pub summarised: Vec<TurnId>,
    /// The turns to drop, in order.
    pub dropped: Vec<TurnId>,
    /// The turn that comes in where the first of them stood.
    pub stand_in: Turn,
}

impl ContextWindow {
    /// This window with turns replaced by one stand-in. `None` where nothing is to be replaced, the
    /// window is compacted already, or a turn may not be taken out: one that is not here, one to be
    /// dropped that is not droppable, one to be summed up that is preserved.
    pub(crate) fn replace(&self, replacement: &Replacement) -> Option<Self> {
        let Replacement {
            summarised,
            dropped,
            stand_in,
        } = replacement;
        let gone: HashSet<TurnId> = summarised.iter().chain(dropped).copied().collect();
        let first = self.turns().position(|turn| gone.contains(&turn.id()))?;
        let last = self.turns().rfind(|turn| gone.contains(&turn.id()))?.id();
        if self.compacted().is_some() {
            return None;
        }
        let mut linearity = self.linearity().clone();
        for &id in dropped {
            linearity = linearity.drop_turn(id).ok()?;
        }
        for &id in summarised {
            linearity = linearity.cover(id).ok()?;
        }
        let stays = |turn: &&Turn| !gone.contains(&turn.id());
        let before = self.turns().take(first);
        let after = self.turns().skip(first).filter(stays);
        let turns = before
            .chain(std::iter::once(stand_in))
            .chain(after)
            .cloned()
            .collect();
        let compacted = Compacted {
            mark: Place::after(last),
            stand_in: stand_in.id(),
            summarised: summarised.clone(),
            dropped: dropped.clone(),
            before: self.linearity().clone(),
        };
        let mut state = State::clone(&self.state);
        state.classes.set_map(linearity.tag(
            stand_in.id(),
            ResourceClass::Required,
            "it stands for turns that are not shown",
        ));
        state.compactions += 1;
        state.compacted = Some(Arc::new(compacted));
        Some(Self::with_turns(state, turns))
    }

    /// This window with all its turns shown again, the ones from the archive in their old places.
    /// Classes that were raised since stay raised. A window that shows everything is returned as it
    /// is.
    ///
    /// # Errors
    /// Where the archive does not have the turns.
    pub fn expand(&self, archive: &dyn Archive) -> Result<Self, ArchiveError> {
        let Some(compacted) = self.compacted() else {
            return Ok(self.clone());
        };
        let archived = archive.get(compacted.mark)?;
        let known: HashSet<TurnId> = archived.iter().map(Turn::id).collect();
        let shown = self.turns().filter(|turn| turn.id() != compacted.stand_in);
        let after = shown.filter(|turn| !known.contains(&turn.id())).cloned();
        let turns = archived.iter().cloned().chain(after).collect();
        let mut state = State::clone(&self.state);
        let map = state.classes.map();
        let map = compacted.before.updated_by(map, compacted.stand_in);
        state.classes.set_map(map);
        state.compacted = None;
        Ok(Self::with_turns(state, turns))
    }

    /// A window of these turns, focused on the last one.
    fn with_turns(mut state: State, turns: rpds::VectorSync<Turn>) -> Self {
        state.tokens = turns.iter().map(Turn::tokens).sum();
        state.turns = turns;
        let position = state.turns.len();
        Self {
            state: Arc::new(state),
            position,
        }
    }
}
