//! The pins of one conversation: those that its user typed and those set from outside.

use context::pin::{Directive, Origin, Pin, PinError, PinId, Pinned as Set, Pins, directives};
use context::{TokenCounter, Turn};
use homunculus::PinnedAt;

/// The pins in force and where they are said.
#[derive(Clone, Debug, Default)]
pub(super) struct PinBook {
    pins: Pins,
    /// The index of the turn that says a pin. Pins set from outside have none.
    said: Vec<(PinId, usize)>,
    /// Pins that were restated since the last swap, and are shown so.
    restated: Vec<PinId>,
    places: Vec<PinnedAt>,
}

impl PinBook {
    /// Obeys the lines of a turn that its user typed. What is refused is not pinned.
    pub(super) fn take(&mut self, index: usize, turn: &Turn, counter: &dyn TokenCounter) {
        for directive in directives(turn) {
            let Ok(id) = self.pins.obey(&directive, turn.at(), counter) else {
                continue;
            };
            self.said.retain(|&(said, _)| said != id);
            if matches!(directive, Directive::Pin(_)) {
                self.said.push((id, index));
            }
            self.place();
        }
    }

    /// Sets a pin from outside; `None` where its text is pinned already.
    ///
    /// # Errors
    /// Where the text is empty or a limit would be passed.
    pub(super) fn set(
        &mut self,
        text: &str,
        origin: Origin,
        counter: &dyn TokenCounter,
    ) -> Result<Option<Pin>, PinError> {
        let Set::Added(id) = self.pins.add(text, origin, None, counter)? else {
            return Ok(None);
        };
        self.place();
        Ok(self.pins.get(id).cloned())
    }

    /// Removes a pin that was set from outside.
    pub(super) fn remove(&mut self, id: PinId) -> bool {
        let removable = self.is_removable(id) && self.pins.remove(id).is_ok();
        self.restated.retain(|&restated| restated != id);
        self.place();
        removable
    }

    /// Whether a pin was set from outside. One in a user line is taken back by a user line.
    pub(super) fn is_removable(&self, id: PinId) -> bool {
        self.said.iter().all(|&(said, _)| said != id)
    }

    /// All pins.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pin> {
        self.pins.iter()
    }

    /// Those set from outside, for a branch.
    pub(super) fn outside(&self) -> Vec<Pin> {
        let pins = self.pins.iter();
        pins.filter(|pin| self.is_removable(pin.id))
            .cloned()
            .collect()
    }

    /// Where they stand, as the machine wants it.
    pub(super) fn places(&self) -> &[PinnedAt] {
        &self.places
    }

    /// The text that restates the pins that no turn from `from` on says, for the front of a new view;
    /// they count as shown from now on. Empty where there is none.
    pub(super) fn restate_all(&mut self, from: usize) -> String {
        self.restated.clear();
        self.restate(from)
    }

    /// The view was made anew, and restates no pin.
    pub(super) fn forget_restated(&mut self) {
        self.restated.clear();
    }

    /// The text that restates the pins that are not shown; they count as shown from now on.
    pub(super) fn restate(&mut self, from: usize) -> String {
        let lost: Pins = self
            .pins
            .iter()
            .filter(|pin| !self.restated.contains(&pin.id) && !self.is_said(pin.id, from))
            .cloned()
            .collect();
        self.restated.extend(lost.iter().map(|pin| pin.id));
        let texts = lost.turn().map(|draft| {
            let texts = draft.parts.iter().flat_map(|part| part.readable());
            texts.collect::<Vec<_>>().join("\n")
        });
        texts.unwrap_or_default()
    }

    /// Notes which pins `shown`, a text in the view, restates: after a restart.
    pub(super) fn are_shown_by(&mut self, shown: &str) {
        let pins = self.pins.iter();
        let found = pins.filter(|pin| shown.contains(pin.text.as_str()));
        self.restated.extend(found.map(|pin| pin.id));
    }

    /// Forgets the pins of turns from `len` on; what is left is as it was set from outside.
    pub(super) fn forget_said(&mut self) {
        let outside: Pins = self.outside().into_iter().collect();
        self.pins = outside;
        self.said.clear();
        self.place();
    }

    fn is_said(&self, id: PinId, from: usize) -> bool {
        self.said
            .iter()
            .any(|&(said, index)| said == id && index >= from)
    }

    fn place(&mut self) {
        let place = |pin: &Pin| PinnedAt {
            turn: self
                .said
                .iter()
                .find(|(said, _)| *said == pin.id)
                .map(|&(_, index)| index),
            tokens: pin.tokens,
        };
        self.places = self.pins.iter().map(place).collect();
    }
}

#[cfg(test)]
mod tests {
    use context::pin::Origin;
    use context::{Heuristic, Role, Turn, TurnDraft, TurnId};

    use super::PinBook;

    fn turn(text: &str) -> Turn {
        TurnDraft::text(Role::User, text).after(TurnId::ROOT, &Heuristic)
    }

    #[test]
    fn what_is_not_shown_is_restated_once() {
        let mut book = PinBook::default();
        book.take(4, &turn("#pin never delete\nand now?"), &Heuristic);
        let set = book.set("speak French", Origin::Api, &Heuristic).unwrap();
        let french = set.unwrap().id;
        assert_eq!(book.restate(0), "[Pinned, in full:]\n- speak French");
        assert_eq!(book.restate(0), "", "once");
        assert_eq!(
            book.restate_all(5),
            "[Pinned, in full:]\n- never delete\n- speak French"
        );
        assert!(book.remove(french));
        assert_eq!(book.restate_all(4), "", "its turn is shown");
        book.take(6, &turn("#unpin never delete"), &Heuristic);
        assert_eq!(book.iter().count(), 0);
        assert!(book.places().is_empty());
    }

    #[test]
    fn a_line_of_the_user_is_not_removed_from_outside() {
        let mut book = PinBook::default();
        book.take(0, &turn("#pin never delete"), &Heuristic);
        let id = book.iter().next().unwrap().id;
        assert!(!book.remove(id));
        assert!(book.outside().is_empty());
        assert_eq!(book.places().len(), 1);
        book.forget_said();
        assert_eq!(book.iter().count(), 0);
    }
}
