//! The inner half: keeps the conversations and decides what is sent.

use bytes::Bytes;
use history::Tenant;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use wire::api::Dialect;

use crate::words::Did;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The next message of a conversation.
    Generate(Dialect),
    /// The size of one.
    Count(Dialect),
    /// Anything else: never looked into.
    Other,
}

/// A request as the outer half received it.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// What it asks for.
    pub endpoint: Endpoint,
    /// The path and query as received.
    pub target: String,
    /// Its headers as received.
    pub headers: HeaderMap,
    /// Its body, whole.
    pub body: Bytes,
    /// Who sent it.
    pub tenant: Tenant,
}

/// What is to be done with a request.
#[derive(Debug)]
pub enum Verdict {
    /// Send this upstream, and show the ticket what comes back.
    Send(Outgoing, Ticket),
    /// Do not send it; this is the answer.
    Answer(Direct),
}

/// What is sent upstream.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The body: the client's own bytes, the same allocation, where nothing was changed.
    pub body: Bytes,
    /// Names that must be among those of the header `anthropic-beta` besides the client's own.
    pub betas: Vec<&'static str>,
    /// What was done, for the header `x-ebbtide-did` and the metrics.
    pub did: Vec<Did>,
    /// The conversation, for the header `x-ebbtide-conversation`.
    pub conversation: Option<history::ConversationId>,
}

/// An answer that is made here.
#[derive(Clone, Debug)]
pub struct Direct {
    /// Its status.
    pub status: StatusCode,
    /// Its content type.
    pub content_type: &'static str,
    /// Its body.
    pub body: Bytes,
    /// What was done.
    pub did: Vec<Did>,
}

/// Accompanies one request that was sent. Dropping it early says that the exchange was cut.
#[derive(Debug, Default)]
pub struct Ticket {}

/// What to do about a refusal.
#[derive(Debug)]
pub enum Rescue {
    /// Give it to the client.
    PassOn,
    /// Send this instead, once.
    SendAgain(Outgoing),
}

impl Ticket {
    /// The provider refused the request, with this whole body.
    pub async fn refused(&mut self, _status: StatusCode, _body: &Bytes, _now: Timestamp) -> Rescue {
        Rescue::PassOn
    }

    /// The answer has begun.
    pub fn answered(&mut self, _status: StatusCode, _headers: &HeaderMap) {}

    /// A piece of the answer's body, in order, as it is passed to the client.
    pub fn piece(&mut self, _bytes: &Bytes) {}

    /// The answer has come whole. What was said is kept when this returns.
    pub async fn finished(self, _now: Timestamp) {}
}
