//! Accompanies one request to the provider and hears the answer.

use std::fmt;
use std::sync::Arc;

use ::conversation::hearing::Hearing;
use ::conversation::homunculus::Preparation;
use ::conversation::identity::Key;
use ::conversation::words::Did;
use ::conversation::{Effect, Flight, Input, Rescue, Start};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use wire::api::{Failure, Stop};

use super::Arrival;
use super::exchange::{Generation, Heard, Remedy, Verdict};
use super::generating::Generating;
use super::landing::Landing;
use super::lineage::Naming;
use super::running::Shared;
use super::source::Source;
use super::writer::{Receipt, work};

/// One request under way.
///
/// An exception among the parts: it holds the way back to [`Generating`], which made it, because a refused request may
/// be decided again. The passage also needs the writer, the clock and the landing that lie there.
pub(super) struct Passage {
    /// The way back: it decides a refused request again, and leads to the landing that takes the answer.
    generating: Arc<Generating>,
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
    pub receipt: Option<Receipt>,
}

impl Passage {
    pub(super) fn new(
        generating: Arc<Generating>,
        shared: Arc<Shared>,
        flight: Flight,
        (arrival, naming): (Arrival, Naming),
    ) -> Self {
        Self {
            generating,
            shared,
            flight,
            arrival,
            naming,
            prepare: None,
            receipt: None,
        }
    }

    /// The place that its answer goes to.
    fn landing(&self) -> &Landing {
        &self.generating.landing
    }

    /// The key of its model at its upstream.
    pub(super) fn model_key(&self) -> Key {
        let (arrival, name) = (&self.arrival, self.flight.model_name());
        let commons = &self.generating.directory.commons;
        commons.model_key(arrival.tenant, &arrival.url, name)
    }

    /// Gives what the request brings to the store, to be written with the answer or soon.
    pub(super) fn hand_over(&mut self) {
        if let Some(batch) = self.flight.take_pending() {
            let (tenant, size) = (self.shared.tenant, batch.size());
            let receipt = self.landing().writer.write_soon(tenant, work(batch), size);
            self.receipt = Some(receipt);
        }
    }
}

impl Drop for Passage {
    /// The request has landed, or its client went away.
    fn drop(&mut self) {
        let generating = Arc::clone(&self.generating);
        generating.landing.end(self);
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
            passage.generating.directory.terms.is_on() && conversation.last_sent() >= half
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
        if let Some(verdict) = self.decided_anew((status, failure.as_ref()), now).await {
            return Remedy::Anew(Box::new(verdict));
        }
        let Some(passage) = &mut self.passage else {
            return Remedy::PassOn;
        };
        let generating = Arc::clone(&passage.generating);
        let effects = {
            let input = Input::Refused(&passage.flight, status.as_u16(), failure.as_ref());
            passage.shared.lock().on(input, now)
        };
        let local = &generating.landing.local;
        let effects = local.settle(&passage.shared, passage.model_key(), effects);
        let retry = |effect: Effect| -> Option<Rescue> {
            match effect {
                Effect::Retry(rescue) => Some(rescue),
                _ => None,
            }
        };
        let Some(rescue) = effects.into_iter().find_map(retry) else {
            return Remedy::PassOn;
        };
        match generating.rescued(passage, rescue, now).await {
            Some(outgoing) => Remedy::SendAgain(outgoing),
            None => Remedy::PassOn,
        }
    }

    /// Decides the request again where the provider refused it because it does not know compaction.
    async fn decided_anew(
        &mut self,
        (status, failure): (StatusCode, Option<&Failure>),
        now: Timestamp,
    ) -> Option<Verdict> {
        let passage = self.passage()?;
        let generating = Arc::clone(&passage.generating);
        let (arrival, dialect) = (passage.arrival.clone(), passage.flight.dialect());
        let model = passage.flight.model_name().to_string();
        let (of, refusal) = ((&arrival, dialect), (status, failure));
        if !generating.speaking.learn_refusal(of, &model, refusal, now) {
            return None;
        }
        tracing::info!(
            model,
            "the provider knows no compaction; the gateway answers"
        );
        // It has landed before it is decided again.
        drop(self.take_passage());
        let mut verdict = generating.generate(arrival, dialect, now).await;
        verdict.tell(&self.told);
        Some(verdict)
    }

    /// The answer has begun.
    pub fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        let Some(passage) = &mut self.passage else {
            return;
        };
        if status.is_success() {
            let generating = Arc::clone(&passage.generating);
            generating.landing.begins(passage);
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
                let now = (passage.landing().clock)();
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
        let generating = Arc::clone(&passage.generating);
        let storing = Arc::clone(&generating.landing.storing);
        let landed = async move {
            let landing = &generating.landing;
            landing.landed(*passage, (reply, proof), now).await;
        };
        storing.in_time(landed).await;
        generation
    }
}

impl Drop for Ticket {
    /// An answer that was cut off is paid for as far as it came.
    fn drop(&mut self) {
        let Some(passage) = self.passage.take() else {
            return;
        };
        let Some(reply) = std::mem::take(&mut self.hearing).cut() else {
            return;
        };
        let generating = Arc::clone(&passage.generating);
        generating.landing.cut_off(*passage, &reply);
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
