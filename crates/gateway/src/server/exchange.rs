//! One request from its first byte to the last byte of its answer: what is counted and logged of it.

use std::sync::Arc;
use std::time::Duration;

use context::Tokens;
use history::ConversationId;
use http::HeaderMap;
use http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::core::{Generation, Outgoing};
use crate::server::State;
use crate::server::headers;
use crate::server::refusal::Reason;
use crate::server::route::Route;
use crate::words::Did;

/// One request while it is here. Dropping it counts and logs it, whatever became of it.
pub(crate) struct Exchange {
    pub(crate) state: Arc<State>,
    pub(crate) route: Route,
    /// Its place among the requests that may be under way.
    pub(crate) place: Option<OwnedSemaphorePermit>,
    /// What is known of the answer's content, once it came whole.
    pub(crate) generation: Option<Generation>,
    method: String,
    came: Instant,
    /// When it was there whole, so far as it was read here.
    read: Instant,
    own: Option<Duration>,
    outcome: Outcome,
    bytes: Bytes,
}

/// What is told of a request.
#[derive(Default)]
struct Outcome {
    status: Option<u16>,
    did: Vec<Did>,
    conversation: Option<ConversationId>,
    tokens: Option<Tokens>,
    whole: bool,
}

/// Bytes of bodies.
#[derive(Default)]
struct Bytes {
    received: usize,
    sent: usize,
}

impl Exchange {
    pub(crate) fn begin(state: Arc<State>, route: Route, parts: &Parts) -> Self {
        state.metrics.began();
        let now = Instant::now();
        Self {
            state,
            route,
            place: None,
            generation: None,
            method: parts.method.to_string(),
            came: now,
            read: now,
            own: None,
            outcome: Outcome::default(),
            bytes: Bytes::default(),
        }
    }

    /// Its body was read whole.
    pub(crate) fn was_read(&mut self, bytes: usize) {
        self.read = Instant::now();
        self.received(bytes);
    }

    /// Some of its body came.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.bytes.received = self.bytes.received.saturating_add(bytes);
    }

    /// It is sent to the provider now.
    pub(crate) fn is_sent(&mut self) {
        if self.own.is_none() {
            let own = self.read.elapsed();
            self.own = Some(own);
            self.state.metrics.own_time(own);
        }
    }

    /// What was done to it.
    pub(crate) fn did(&mut self, did: &[Did]) {
        did.clone_into(&mut self.outcome.did);
    }

    /// What was done to it, and for whom.
    pub(crate) fn decided(&mut self, outgoing: &Outgoing) {
        self.did(&outgoing.did);
        self.outcome.conversation = outgoing.conversation;
        self.outcome.tokens = outgoing.tokens;
    }

    /// Which conversation it belongs to.
    pub(crate) fn belongs_to(&mut self, conversation: Option<ConversationId>) {
        self.outcome.conversation = conversation;
    }

    /// The head of its answer goes to the client.
    pub(crate) fn answered(&mut self, status: u16, answer: &mut HeaderMap) {
        self.outcome.status = Some(status);
        let Outcome {
            did,
            conversation,
            tokens,
            ..
        } = &self.outcome;
        headers::tell(answer, did, *conversation, *tokens);
    }

    /// A piece of its answer goes to the client.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes.sent = self.bytes.sent.saturating_add(bytes);
    }

    /// All of its answer went to the client.
    pub(crate) fn whole(&mut self) {
        self.outcome.whole = true;
    }

    /// It has no answer from its provider.
    pub(crate) fn refused(&mut self, reason: Reason, status: u16) {
        self.outcome.status = Some(status);
        self.did(&[reason.did()]);
        self.whole();
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let metrics = &self.state.metrics;
        metrics.ended();
        metrics.received(self.bytes.received);
        metrics.sent(self.bytes.sent);
        let Outcome {
            status,
            did,
            conversation,
            tokens,
            whole,
        } = &self.outcome;
        // A client that went away before there was a head; the number nginx made usual.
        let status = status.unwrap_or(499);
        metrics.answered(self.route.name(), status, did);
        let words: Vec<&str> = did.iter().map(|did| did.as_str()).collect();
        let generation = self.generation.as_ref();
        tracing::info!(
            target: "ebbtide::request",
            method = self.method,
            endpoint = self.route.name(),
            status,
            whole,
            did = words.join(","),
            model = generation.map(|generation| generation.model.as_str()),
            conversation = conversation.map(tracing::field::display),
            tokens = tokens.map(Tokens::get),
            bytes_in = self.bytes.received,
            bytes_out = self.bytes.sent,
            own_us = self.own.map(|own| u64::try_from(own.as_micros()).unwrap_or(u64::MAX)),
            all_ms = u64::try_from(self.came.elapsed().as_millis()).unwrap_or(u64::MAX),
            "request"
        );
    }
}
