//! The questions of a search, and the answers of the store.

use std::sync::Arc;

use context::TurnId;
use context::pin::{Pin, PinLimits};
use history::{Conversation as Record, ConversationId, Edition, HistoryError, Store};
use jiff::Timestamp;
use tokens::Model;

use super::registry::Shared;
use crate::begin::{Recovered, Stored, stored_pins};
use crate::continuation::{Answer, stored_answers};
use crate::overlay::{Overlay, Wanted};

/// Something that has to be known before a search goes on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Question<X> {
    /// Read the turns of the request ([`Incoming::turns`](crate::Incoming::turns)), which takes time for a long one.
    Turns,
    /// Read this from the store of its tenant.
    Store(Read<X>),
}

/// A read from a tenant's store.
#[derive(Debug)]
pub enum Read<X> {
    /// The texts of a conversation that have left memory.
    Overlay(Arc<Shared<X>>, Wanted),
    /// The changes of turns.
    Editions(Vec<TurnId>),
    /// The conversations whose newest turn is one of these.
    Headed(Vec<TurnId>),
    /// A conversation.
    Conversation(Box<Stored>),
    /// The answers to compactions that clients made.
    Answers(Timestamp),
    /// The pins of a conversation, whose lines are held to these limits.
    Pins(ConversationId, Arc<Model>, PinLimits),
}

/// The answer of a store.
#[derive(Debug)]
pub enum Found {
    /// Texts.
    Overlay(Overlay),
    /// Changes.
    Editions(Vec<Edition>),
    /// Conversations.
    Headed(Vec<Record>),
    /// A conversation.
    Conversation(Box<Recovered>),
    /// Answers to compactions.
    Answers(Vec<Answer>),
    /// Pins; `None` where there is no such conversation.
    Pins(Option<Vec<Pin>>),
}

impl<X> Read<X> {
    /// Reads it.
    ///
    /// # Errors
    /// Where the store fails.
    pub fn from(&self, store: &dyn Store) -> Result<Found, HistoryError> {
        Ok(match self {
            Self::Overlay(_, wanted) => Found::Overlay(wanted.load(store)?),
            Self::Editions(of) => Found::Editions(store.editions(of)?),
            Self::Headed(path) => Found::Headed(store.headed(path)?),
            Self::Conversation(stored) => Found::Conversation(Box::new(stored.load(store)?)),
            Self::Answers(now) => Found::Answers(stored_answers(store, *now)?),
            Self::Pins(of, model, limits) => {
                Found::Pins(stored_pins(store, *of, (*limits, &model.counter()))?)
            }
        })
    }
}

impl<X> From<Read<X>> for Question<X> {
    fn from(read: Read<X>) -> Self {
        Self::Store(read)
    }
}

impl<X> Shared<X> {
    /// The read that brings its texts back, where they have left memory.
    pub(super) fn wanted(self: &Arc<Self>) -> Result<(), Read<X>> {
        let missing = self.lock().missing();
        match missing {
            Some(wanted) => Err(Read::Overlay(Arc::clone(self), wanted)),
            None => Ok(()),
        }
    }
}
