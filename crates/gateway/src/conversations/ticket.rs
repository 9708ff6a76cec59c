//! Accompanies one request to the provider and hears the answer.

use std::fmt;
use std::sync::Arc;

use ::conversation::hearing::Hearing;
use ::conversation::homunculus::Preparation;
use ::conversation::identity::Key;
use ::conversation::words::Did;
use ::conversation::{Effect, Flight, Input, Proof, Rescue, Start, Unmade};
use bytes::Bytes;
use history::HistoryError;
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use wire::api::{Failure, Reply, Request, Stop};

use super::exchange::{Generation, Heard, Remedy};
use super::jobs::Source;
use super::lineage::Naming;
use super::running::Shared;
use super::writer::{Receipt, StoreFailure, work};
use super::{Arrival, Inner};

/// One request under way.
pub(super) struct Passage {
    inner: Arc<Inner>,
    /// The conversation.
    pub shared: Arc<Shared>,
    /// Its flight in the conversation.
    pub flight: Flight,
    /// The request as received, with all messages before where it names an answer in their place. After a
    /// refusal it may have to be sent differently.
    pub arrival: Arrival,
    /// Its bonds to answers that requests name.
    pub naming: Naming,
    /// The summary to begin with the answer, and what it is made from once the request is sent.
    pub prepare: Option<(Preparation, Start, Option<Source>)>,
    /// The write of what it brings.
    receipt: Option<Receipt>,
}

impl Passage {
    pub(super) fn new(
        inner: Arc<Inner>,
        shared: Arc<Shared>,
        flight: Flight,
        (arrival, naming): (Arrival, Naming),
    ) -> Self {
        Self {
            inner,
            shared,
            flight,
            arrival,
            naming,
            prepare: None,
            receipt: None,
        }
    }

    /// All conversations.
    pub(super) const fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// The key of its model at its upstream.
    pub(super) fn model_key(&self) -> Key {
        let (arrival, name) = (&self.arrival, self.flight.model_name());
        let commons = &self.inner.directory.commons;
        commons.model_key(arrival.tenant, &arrival.url, name)
    }

    /// Gives what the request brings to the store, to be written with the answer or soon.
    pub(super) fn hand_over(&mut self) {
        if let Some(batch) = self.flight.take_pending() {
            let (tenant, size) = (self.shared.tenant, batch.size());
            let writer = &self.inner.writer;
            self.receipt = Some(writer.write_soon(tenant, work(batch), size));
        }
    }
}

impl Drop for Passage {
    /// The request has landed, or its client went away.
    fn drop(&mut self) {
        let now = (self.inner.parts.clock)();
        let mut conversation = self.shared.lock();
        conversation.on(Input::Landed(&self.flight), now);
        // A summary of a request that was not answered is not made.
        if let Some((order, ..)) = self.prepare.take() {
            let why = Unmade::Abandoned;
            let effects = conversation.on(Input::Unprepared(&order, why), now);
            drop(conversation);
            self.inner
                .local()
                .settle(&self.shared, self.model_key(), effects);
            self.shared.beside.settled.notify_waiters();
        }
    }
}

/// Accompanies one request that was sent. Dropping it early says that the exchange was cut.
pub struct Ticket {
    passage: Option<Box<Passage>>,
    hearing: Hearing,
    /// The changes to the request before it was decided.
    pub(super) told: Vec<Did>,
}

impl Default for Ticket {
    /// A ticket for a request that belongs to no conversation.
    fn default() -> Self {
        Self {
            passage: None,
            hearing: Hearing::default(),
            told: Vec::new(),
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

impl Ticket {
    pub(super) fn of(passage: Passage) -> Self {
        Self {
            passage: Some(Box::new(passage)),
            hearing: Hearing::default(),
            told: Vec::new(),
        }
    }

    /// A ticket for a request that is sent after all.
    pub(super) fn again(passage: Option<Box<Passage>>) -> Self {
        Self {
            passage,
            hearing: Hearing::default(),
            told: Vec::new(),
        }
    }

    /// The request under way.
    pub(super) fn passage(&self) -> Option<&Passage> {
        self.passage.as_deref()
    }

    /// The request under way, which this ticket accompanies no longer.
    pub(super) fn take_passage(&mut self) -> Option<Box<Passage>> {
        self.passage.take()
    }

    /// The URL and the model's name of the request.
    pub(super) fn server(&self) -> Option<(&str, &str)> {
        let passage = self.passage.as_ref()?;
        Some((&passage.arrival.url, passage.flight.model_name()))
    }

    /// Returns true if the provider may find the request too long: it takes at least half of the
    /// presumed window and could be made smaller.
    #[must_use]
    pub fn may_overflow(&self) -> bool {
        self.passage.as_ref().is_some_and(|passage| {
            let conversation = passage.shared.lock();
            let half = conversation.limits().window.scaled(0.5);
            passage.inner.directory.terms.is_on() && conversation.last_sent() >= half
        })
    }

    /// Returns true if a refusal with this status may be about the size or the thinking of the request, or a
    /// compaction that the provider does not know. Then its words are needed.
    #[must_use]
    pub const fn may_mend(&self, status: StatusCode) -> bool {
        // Model servers of one's own say that a request is too long with the last two.
        self.passage.is_some() && matches!(status.as_u16(), 400 | 404 | 405 | 413 | 422 | 500 | 501)
    }

    /// The provider refused the request, with this whole body.
    pub async fn refused(&mut self, status: StatusCode, body: &Bytes, now: Timestamp) -> Remedy {
        let failure = Failure::parse(body).ok().flatten();
        if let Some(verdict) = self.decided_anew(status, failure.as_ref(), now).await {
            return Remedy::Anew(Box::new(verdict));
        }
        let Some(passage) = &mut self.passage else {
            return Remedy::PassOn;
        };
        let inner = Arc::clone(&passage.inner);
        let effects = {
            let input = Input::Refused(&passage.flight, status.as_u16(), failure.as_ref());
            passage.shared.lock().on(input, now)
        };
        let effects = inner
            .local()
            .settle(&passage.shared, passage.model_key(), effects);
        let retry = |effect: Effect| -> Option<Rescue> {
            match effect {
                Effect::Retry(rescue) => Some(rescue),
                _ => None,
            }
        };
        let Some(rescue) = effects.into_iter().find_map(retry) else {
            return Remedy::PassOn;
        };
        match inner.rescued(passage, rescue, now).await {
            Some(outgoing) => Remedy::SendAgain(outgoing),
            None => Remedy::PassOn,
        }
    }

    /// The answer has begun.
    pub fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        let Some(passage) = &mut self.passage else {
            return;
        };
        if status.is_success() {
            passage.shared.was_answered();
            passage.hand_over();
            if let Some((order, _, Some(source))) = passage.prepare.take() {
                passage.inner.prepare(&passage.shared, order, source);
            }
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let plain = text(header::CONTENT_ENCODING).is_none_or(|coding| coding == "identity");
        if !status.is_success() || !plain {
            return;
        }
        let kind = text(header::CONTENT_TYPE).unwrap_or_default();
        self.hearing = if kind.starts_with("text/event-stream") {
            Hearing::stream(passage.flight.dialect())
        } else {
            let length = text(header::CONTENT_LENGTH);
            Hearing::body(length.and_then(|length| length.parse().ok()))
        };
    }

    /// A piece of the answer's body, in order, before it is passed to the client.
    pub fn piece(&mut self, bytes: &Bytes) -> Heard {
        if self.hearing.piece(bytes) {
            return Heard::Whole;
        }
        match &self.passage {
            Some(passage) if self.hearing.gave_up() => {
                let now = (passage.inner.parts.clock)();
                passage.shared.lock().on(Input::Unheard, now);
                Heard::TooLong
            }
            _ => Heard::Part,
        }
    }

    /// The answer has come whole. Its turns are stored when this returns, unless the store takes too
    /// long: then the write goes on, and the client does not wait for it.
    pub async fn finished(mut self, now: Timestamp) -> Option<Generation> {
        let passage = self.passage.take()?;
        let (reply, proof) = std::mem::take(&mut self.hearing).end(passage.flight.dialect());
        let generation = reply.as_ref().map(|reply| Generation {
            model: passage.flight.model_name().to_string(),
            answer_id: reply.id.clone(),
            stop: reply.stop.as_ref().map(word),
            usage: Some(reply.usage.clone()),
        });
        let inner = Arc::clone(&passage.inner);
        inner.in_time(passage.landed(reply, proof, now)).await;
        generation
    }
}

impl Drop for Ticket {
    /// An answer that was cut off is paid for as far as it came.
    fn drop(&mut self) {
        let Some(mut passage) = self.passage.take() else {
            return;
        };
        let Some(reply) = std::mem::take(&mut self.hearing).cut() else {
            return;
        };
        // Before the conversation's row, which stands on what the request brings.
        passage.hand_over();
        let (inner, shared) = (Arc::clone(&passage.inner), Arc::clone(&passage.shared));
        let now = (inner.parts.clock)();
        let cut = Input::CutOff(&passage.flight, &reply);
        let effects = shared.lock().on(cut, now);
        for effect in inner.local().settle(&shared, passage.model_key(), effects) {
            if let Effect::Store(batch) = effect {
                let size = batch.size();
                // If it is lost, the next answer brings it again.
                drop(inner.writer.write_soon(shared.tenant, work(batch), size));
            }
        }
    }
}

/// Why an answer ended, in Anthropic's word where the providers' differ.
fn word(stop: &Stop) -> String {
    let word = match stop {
        Stop::EndOfTurn => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::StopSequence => "stop_sequence",
        Stop::ToolUse => "tool_use",
        Stop::Pause => "pause_turn",
        Stop::Compaction => "compaction",
        Stop::Refusal => "refusal",
        Stop::WindowExceeded => "model_context_window_exceeded",
        Stop::Other(other) => other.as_str(),
    };
    word.to_owned()
}

impl Passage {
    /// The answer has come whole.
    async fn landed(mut self, reply: Option<Reply>, proof: Proof, now: Timestamp) {
        self.hand_over();
        let receipt = self.receipt.take();
        let (inner, shared) = (Arc::clone(&self.inner), Arc::clone(&self.shared));
        let mut links = None;
        if let Some(reply) = &reply {
            let parts = reply.draft().parts;
            inner.calls.hear((shared.tenant, shared.id), &parts, now);
            links = self.remember_answer(reply, now);
            if !parts.is_empty() {
                let of = self.flight.summarises(shared.id);
                inner.remember(shared.tenant, of, (&parts, now)).await;
            }
        }
        let input = Input::Answered(&self.flight, reply.as_ref(), &proof);
        let effects = shared.lock().on(input, now);
        let mut written = None;
        for effect in inner.local().settle(&shared, self.model_key(), effects) {
            if let Effect::Store(batch) = effect {
                let size = batch.size();
                let writer = &inner.writer;
                written = Some(writer.write_little(shared.tenant, work(batch), size).await);
            }
        }
        // In the order in which they were given: the answer stands on what the request brought.
        let mut kept = Ok(());
        for receipt in receipt.into_iter().chain(written) {
            let one = receipt.kept().await;
            kept = kept.and(one);
        }
        if let Some(links) = links {
            inner.links_kept(shared.tenant, links).await;
        }
        if matches!(kept, Err(StoreFailure::Store(HistoryError::UnknownNode(_)))) {
            // Somebody purged the conversation while it was in memory.
            kept = self.store_whole(reply.as_ref(), now).await;
        }
        if let Err(failure) = &kept {
            inner.local().not_stored(&shared, failure, now);
        }
    }

    /// Stores all of a conversation that the store has lost, the answer included.
    async fn store_whole(&self, reply: Option<&Reply>, now: Timestamp) -> Result<(), StoreFailure> {
        let mut batch = self.flight.answer(reply);
        if let Ok(request) = Request::parse(self.flight.dialect(), &self.arrival.body) {
            let mut whole = self.shared.lock().whole(&request, now);
            whole.add(batch);
            batch = whole;
        }
        let written = self
            .inner
            .writer
            .write(self.shared.tenant, work(batch))
            .await;
        written.kept().await
    }
}
