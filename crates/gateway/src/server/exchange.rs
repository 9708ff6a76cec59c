//! One request from its first byte to the last byte of its answer: what is counted and logged of it.

use std::sync::Arc;
use std::time::Duration;

use context::Tokens;
use history::ConversationId;
use http::HeaderMap;
use http::request::Parts;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::conversations::{Endpoint, Generation, Outgoing};
use crate::server::State;
use crate::server::headers;
use crate::server::refusal::Reason;
use crate::server::route::{Provider, Route};
use crate::server::spans::{Place, Told};
use conversation::words::Did;

/// One request while it is here. Dropping it counts and logs it, whatever became of it.
pub(crate) struct Exchange {
    pub(crate) state: Arc<State>,
    pub(crate) route: Route,
    /// Its place among the requests that may be under way.
    pub(crate) place: Option<OwnedSemaphorePermit>,
    /// What is known of the answer's content, once it came whole.
    pub(crate) generation: Option<Generation>,
    method: String,
    span: Option<Span>,
    came: Instant,
    /// When it was there whole, so far as it was read here.
    read: Instant,
    own: Option<Duration>,
    /// How long the end of its answer was held back until what was said was kept.
    keeping: Option<Duration>,
    outcome: Outcome,
    bytes: Bytes,
}

/// A generation as a span.
struct Span {
    place: Place,
    from: Timestamp,
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
        let place = matches!(route.endpoint, Endpoint::Generate(_))
            .then(|| state.spans.place(&parts.headers))
            .flatten();
        let span = place.map(|place| Span {
            place,
            from: (state.clock)(),
        });
        Self {
            span,
            state,
            route,
            place: None,
            generation: None,
            method: parts.method.to_string(),
            came: now,
            read: now,
            own: None,
            keeping: None,
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

    /// The end of its answer was held back since then, until what was said was kept.
    pub(crate) fn kept(&mut self, since: Instant) {
        let keeping = since.elapsed();
        self.keeping = Some(keeping);
        self.state.metrics.keeping_time(keeping);
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

impl Exchange {
    /// Tells of a generation (OpenTelemetry's semantic conventions for generative AI).
    fn tell(&self, status: u16, did: &str) {
        let Some(span) = &self.span else { return };
        let provider = match self.route.provider {
            Provider::Anthropic => "anthropic",
            Provider::OpenAi => "openai",
        };
        let mut attributes = vec![
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.provider.name", json!(provider)),
            ("http.response.status_code", json!(status)),
            ("ebbtide.did", json!(did)),
        ];
        if let Some(conversation) = self.outcome.conversation {
            attributes.push(("gen_ai.conversation.id", json!(conversation.to_string())));
        }
        if let Some(tokens) = self.outcome.tokens {
            attributes.push(("ebbtide.view_tokens", json!(tokens.get())));
        }
        if status >= 400 {
            attributes.push(("error.type", json!(status.to_string())));
        }
        let mut name = "chat".to_owned();
        if let Some(generation) = &self.generation {
            name = format!("chat {}", generation.model);
            describe(generation, &mut attributes);
        }
        self.state.spans.tell(Told {
            place: &span.place,
            name,
            from: span.from,
            to: (self.state.clock)(),
            status,
            attributes,
        });
    }
}

/// What the provider said of its answer.
fn describe(generation: &Generation, attributes: &mut Vec<(&'static str, Value)>) {
    attributes.push(("gen_ai.request.model", json!(generation.model)));
    if let Some(id) = &generation.answer_id {
        attributes.push(("gen_ai.response.id", json!(id)));
    }
    if let Some(stop) = &generation.stop {
        attributes.push(("gen_ai.response.finish_reasons", json!([stop])));
    }
    if let Some(usage) = &generation.usage {
        let counts = usage.billed();
        attributes.extend([
            ("gen_ai.usage.input_tokens", json!(counts.all_input().get())),
            ("gen_ai.usage.output_tokens", json!(counts.output.get())),
            (
                "gen_ai.usage.cache_read.input_tokens",
                json!(counts.cache_read.get()),
            ),
            (
                "gen_ai.usage.cache_creation.input_tokens",
                json!(counts.cache_write.get()),
            ),
        ]);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
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
        let words = words.join(",");
        self.tell(status, &words);
        let generation = self.generation.as_ref();
        tracing::info!(
            target: "ebbtide::request",
            method = self.method,
            endpoint = self.route.name(),
            status,
            whole,
            did = words,
            model = generation.map(|generation| generation.model.as_str()),
            conversation = conversation.map(tracing::field::display),
            tokens = tokens.map(Tokens::get),
            bytes_in = self.bytes.received,
            bytes_out = self.bytes.sent,
            own_us = self.own.map(micros),
            keeping_us = self.keeping.map(micros),
            all_ms = u64::try_from(self.came.elapsed().as_millis()).unwrap_or(u64::MAX),
            "request"
        );
    }
}
