//! One request from its first byte to the last byte of its answer, with its counters and its log
//! line.

use std::sync::Arc;
use std::time::Duration;

use context::coded::ErrorCode;
use context::{Text, Tokens};
use history::{ConversationId, Tenant};
use http::request::Parts;
use http::{HeaderMap, Uri};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::conversations::{Endpoint, Generation, Occupied, Outgoing};
use crate::server::refusal::Reason;
use crate::server::route::{Provider, Route};
use crate::server::spans::{SpanContext, SpanData};
use crate::server::{State, duration, headers, upstream};
use conversation::journal::{Ending, Served};
use conversation::words::Did;
use wire::api::Bridge;

/// One request in progress. Dropping it counts and logs the request, however it ended.
pub(crate) struct Exchange {
    pub(crate) state: Arc<State>,
    pub(crate) route: Route,
    pub(crate) places: Places,
    pub(crate) returning: Returning,
    method: String,
    span: Option<SpanContext>,
    times: Times,
    record: Record,
    bytes: Bytes,
}

/// The places that a request takes until its answer ends.
#[derive(Default)]
pub(crate) struct Places {
    /// Among concurrent requests.
    pub(crate) request: Option<OwnedSemaphorePermit>,
    /// At the model server.
    pub(crate) server: Option<Occupied>,
}

/// The answer on its way back.
#[derive(Default)]
pub(crate) struct Returning {
    /// The block or item to put in front of it.
    pub(crate) prefix: Option<Text>,
    /// The way back from another dialect.
    pub(crate) bridge: Option<Box<Bridge>>,
    /// Its content, once it arrived whole.
    pub(crate) generation: Option<Generation>,
}

/// The times of one request.
struct Times {
    /// The time of day at which it came.
    came: Timestamp,
    started: Instant,
    /// The time at which its body had arrived, as far as the gateway reads it.
    read: Instant,
    own: Option<Duration>,
    /// The time until the first byte of the answer.
    first: Option<Duration>,
    /// The time for which the end of the answer was held back to record the conversation.
    keeping: Option<Duration>,
}

/// The facts to log about a request.
#[derive(Default)]
struct Record {
    status: Option<u16>,
    did: Vec<Did>,
    tenant: Option<Tenant>,
    conversation: Option<ConversationId>,
    tokens: Option<Tokens>,
    ending: Option<Ending>,
    /// The error of a request without an answer of its provider.
    fault: Option<ErrorCode>,
    /// The host and port that did not answer.
    tried: Option<String>,
}

/// Bytes of the bodies.
#[derive(Default)]
struct Bytes {
    received: usize,
    sent: usize,
}

impl Exchange {
    pub(crate) fn begin(state: Arc<State>, route: Route, parts: &Parts) -> Self {
        state.metrics.began();
        let now = Instant::now();
        let context = matches!(route.endpoint, Endpoint::Generate(_))
            .then(|| state.spans.context(&parts.headers))
            .flatten();
        Self {
            span: context,
            times: Times {
                came: (state.clock)(),
                started: now,
                read: now,
                own: None,
                first: None,
                keeping: None,
            },
            state,
            route,
            places: Places::default(),
            returning: Returning::default(),
            method: parts.method.to_string(),
            record: Record::default(),
            bytes: Bytes::default(),
        }
    }

    /// Notes that the body was read whole.
    pub(crate) fn body_read(&mut self, bytes: usize) {
        self.times.read = Instant::now();
        self.received(bytes);
    }

    /// Counts bytes of the request's body.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.bytes.received = self.bytes.received.saturating_add(bytes);
    }

    /// Notes that the request is being sent to the provider.
    pub(crate) fn forwarding(&mut self) {
        if let Some(server) = &mut self.places.server {
            server.sent();
        }
        if self.times.own.is_none() {
            let own = self.times.read.elapsed();
            self.times.own = Some(own);
            self.state.metrics.own_time(own);
        }
    }

    /// Notes that the end of the answer was held back since then to record the conversation.
    pub(crate) fn recorded(&mut self, since: Instant) {
        let keeping = since.elapsed();
        self.times.keeping = Some(keeping);
        self.state.metrics.keeping_time(keeping);
    }

    /// The URL at the provider for the client's request.
    pub(crate) fn url(&self, parts: &Parts) -> Option<Uri> {
        let provider = self.route.provider;
        self.state
            .upstream
            .url(provider, &parts.uri, &parts.headers)
    }

    /// Notes the address that a request without an answer was sent to.
    pub(crate) fn unanswered(&mut self, parts: &Parts) {
        self.record.tried = self.url(parts).as_ref().and_then(upstream::address);
    }

    /// The host and port that did not answer.
    pub(crate) fn tried(&self) -> Option<&str> {
        self.record.tried.as_deref()
    }

    /// The longest silence allowed to the provider.
    pub(crate) fn silence(&self) -> Duration {
        duration(self.state.config.limits.silence)
    }

    /// Notes what was done to the request.
    pub(crate) fn did(&mut self, did: &[Did]) {
        did.clone_into(&mut self.record.did);
    }

    /// Notes the decision about the request.
    pub(crate) fn decided(&mut self, outgoing: &Outgoing) {
        self.returning.prefix.clone_from(&outgoing.prefix);
        self.did(&outgoing.did);
        self.record.conversation = outgoing.conversation;
        self.record.tokens = outgoing.tokens;
    }

    /// Notes whose request it is.
    pub(crate) const fn is_of(&mut self, tenant: Tenant) {
        self.record.tenant = Some(tenant);
    }

    /// Notes the conversation of the request.
    pub(crate) fn belongs_to(&mut self, conversation: Option<ConversationId>) {
        self.record.conversation = conversation;
    }

    /// Notes the status, and adds the gateway's headers to the answer.
    pub(crate) fn answered(&mut self, status: u16, answer: &mut HeaderMap) {
        let Record {
            did,
            conversation,
            tokens,
            ..
        } = &self.record;
        headers::annotate(answer, did, *conversation, *tokens);
        self.record.status = Some(status);
    }

    /// Counts bytes of the answer's body.
    pub(crate) fn sent(&mut self, bytes: usize) {
        if let Some(server) = &mut self.places.server {
            server.answered(self.record.status.is_some_and(|status| status >= 400));
        }
        if bytes > 0 && self.times.first.is_none() {
            self.times.first = Some(self.times.started.elapsed());
        }
        self.bytes.sent = self.bytes.sent.saturating_add(bytes);
    }

    /// Notes that the whole answer was sent.
    pub(crate) const fn complete(&mut self) {
        self.record.ending = Some(Ending::Whole);
    }

    /// Notes that the provider broke the answer off.
    pub(crate) const fn broken_off(&mut self) {
        self.record.ending = Some(Ending::BrokenOff);
    }

    /// Notes that the request has no answer from its provider.
    pub(crate) fn refused(&mut self, reason: Reason, status: u16) {
        self.record.status = Some(status);
        self.record.fault = Some(reason.code());
        self.did(&[reason.did()]);
        self.complete();
    }

    /// Has the conversation note what became of a generation.
    fn note(&self, status: u16, ending: Ending) {
        let Record {
            tenant: Some(tenant),
            conversation: Some(conversation),
            ..
        } = self.record
        else {
            return;
        };
        if !matches!(self.route.endpoint, Endpoint::Generate(_)) {
            return;
        }
        // A client that has heard the end may go away before the connection is done.
        let ending = match &self.returning.generation {
            Some(_) => Ending::Whole,
            None => ending,
        };
        let short = |tokens: Tokens| u32::try_from(tokens.get()).unwrap_or(u32::MAX);
        let served = Served {
            at: 0,
            tokens: self.record.tokens.map(short),
            did: self.record.did.iter().copied().collect(),
            status,
            began: self.times.first.map(milliseconds),
            ended: milliseconds(self.times.started.elapsed()),
            ending,
            fault: self.record.fault.map_or(0, number),
        };
        let (of, came) = ((tenant, conversation), self.times.came);
        self.state.core.served(of, came, served);
    }
}

impl Exchange {
    /// Exports the span of a generation (OpenTelemetry's semantic conventions for generative AI).
    fn export_span(&self, status: u16, did: &str) {
        let Some(context) = &self.span else { return };
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
        if let Some(conversation) = self.record.conversation {
            attributes.push(("gen_ai.conversation.id", json!(conversation.to_string())));
        }
        if let Some(tokens) = self.record.tokens {
            attributes.push(("ebbtide.view_tokens", json!(tokens.get())));
        }
        if status >= 400 {
            attributes.push(("error.type", json!(status.to_string())));
        }
        let mut name = "chat".to_owned();
        if let Some(generation) = &self.returning.generation {
            name = format!("chat {}", generation.model);
            describe(generation, &mut attributes);
        }
        self.state.spans.export(SpanData {
            context,
            name,
            from: self.times.came,
            to: (self.state.clock)(),
            status,
            attributes,
        });
    }
}

/// Adds what the provider reported about its answer.
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

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// The number of an error code.
fn number(code: ErrorCode) -> u16 {
    let digits = code.as_str().trim_start_matches('E');
    digits.parse().unwrap_or(0)
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
        let Record {
            status,
            did,
            conversation,
            tokens,
            ending,
            fault,
            ..
        } = &self.record;
        // The client disconnected before the head of an answer. nginx introduced this status.
        let status = status.unwrap_or(499);
        let ending = ending.unwrap_or(Ending::Left);
        metrics.answered(self.route.name(), status, did);
        let words: Vec<&str> = did.iter().map(|did| did.as_str()).collect();
        let words = words.join(",");
        self.export_span(status, &words);
        self.note(status, ending);
        let generation = self.returning.generation.as_ref();
        let times = &self.times;
        tracing::info!(
            target: "ebbtide::request",
            method = self.method,
            endpoint = self.route.name(),
            status,
            whole = (ending == Ending::Whole),
            did = words,
            code = fault.map(ErrorCode::as_str),
            model = generation.map(|generation| generation.model.as_str()),
            conversation = conversation.map(tracing::field::display),
            tokens = tokens.map(Tokens::get),
            bytes_in = self.bytes.received,
            bytes_out = self.bytes.sent,
            own_us = times.own.map(micros),
            keeping_us = times.keeping.map(micros),
            all_ms = milliseconds(times.started.elapsed()),
            "request"
        );
    }
}
