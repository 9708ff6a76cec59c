//! The pins of one conversation: those that its user typed and those set from outside.

mod resting;

use context::pin::{
    Directive, Origin, Pin, PinError, PinId, PinLimits, Pinned as Set, Pins, directives,
};
use context::{TokenCounter, Turn, TurnId};
use history::Pinned;

use crate::effect::NotPinned;
use crate::homunculus::{PinnedAt, Wish};

pub use resting::{Accepted, Resting};

/// The pins in force and where they are said.
#[derive(Clone, Debug, Default)]
pub struct PinBook {
    pins: Pins,
    /// The pins that were set from outside, as the store has them. A line of the user may say or remove them too,
    /// and is taken back where its user goes back.
    outside: Vec<Pin>,
    /// The index of the turn that says a pin. Pins set from outside have none.
    said: Vec<(PinId, usize)>,
    /// Pins that were restated since the last swap, and are shown so.
    restated: Vec<PinId>,
    /// Strategy pins that copy a user turn, with its index. They are not restated while that turn is shown.
    stands: Vec<(PinId, usize)>,
    places: Vec<PinnedAt>,
    changes: PinChanges,
}

/// Pins that the strategy set and removed, for the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct PinChanges {
    pub set: Vec<Pinned>,
    pub removed: Vec<PinId>,
}

impl PinChanges {
    pub(crate) const fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }
}

impl PinBook {
    /// The pins of a conversation as the store has it: those set from outside, and its path. Lines of the path
    /// are held to these limits.
    pub fn of(
        stored: &[Pinned],
        path: &[Turn],
        (limits, counter): (PinLimits, &dyn TokenCounter),
    ) -> Self {
        let mut book = Self::default();
        book.set_limits(limits);
        for pinned in stored {
            book.restore(&pinned.pin, counter);
        }
        for (index, turn) in path.iter().enumerate() {
            book.take(index, turn, counter);
        }
        book
    }

    /// Holds pins to these limits from now on.
    pub(crate) const fn set_limits(&mut self, limits: PinLimits) {
        self.pins.set_limits(limits);
    }

    /// Takes a pin from outside that was within the limits when it was set. The window may have become
    /// smaller since, and no pin is lost by that.
    pub(crate) fn restore(&mut self, pin: &Pin, counter: &dyn TokenCounter) {
        let pin = Pin {
            tokens: counter.count(&pin.text),
            ..pin.clone()
        };
        self.keep(pin.clone());
        self.pins.restore(pin);
        self.place();
    }

    /// Obeys the lines of a turn that its user typed. Refused texts are not pinned; the errors are returned.
    pub(crate) fn take(
        &mut self,
        index: usize,
        turn: &Turn,
        counter: &dyn TokenCounter,
    ) -> Vec<PinError> {
        let mut refused = Vec::new();
        for directive in directives(turn) {
            let id = match self.pins.obey(&directive, turn.at(), counter) {
                Ok(id) => id,
                Err(error) => {
                    refused.push(error);
                    continue;
                }
            };
            self.said.retain(|&(said, _)| said != id);
            if matches!(directive, Directive::Pin(_)) {
                self.said.push((id, index));
            }
            self.place();
        }
        refused
    }

    /// Sets a pin from outside.
    ///
    /// # Errors
    /// Where its text is pinned already or cannot be pinned.
    pub(crate) fn set_new(
        &mut self,
        text: &str,
        origin: Origin,
        counter: &dyn TokenCounter,
    ) -> Result<Pin, NotPinned> {
        match self.set(text, origin, counter) {
            Err(error) => Err(NotPinned::Refused(error)),
            Ok(Some(pin)) => Ok(pin),
            Ok(None) => {
                let known = self.pins.get(PinId::of(text));
                Err(known.map_or(NotPinned::Unwanted, |pin| NotPinned::Already(pin.clone())))
            }
        }
    }

    /// Sets a pin from outside; `None` where its text is pinned already.
    ///
    /// # Errors
    /// Where the text is empty or a limit would be passed.
    pub(crate) fn set(
        &mut self,
        text: &str,
        origin: Origin,
        counter: &dyn TokenCounter,
    ) -> Result<Option<Pin>, PinError> {
        let Set::Added(id) = self.pins.add(text, origin, None, counter)? else {
            return Ok(None);
        };
        self.changes.removed.retain(|&removed| removed != id);
        self.place();
        let pin = self.pins.get(id).cloned();
        pin.iter().for_each(|pin| self.keep(pin.clone()));
        Ok(pin)
    }

    fn keep(&mut self, pin: Pin) {
        self.outside.retain(|kept| kept.id != pin.id);
        self.outside.push(pin);
    }

    /// Removes a pin that was set from outside. Returns true if the text was pinned and no longer is: a line of the
    /// user that pins it too keeps it pinned, until its user goes back over it.
    pub(crate) fn remove(&mut self, id: PinId) -> bool {
        self.changes.set.retain(|set| set.pin.id != id);
        self.outside.retain(|kept| kept.id != id);
        let removable = self.is_removable(id) && self.pins.remove(id).is_ok();
        if removable {
            self.stands.retain(|&(stands, _)| stands != id);
            self.restated.retain(|&restated| restated != id);
        } else {
            self.pins.give_to_user(id);
        }
        self.place();
        removable
    }

    /// Sets a pin of the strategy, which was held to the limits. `turn`: the user's turn whose words it is, with
    /// its index.
    pub(crate) fn take_from_strategy(&mut self, pin: Pin, turn: Option<(usize, TurnId)>) {
        let said_in = turn.map(|(_, id)| id);
        self.stands.extend(turn.map(|(index, _)| (pin.id, index)));
        self.changes.removed.retain(|&removed| removed != pin.id);
        self.pins.restore(pin.clone());
        self.keep(pin.clone());
        self.changes.set.push(Pinned { pin, said_in });
        self.place();
    }

    /// Removes a pin of any origin: the strategy does not keep it. The answer is the pin.
    pub(crate) fn refuse(&mut self, id: PinId) -> Option<Pin> {
        let pin = self.pins.remove(id).ok()?;
        let is_new = self.changes.set.iter().any(|set| set.pin.id == id);
        // The store has no pins of the user's lines.
        if self.is_removable(id) && !is_new {
            self.changes.removed.push(id);
        }
        self.said.retain(|&(said, _)| said != id);
        self.stands.retain(|&(stands, _)| stands != id);
        self.restated.retain(|&restated| restated != id);
        self.changes.set.retain(|set| set.pin.id != id);
        self.outside.retain(|kept| kept.id != id);
        self.place();
        Some(pin)
    }

    /// The changes that the store lacks; none are left.
    pub(crate) fn take_changes(&mut self) -> PinChanges {
        std::mem::take(&mut self.changes)
    }

    /// The pins in force, with their limits.
    pub(crate) const fn in_force(&self) -> &Pins {
        &self.pins
    }

    /// Returns true if this text is pinned.
    #[must_use]
    pub fn has(&self, id: PinId) -> bool {
        self.pins.get(id).is_some()
    }

    /// Returns true if a pin was set from outside. A pin from a user's line is removed by a user's
    /// line.
    pub fn is_removable(&self, id: PinId) -> bool {
        self.said.iter().all(|&(said, _)| said != id)
    }

    /// All pins.
    pub fn iter(&self) -> impl Iterator<Item = &Pin> {
        self.pins.iter()
    }

    /// Pins that were set from outside, for a branch from behind `common` turns. A copy of a later turn is none.
    pub(crate) fn outside(&self, common: usize) -> Vec<Pin> {
        let is_later = |id: PinId| {
            let mut stands = self.stands.iter();
            stands.any(|&(stands, index)| stands == id && index >= common)
        };
        let pins = self.outside.iter();
        pins.filter(|pin| !is_later(pin.id)).cloned().collect()
    }

    /// The places of the pins, in the machine's form.
    pub(crate) fn places(&self) -> &[PinnedAt] {
        &self.places
    }

    /// The text that restates the pins that no turn from `from` on says, for the front of a new view;
    /// they count as shown from now on. Empty where there is none.
    pub(crate) fn restate_all(&mut self, from: usize) -> String {
        self.restated.clear();
        self.restate(from)
    }

    /// The view was made anew, and restates no pin.
    pub(crate) fn forget_restated(&mut self) {
        self.restated.clear();
    }

    /// The number of pins that are restated.
    pub(crate) const fn restated(&self) -> usize {
        self.restated.len()
    }

    /// The pins restated behind this number of them are not shown after all.
    pub(crate) fn restated_only(&mut self, number: usize) {
        self.restated.truncate(number);
    }

    /// The text that restates the pins that are not shown; they count as shown from now on.
    pub(crate) fn restate(&mut self, from: usize) -> String {
        let lost: Pins = self
            .pins
            .iter()
            .filter(|pin| !self.restated.contains(&pin.id) && !self.is_said(pin.id, from))
            .cloned()
            .collect();
        self.restated.extend(lost.iter().map(|pin| pin.id));
        said(&lost)
    }

    /// Takes from `shown`, the texts that are sent beside the turns, which pins are restated.
    pub(crate) fn are_restated_by<'t>(&mut self, shown: impl Iterator<Item = &'t str>) {
        let shown: Vec<&str> = shown.filter(|text| is_restatement(text)).collect();
        let pins = self.pins.iter();
        let found = pins.filter(|pin| shown.iter().any(|text| restates(text, pin)));
        self.restated = found.map(|pin| pin.id).collect();
    }

    /// The text that states all pins in full; empty where there is none.
    pub(crate) fn in_full(&self) -> String {
        said(&self.pins)
    }

    /// Forgets the pins that the user's lines set, and those that the strategy set of turns from `common` on,
    /// which were taken back.
    pub(crate) fn forget_said(&mut self, common: usize) {
        self.outside = self.outside(common);
        self.pins = self.outside.iter().cloned().collect();
        self.said.clear();
        self.stands.retain(|&(_, index)| index < common);
        self.place();
    }

    /// The user's turn that says a pin of the strategy, from the store.
    pub(crate) fn stands_in(&mut self, id: PinId, turn: usize) {
        self.stands.push((id, turn));
        self.place();
    }

    fn is_said(&self, id: PinId, from: usize) -> bool {
        self.said
            .iter()
            .chain(&self.stands)
            .any(|&(said, index)| said == id && index >= from)
    }

    fn place(&mut self) {
        let place = |pin: &Pin| PinnedAt {
            turn: self
                .said
                .iter()
                .chain(&self.stands)
                .find(|(said, _)| *said == pin.id)
                .map(|&(_, index)| index),
            tokens: pin.tokens,
        };
        self.places = self.pins.iter().map(place).collect();
    }
}

/// A strategy's question whether it keeps a pin. `id`: the pin's, written.
pub(crate) fn wish<'a>(pin: &Pin, id: &'a str) -> Wish<'a> {
    Wish {
        id,
        by: pin.origin.as_str(),
        tokens: pin.tokens,
    }
}

/// The text that states these pins in full; empty where there is none.
fn said(pins: &Pins) -> String {
    let texts = pins.turn().map(|draft| {
        let texts = draft.parts.iter().flat_map(|part| part.readable());
        texts.collect::<Vec<_>>().join("\n")
    });
    texts.unwrap_or_default()
}

/// Returns true if a text states pins in full. A note also names pins, but shortened and only for a
/// while.
fn is_restatement(text: &str) -> bool {
    let heading = text.lines().next().unwrap_or_default();
    heading.starts_with("[Pinned") && heading.ends_with(":]")
}

/// Returns true if a text that states pins states this one.
fn restates(text: &str, pin: &Pin) -> bool {
    let alone = said(&std::iter::once(pin.clone()).collect());
    let Some((_, item)) = alone.split_once('\n') else {
        return false;
    };
    text.match_indices(item).any(|(at, _)| {
        let (before, after) = (text.get(..at), text.get(at + item.len()..));
        before.is_some_and(|before| before.ends_with('\n'))
            && after.is_some_and(|after| after.is_empty() || after.starts_with('\n'))
    })
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
    fn going_back_takes_back_the_lines_and_leaves_the_pins_from_outside() {
        for line in ["#pin speak French", "#unpin speak French", "#pin be brief"] {
            let mut book = PinBook::default();
            book.set("speak French", Origin::Api, &Heuristic).unwrap();
            book.take(3, &turn(line), &Heuristic);
            assert_eq!(book.outside(3).len(), 1, "{line}: a branch has it");
            book.forget_said(3);
            let left: Vec<&str> = book.iter().map(|pin| pin.text.as_str()).collect();
            assert_eq!(left, ["speak French"], "{line}");
        }
    }

    #[test]
    fn a_line_that_could_not_be_removed_is_not_restated_again() {
        let mut book = PinBook::default();
        book.take(1, &turn("#pin never delete"), &Heuristic);
        let id = book.iter().next().unwrap().id;
        assert_ne!(book.restate_all(5), "");
        assert!(!book.remove(id));
        assert_eq!(book.restate(5), "");
    }

    #[test]
    fn what_only_names_a_pin_does_not_restate_it() {
        let mut book = PinBook::default();
        book.take(0, &turn("#pin p0"), &Heuristic);
        book.set("speak French", Origin::Api, &Heuristic).unwrap();
        let mut check = |shown: &[&str], left: &str| {
            book.are_restated_by(shown.iter().copied());
            assert_eq!(book.restate(9), left, "{shown:?}");
        };
        let both = "[Pinned, in full:]\n- p0\n- speak French";
        check(&[], both);
        check(
            &["pins: 2 (p0, speak French)", "- p0\n- speak French"],
            both,
        );
        check(&["[Pinned, in full:]\n- p01\n- speak French often"], both);
        check(
            &["[Pinned, in full:]\n- speak French"],
            "[Pinned, in full:]\n- p0",
        );
        check(&[both], "");
    }

    #[test]
    fn a_line_over_a_limit_is_told() {
        let mut book = PinBook::default();
        let refused = book.take(
            0,
            &turn(&format!("#pin {}", "x ".repeat(9_000))),
            &Heuristic,
        );
        assert_eq!(refused.len(), 1);
        assert_eq!(book.iter().count(), 0);
    }

    #[test]
    fn a_line_of_the_user_is_not_removed_from_outside() {
        let mut book = PinBook::default();
        book.take(0, &turn("#pin never delete"), &Heuristic);
        let id = book.iter().next().unwrap().id;
        assert!(!book.remove(id));
        assert!(book.outside(1).is_empty());
        assert_eq!(book.places().len(), 1);
        book.forget_said(1);
        assert_eq!(book.iter().count(), 0);
    }

    #[test]
    fn a_text_that_a_line_pins_too_stays_pinned_until_its_user_goes_back() {
        for origin in [Origin::Api, Origin::Agent] {
            let mut book = PinBook::default();
            let set = book.set("speak French", origin, &Heuristic).unwrap();
            book.take(3, &turn("#pin speak French"), &Heuristic);
            let id = set.unwrap().id;
            assert!(!book.remove(id));
            assert_eq!(book.iter().next().unwrap().origin, Origin::User);
            book.forget_said(3);
            assert!(!book.has(id), "the line was its last support");
        }
    }

    #[test]
    fn a_copy_of_a_message_goes_with_the_message() {
        let mut book = PinBook::default();
        let pinned = |text: &str| {
            let mut pins = context::pin::Pins::default();
            let origin = context::pin::Origin::Strategy;
            let _ = pins.add(text, origin, None, &Heuristic).unwrap();
            pins.iter().next().unwrap().clone()
        };
        book.take_from_strategy(pinned("my sister is ill"), Some((2, TurnId::ROOT)));
        book.take_from_strategy(pinned("be careful"), None);
        assert_eq!(book.outside(3).len(), 2);
        assert_eq!(book.outside(2).len(), 1);
        book.forget_said(3);
        assert_eq!(book.iter().count(), 2);
        book.forget_said(2);
        assert_eq!(
            book.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(),
            ["be careful"]
        );
    }
}
