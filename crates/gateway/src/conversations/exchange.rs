//! The requests that the server hands over, and the verdicts that it gets back.

use std::fmt;

use bytes::Bytes;
use context::{Text, Tokens};
use history::Tenant;
use http::{HeaderMap, HeaderValue};
use wire::api::Dialect;

use super::ticket::Ticket;
use ::conversation::Origin;
use ::conversation::incoming::labels;
use ::conversation::rewrite::Direct;
use ::conversation::words::Did;

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The next message of a conversation.
    Generate(Dialect),
    /// The size of one.
    Count(Dialect),
    /// Anything else: never looked into.
    Other,
}

/// A request as the outer half received it. `Debug` shows neither what it says nor its key.
#[derive(Clone)]
pub struct Arrival {
    /// Its purpose.
    pub endpoint: Endpoint,
    /// The path and query as received.
    pub target: String,
    /// The URL that it goes to.
    pub url: String,
    /// The headers as received.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// The sender.
    pub tenant: Tenant,
}

impl Arrival {
    /// The sender and the destination.
    pub(super) fn origin(&self) -> Origin<'_> {
        let (labels, names_agents) = labels(|name| self.headers.get(name)?.to_str().ok());
        Origin {
            tenant: self.tenant,
            url: &self.url,
            labels,
            names_agents,
        }
    }
}

impl fmt::Debug for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrival")
            .field("endpoint", &self.endpoint)
            .field("tenant", &self.tenant)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The verdict on a request.
#[derive(Debug)]
pub enum Verdict {
    /// Send this upstream, and show the ticket what comes back.
    Send(Outgoing, Ticket),
    /// Do not send it; this is the answer.
    Answer(Direct),
}

impl Verdict {
    /// Adds words to those that say what was done.
    pub(super) fn tell(&mut self, more: &[Did]) {
        match self {
            Self::Send(outgoing, _) => tell(&mut outgoing.did, more),
            Self::Answer(direct) => tell(&mut direct.did, more),
        }
    }
}

/// Adds words to those that say what was done.
pub(super) fn tell(did: &mut Vec<Did>, more: &[Did]) {
    if more.is_empty() {
        return;
    }
    did.extend_from_slice(more);
    did.retain(|word| *word != Did::Kept);
    did.sort_unstable();
    did.dedup();
}

/// A request as it is sent upstream.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The body: the client's own bytes, the same allocation, where nothing was changed.
    pub body: Bytes,
    /// The header `content-encoding` of a body that is still as the client encoded it.
    pub encoding: Option<HeaderValue>,
    /// Names to add to the header `anthropic-beta`.
    pub betas: Vec<&'static str>,
    /// Names to take out of it.
    pub drops: &'static [&'static str],
    /// The block or item to put in front of the answer.
    pub prefix: Option<Text>,
    /// The changes, for the header `x-ebbtide-did` and the metrics.
    pub did: Vec<Did>,
    /// The conversation, for the header `x-ebbtide-conversation`.
    pub conversation: Option<history::ConversationId>,
    /// The tokens of the view, for the header `x-ebbtide-tokens`.
    pub tokens: Option<Tokens>,
}

impl Outgoing {
    /// The client's own bytes.
    #[must_use]
    pub const fn as_it_came(body: Bytes, did: Vec<Did>) -> Self {
        Self {
            body,
            encoding: None,
            betas: Vec::new(),
            drops: &[],
            prefix: None,
            did,
            conversation: None,
            tokens: None,
        }
    }

    /// Returns true if the request is not managed.
    #[must_use]
    pub fn is_passed_on(&self) -> bool {
        let is_passed = |did: &Did| matches!(did, Did::Passed | Did::Failed);
        self.did.iter().any(is_passed)
    }
}

/// The progress of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// There is more to come.
    Part,
    /// With this piece the answer is whole: its last event, or the end of its body. The ticket is
    /// finished before the client gets the piece, so that what a client saw the end of is kept.
    Whole,
    /// The answer is too long to be watched. The part already heard is forgotten.
    TooLong,
}

/// The response to a refusal.
#[derive(Debug)]
pub enum Remedy {
    /// Give it to the client.
    PassOn,
    /// Send this instead.
    SendAgain(Outgoing),
    /// Do this instead: the provider does not know what the client asked for.
    Anew(Box<Verdict>),
}

/// The facts about a complete answer: for the log and for spans. No message text.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The model asked for.
    pub model: String,
    /// The answer as far as it tells about itself.
    pub answer_id: Option<String>,
    /// Why it ended, in the provider's word.
    pub stop: Option<String>,
    /// The usage that the provider reported.
    pub usage: Option<wire::api::Usage>,
}
