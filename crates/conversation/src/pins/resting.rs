//! Pins of a conversation that is not in memory.

use std::sync::Arc;

use context::pin::{Origin, Pin, PinId};
use context::{Turn, TurnId};
use history::{Conversation as Record, ConversationId, HistoryError, Pinned, Route, Store};
use jiff::Timestamp;
use tokens::Model;

use super::{PinBook, wish};
use crate::effect::NotPinned;
use crate::homunculus::{Action, Event, Homunculus, Outline, Path};
use crate::terms::Terms;

/// A conversation as the store has it, to pin something in it.
#[derive(Clone, Debug)]
pub struct Resting {
    record: Record,
    pins: Vec<Pinned>,
    path: Vec<Turn>,
}

/// A pin to store, and the pins that the strategy let go for it.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The pin.
    pub pin: Pin,
    /// Pins to remove from the store.
    pub released: Vec<PinId>,
}

impl Resting {
    /// Reads a conversation; `None` where the store has none with this id.
    ///
    /// # Errors
    /// Where the store fails.
    pub fn load(store: &dyn Store, of: ConversationId) -> Result<Option<Self>, HistoryError> {
        let Some(record) = store.conversation(of)? else {
            return Ok(None);
        };
        let begun = record.head != TurnId::ROOT && store.node(record.head)?.is_some();
        Ok(Some(Self {
            pins: store.pins(of)?,
            path: if begun {
                store.path(record.head)?
            } else {
                Vec::new()
            },
            record,
        }))
    }

    /// The name of its model.
    #[must_use]
    pub const fn model(&self) -> &context::Text {
        &self.record.model
    }

    /// The pins in force: those of the store and those that its user typed.
    #[must_use]
    pub fn book(&self, terms: &Terms, model: &Model) -> PinBook {
        let limits = terms.pin_limits(model);
        PinBook::of(&self.pins, &self.path, (limits, &model.counter()))
    }

    /// Sets a pin from outside, as [`Input::Pin`](crate::Input::Pin) does in memory. The strategy goes on from its
    /// stored state and is asked whether it keeps the pin; nothing else that it says is carried out.
    ///
    /// # Errors
    /// Where the text is pinned already, cannot be pinned, or is not wanted.
    pub fn pin(
        &self,
        terms: &Terms,
        model: &Arc<Model>,
        (text, origin): (&str, Origin),
        now: Timestamp,
    ) -> Result<Accepted, NotPinned> {
        let mut book = self.book(terms, model);
        let pin = book.set_new(text, origin, &model.counter())?;
        let strategy = terms.host(self.record.strategy.as_deref(), Route::Readable);
        let mut machine = Homunculus::new(strategy, terms.limits(model));
        let outline = Outline::of(&self.path);
        let path = Path::new(&outline, outline.len(), book.places());
        let id = pin.id.to_string();
        let actions = machine.on(Event::Pinned(wish(&pin, &id), path), now);
        for action in actions {
            if let Action::Unpin(id) = action
                && let Some(id) = PinId::parse(&id)
            {
                book.refuse(id);
            }
        }
        if !book.has(pin.id) {
            return Err(NotPinned::Unwanted);
        }
        let released = book.take_changes().removed;
        Ok(Accepted { pin, released })
    }

    /// Returns true if the store has this pin and its text is no longer pinned without it. A line of the user that
    /// pins the text too keeps it pinned.
    #[must_use]
    pub fn unpins(&self, terms: &Terms, model: &Model, id: PinId) -> bool {
        let is_there = self.pins.iter().any(|pinned| pinned.pin.id == id);
        is_there && self.book(terms, model).is_removable(id)
    }
}

#[cfg(test)]
mod tests;
