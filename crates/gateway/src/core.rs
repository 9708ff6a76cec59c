//! The inner half: keeps the conversations and decides what is sent.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use context::Tokens;
use history::{Engine, HistoryError, Tenant};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use wire::api::Dialect;

use crate::config::Config;
use crate::metrics::Metrics;
use crate::words::Did;

/// Tells the time. Only the binary knows a real one.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What the inner half is made of.
#[derive(Clone)]
pub struct Parts {
    /// What was set.
    pub config: Arc<Config>,
    /// Where the history is kept.
    pub engine: Arc<dyn Engine>,
    /// The time, for what is not called with one.
    pub clock: Clock,
    /// Where it counts what it does.
    pub metrics: Arc<Metrics>,
}

/// The conversations of all tenants, and what is decided about their requests.
pub struct Core {
    parts: Parts,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

impl Core {
    /// An inner half without conversations.
    ///
    /// # Errors
    /// Where the engine fails.
    pub fn new(parts: Parts) -> Result<Self, HistoryError> {
        Ok(Self { parts })
    }

    /// What it is made of.
    #[must_use]
    pub const fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Decides about a request. It may wait; dropping it says that the client went away. The caller
    /// keeps the arrival's bytes and sends them where this panics.
    pub async fn arrive(&self, arrival: Arrival, _now: Timestamp) -> Verdict {
        let did = vec![Did::Passed];
        let outgoing = Outgoing {
            body: arrival.body,
            betas: Vec::new(),
            did,
            conversation: None,
            tokens: None,
        };
        Verdict::Send(outgoing, Ticket::default())
    }

    /// Ends what is under way: no new preparation begins, and what is to be kept is kept when this
    /// returns.
    pub async fn close(&self) {}
}

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
    /// The tokens of the view, for the header `x-ebbtide-tokens`.
    pub tokens: Option<Tokens>,
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
    /// The conversation, for the header `x-ebbtide-conversation`.
    pub conversation: Option<history::ConversationId>,
}

/// How much of an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// There is more to come.
    Part,
    /// With this piece the answer is whole: its last event, or the end of its body. The ticket is
    /// finished before the client gets the piece, so that what a client saw the end of is kept.
    Whole,
}

/// Accompanies one request that was sent. Dropping it early says that the exchange was cut.
#[derive(Debug, Default)]
pub struct Ticket {}

/// What is known of an answer that came whole: for the log and for spans. No message text.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The model asked for.
    pub model: String,
    /// The answer as far as it tells about itself.
    pub answer_id: Option<String>,
    /// Why it ended, in the provider's word.
    pub stop: Option<String>,
    /// What the provider reported.
    pub usage: Option<wire::api::Usage>,
}

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

    /// A piece of the answer's body, in order, before it is passed to the client.
    pub fn piece(&mut self, _bytes: &Bytes) -> Heard {
        Heard::Part
    }

    /// The answer has come whole. What was said is kept when this returns.
    pub async fn finished(self, _now: Timestamp) -> Option<Generation> {
        None
    }
}
