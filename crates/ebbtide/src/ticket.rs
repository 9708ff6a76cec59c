//! A request under way, and the bytes that are sent for it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use context::Tokens;
use conversation::hearing::Hearing;
use conversation::homunculus::Preparation;
use conversation::words::Did;
use conversation::{Flight, Input};
use history::ConversationId;
use jiff::Timestamp;

use crate::client::Client;
use crate::engine::Shared;
use crate::work::Work;

/// The next step of a request.
#[derive(Debug)]
#[non_exhaustive]
pub enum Next {
    /// Send this.
    Send(Outgoing),
    /// Finish the work at hand, then [`resume`](crate::Engine::resume).
    Hold(Held),
}

/// A request as it is sent to the provider.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outgoing {
    /// The body; the caller's own bytes where nothing was changed.
    pub body: Bytes,
    /// Names to add to the header `anthropic-beta`.
    pub betas: Vec<&'static str>,
    /// The changes to the body.
    pub did: Vec<Did>,
    /// The tokens of the body; `None` where it was not read.
    pub tokens: Option<Tokens>,
    /// Accompanies the request; give it back with the answer.
    pub ticket: Ticket,
}

/// A request that waits for a summary.
#[non_exhaustive]
pub struct Held {
    /// The summary to make; `None` where the caller was given it before.
    pub work: Option<Work>,
    /// The time at which the request goes out without it; `None`: it waits until it is ready.
    pub until: Option<Timestamp>,
    pub(crate) passage: Box<Passage>,
}

/// A request under way. Dropping it says that there was no answer.
#[derive(Default)]
pub struct Ticket {
    pub(crate) passage: Option<Box<Passage>>,
    pub(crate) hearing: Option<Hearing>,
}

/// A request in its conversation.
pub(crate) struct Passage {
    pub shared: Arc<Shared>,
    pub flight: Flight,
    pub client: Client,
    /// The body as it came.
    pub body: Bytes,
    /// The names for `anthropic-beta` that the body of a rescue needs.
    pub betas: Vec<&'static str>,
    /// The summary to begin with the answer.
    pub prepare: Option<Preparation>,
    /// The time of its last call.
    pub seen: Timestamp,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("work", &self.work)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("conversation", &self.conversation())
            .finish_non_exhaustive()
    }
}

impl Ticket {
    /// The conversation; `None` for a request that belongs to none.
    #[must_use]
    pub fn conversation(&self) -> Option<ConversationId> {
        self.passage.as_ref().map(|passage| passage.shared.id)
    }

    /// The names to add to the header `anthropic-beta` for the body that [`refused`](crate::Engine::refused) returned.
    #[must_use]
    pub fn betas(&self) -> &[&'static str] {
        self.passage
            .as_ref()
            .map_or(&[], |passage| passage.betas.as_slice())
    }

    /// Hears a piece of the answer: of a body, or of an event stream. Returns `true` once a stream is whole.
    pub fn hear(&mut self, piece: &[u8]) -> bool {
        let Some(passage) = &self.passage else {
            return false;
        };
        let first = piece.iter().find(|byte| !byte.is_ascii_whitespace());
        let hearing = match (self.hearing.take(), first) {
            (Some(hearing), _) => hearing,
            // Some servers send blank lines in front of an answer; they do not say of which kind it is.
            (None, None) => return false,
            (None, Some(b'{')) => Hearing::body(None),
            (None, Some(_)) => Hearing::stream(passage.flight.dialect()),
        };
        self.hearing.insert(hearing).piece(piece)
    }
}

impl Drop for Passage {
    /// The request has landed.
    fn drop(&mut self) {
        self.shared
            .lock()
            .on(Input::Landed(&self.flight), self.seen);
        if let Some(order) = self.prepare.take() {
            // Nothing was sent, so nothing is summarized.
            let why = conversation::Unmade::Abandoned;
            let input = Input::Unprepared(&order, why);
            self.shared.lock().on(input, self.seen);
        }
    }
}
