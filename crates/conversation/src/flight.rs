//! A request on its way to the provider.

use std::sync::Arc;

use context::{Text, Tokens, Turn, TurnId};
use history::ConversationId;
use jiff::Timestamp;
use tokens::Model;
use wire::api::{Dialect, Reply};

use crate::batch::{Batch, is_more_than_text};
use crate::homunculus::Extent;
use crate::incoming::Incoming;
use crate::inject::Own;
use crate::journal::Sent;
use crate::words::Did;

/// A request that joined a conversation and was not answered yet.
#[derive(Debug)]
pub struct Flight {
    pub(crate) turns: Turns,
    pub(crate) asked: Asked,
    /// Turns that the request brings. They are stored once a provider accepts them; refused turns
    /// are not stored.
    pub(crate) pending: Option<Batch>,
    /// The conversation whose summary the client wants, where it compacts with this request.
    pub(crate) compacts: Option<ConversationId>,
    /// The extent of its view.
    pub(crate) shown: Extent,
    /// The sizes of the view and of the conversation as it was said.
    pub(crate) margin: Margin,
    /// The request before it.
    pub(crate) before: Option<Sent>,
    /// The time when the conversation was last seen before it.
    pub(crate) after: Option<Timestamp>,
    /// True if something left the view with it.
    pub(crate) swapped: bool,
    /// True if it waited for a summary.
    pub(crate) waited: bool,
    /// Changes so far.
    pub(crate) did: Vec<Did>,
}

/// The sizes of a view and of the conversation as it was said, and the difference between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Margin {
    /// The size of the conversation as it was said.
    pub said: Tokens,
    /// The size of what is sent, by our count.
    pub view: Tokens,
    /// The tokens by which the view shortens the conversation.
    pub spared: Tokens,
    /// The gateway's own text behind the client's words in the view.
    pub own: Tokens,
    /// The part of it that was added with this request, or that the provider takes out behind it.
    pub added: Own,
}

/// The place of a request in its conversation.
#[derive(Debug)]
pub(crate) struct Turns {
    /// The number of its turns.
    pub len: usize,
    /// The last of them.
    pub head: TurnId,
    /// Its number in the conversation.
    pub number: u64,
    /// The number of turns that were not sent before in this conversation.
    pub new: usize,
    /// The last of those.
    pub newest: Option<Turn>,
}

/// The question that a request puts to the supervisor.
#[derive(Debug)]
pub(crate) struct Asked {
    pub dialect: Dialect,
    pub model: Arc<Model>,
    /// The model's name, as the client writes it.
    pub name: Text,
}

impl Flight {
    pub(crate) fn new(incoming: &Incoming<'_>, new: &[Turn]) -> Self {
        Self {
            turns: Turns {
                len: incoming.len(),
                head: TurnId::ROOT,
                number: 0,
                new: new.len(),
                newest: new.last().cloned(),
            },
            asked: Asked {
                dialect: incoming.dialect(),
                model: Arc::clone(&incoming.model),
                name: incoming.name.clone(),
            },
            pending: None,
            compacts: None,
            shown: Extent::default(),
            margin: Margin::default(),
            before: None,
            after: None,
            swapped: false,
            waited: false,
            did: Vec::new(),
        }
    }

    /// The newest turn, where the request brought one.
    #[must_use]
    pub const fn newest(&self) -> Option<&Turn> {
        self.turns.newest.as_ref()
    }

    /// The request's dialect.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.asked.dialect
    }

    /// The request's model.
    #[must_use]
    pub const fn model(&self) -> &Arc<Model> {
        &self.asked.model
    }

    /// The model's name, as the client writes it.
    #[must_use]
    pub const fn model_name(&self) -> &Text {
        &self.asked.name
    }

    /// Takes the turns that the request brings and that are not stored yet.
    pub const fn take_pending(&mut self) -> Option<Batch> {
        self.pending.take()
    }

    /// Keeps more with what the request brings.
    pub fn add_pending(&mut self, batch: Batch) {
        if !batch.is_empty() {
            self.pending.get_or_insert_default().add(batch);
        }
    }

    /// Replaces what the request brings.
    pub fn set_pending(&mut self, batch: Batch) {
        self.pending = (!batch.is_empty()).then_some(batch);
    }

    /// Notes that the client compacts with this request.
    pub(crate) const fn compacts(&mut self, of: ConversationId) {
        self.compacts = Some(of);
    }

    /// The conversation that the answer summarises (true), else the one it belongs to.
    #[must_use]
    pub fn summarises(&self, own: ConversationId) -> (ConversationId, bool) {
        (self.compacts.unwrap_or(own), self.compacts.is_some())
    }

    /// The turn of an answer.
    #[must_use]
    pub fn answer(&self, reply: Option<&Reply>) -> Batch {
        let mut batch = Batch {
            parent: self.turns.head,
            ..Batch::default()
        };
        let Some(reply) = reply else { return batch };
        let turn = reply
            .draft()
            .after(batch.parent, &self.asked.model.counter());
        // A turn lacks the bytes of attachments and the signatures of thinking, which have to go back as they came.
        if turn.parts().iter().any(is_more_than_text) {
            batch.originals = vec![(turn.id(), reply.message().as_bytes().into())];
        }
        if !turn.parts().is_empty() {
            batch.turns = vec![turn];
        }
        batch
    }
}
