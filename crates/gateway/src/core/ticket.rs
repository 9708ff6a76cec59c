//! Accompanies one request to the provider and hears the answer.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use context::{Text, Tokens};
use conversation::homunculus::{Event, Preparation, Shown};
use history::HistoryError;
use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;
use serde_json::Value;
use tokens::Model;
use wire::api::{Accumulator, Decoder, Dialect, Failure, Reply, Request, Response, Stop};

use super::Inner;
use super::call::Call;
use super::exchange::{Arrival, Generation, Heard, Rescue};
use super::join::Joined;
use super::journal::{Happened, Sent};
use super::keep::Keep;
use super::money::{self, Alone, Bill};
use super::prepare::Source;
use super::rescue::Refused;
use super::writer::StoreFailure;
use crate::config::Mode;

/// An answer that is no stream is read up to this size; what is longer is passed on unread.
const LONGEST_ANSWER: usize = 16 << 20;

/// One request under way.
pub(super) struct Flight {
    /// Whose it is.
    pub inner: Arc<Inner>,
    /// Its place in its conversation.
    pub joined: Joined,
    /// As it came. A refusal can make it necessary to send it otherwise.
    pub arrival: Arrival,
    /// What it speaks.
    pub dialect: Dialect,
    /// Its model.
    pub model: Arc<Model>,
    /// The name that it was asked for by.
    pub name: Text,
    /// How it was shown.
    pub shown: Shown,
    /// The size of the conversation as it was said.
    pub unchanged: Tokens,
    /// The request before it.
    pub before: Option<Sent>,
    /// Whether something left the view with it.
    pub swapped: bool,
    /// Whether it waited for a summary.
    pub waited: bool,
    /// The summary to make as soon as the answer begins.
    pub prepare: Option<(Preparation, Source)>,
}

impl Flight {
    pub(super) fn new(
        inner: Arc<Inner>,
        arrival: &Arrival,
        call: &Call<'_>,
        joined: Joined,
    ) -> Self {
        Self {
            inner,
            joined,
            arrival: arrival.clone(),
            dialect: call.dialect(),
            model: Arc::clone(&call.model),
            name: call.name.clone(),
            shown: Shown::default(),
            unchanged: Tokens::ZERO,
            before: None,
            swapped: false,
            waited: false,
            prepare: None,
        }
    }
}

impl Flight {
    /// The turn of its answer, to be kept.
    fn said(&self, reply: Option<&Reply>) -> Keep {
        let mut keep = Keep {
            parent: self.joined.head,
            ..Keep::default()
        };
        let Some(reply) = reply else { return keep };
        let turn = reply.draft().after(keep.parent, &self.model.counter());
        if turn.parts().iter().any(super::keep::is_more_than_text) {
            keep.originals = vec![(turn.id(), reply.message().as_bytes().into())];
        }
        if !turn.parts().is_empty() {
            keep.turns = vec![turn];
        }
        keep
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        // A summary of a request that was not answered is not made.
        if let Some((order, _)) = self.prepare.take() {
            let now = (self.inner.parts.clock)();
            let shared = &self.joined.shared;
            shared.lock().tell(Event::Failed { job: order.job }, now);
            shared.settled.notify_waiters();
        }
    }
}

/// What has come of an answer.
enum Hearing {
    /// Nothing, or nothing that is read.
    Deaf,
    /// An event stream.
    Stream(Box<(Decoder, Accumulator, Proof)>),
    /// A body, and how long it says it is.
    Body(Vec<u8>, Option<usize>),
}

/// Accompanies one request that was sent. Dropping it early says that the exchange was cut.
pub struct Ticket {
    flight: Option<Box<Flight>>,
    hearing: Hearing,
}

impl Default for Ticket {
    /// One for a request that nothing is to be known of.
    fn default() -> Self {
        Self {
            flight: None,
            hearing: Hearing::Deaf,
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

impl Ticket {
    pub(super) fn of(flight: Flight) -> Self {
        Self {
            flight: Some(Box::new(flight)),
            hearing: Hearing::Deaf,
        }
    }

    /// Whether the provider may find that the request is too long: it takes half of the window that is
    /// believed in, or more, and could be made smaller.
    #[must_use]
    pub fn may_overflow(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| {
            let machine = &flight.joined.shared.lock().supervisor.machine;
            let half = machine.limits().window.scaled(0.5);
            flight.inner.parts.config.mode == Mode::On && machine.sent().all() >= half
        })
    }

    /// The provider refused the request, with this whole body.
    pub async fn refused(&mut self, status: StatusCode, body: &Bytes, now: Timestamp) -> Rescue {
        let Some(flight) = &mut self.flight else {
            return Rescue::PassOn;
        };
        let failure = Failure::parse(body).ok().flatten();
        let is_foreign_thinking = failure
            .as_ref()
            .is_some_and(wire::api::Failure::is_foreign_thinking);
        let overflow = failure.and_then(|failure| failure.overflow());
        let inner = Arc::clone(&flight.inner);
        let retry = {
            let mut live = flight.joined.shared.lock();
            live.journal.note(now, Happened::Refused(status.as_u16()));
            if let Some(overflow) = &overflow {
                inner.learn_window(&mut live, flight, overflow, now);
            }
            overflow.is_some_and(|overflow| {
                inner.parts.config.mode == Mode::On
                    && live.flights.newest == flight.joined.number
                    && live.is_retried_after_overflow(overflow.input, now)
            })
        };
        let why = match retry {
            true => Refused::TooLong,
            false if is_foreign_thinking => Refused::ForeignThinking,
            false => return Rescue::PassOn,
        };
        match inner.rescue(flight, why, now).await {
            Some(outgoing) => Rescue::SendAgain(outgoing),
            None => Rescue::PassOn,
        }
    }

    /// The answer has begun.
    pub fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        let Some(flight) = &mut self.flight else {
            return;
        };
        let inner = Arc::clone(&flight.inner);
        if status.is_success() {
            flight.joined.shared.was_answered();
            inner.hand_over(&mut flight.joined);
        }
        if status.is_success()
            && let Some((order, source)) = flight.prepare.take()
        {
            inner.prepare(&flight.joined.shared, order, source);
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let plain = text(header::CONTENT_ENCODING).is_none_or(|coding| coding == "identity");
        if !status.is_success() || !plain {
            return;
        }
        let kind = text(header::CONTENT_TYPE).unwrap_or_default();
        self.hearing = if kind.starts_with("text/event-stream") {
            let reader = (
                Decoder::default(),
                Accumulator::new(flight.dialect),
                Proof::default(),
            );
            Hearing::Stream(Box::new(reader))
        } else {
            let length = text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
            Hearing::Body(Vec::new(), length)
        };
    }

    /// A piece of the answer's body, in order, before it is passed to the client.
    pub fn piece(&mut self, bytes: &Bytes) -> Heard {
        let whole = match &mut self.hearing {
            Hearing::Deaf => false,
            Hearing::Stream(reader) => {
                let (decoder, answer, proof) = &mut **reader;
                decoder.push(bytes);
                while let Some(event) = decoder.next_event() {
                    // An event that can not be read is the client's to judge.
                    let Ok(event) = event else { continue };
                    proof.read(&event.data);
                    let _ = answer.accept(&event);
                }
                answer.is_complete()
            }
            Hearing::Body(body, length) => {
                if body.len() + bytes.len() > LONGEST_ANSWER {
                    self.hearing = Hearing::Deaf;
                    return Heard::Part;
                }
                body.extend_from_slice(bytes);
                *length == Some(body.len())
            }
        };
        if whole { Heard::Whole } else { Heard::Part }
    }

    /// The answer has come whole. What was said is kept when this returns.
    pub async fn finished(mut self, now: Timestamp) -> Option<Generation> {
        let flight = self.flight.take()?;
        let (reply, proof) = match self.hearing {
            Hearing::Deaf => (None, Proof::default()),
            Hearing::Stream(reader) => (Some(reader.1.reply()), reader.2),
            Hearing::Body(body, _) => {
                let reply = Response::parse(flight.dialect, &body).map(|found| found.reply());
                let mut proof = Proof::default();
                proof.read(&String::from_utf8_lossy(&body));
                (reply.ok(), proof)
            }
        };
        let generation = reply.as_ref().map(|reply| Generation {
            model: flight.name.to_string(),
            answer_id: reply.id.clone(),
            stop: reply.stop.as_ref().map(word),
            usage: Some(reply.usage.clone()),
        });
        let inner = Arc::clone(&flight.inner);
        inner.landed(*flight, reply, proof, now).await;
        generation
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

/// What the provider says of the input beside the answer: whether a change of ours did harm.
#[derive(Debug, Default)]
struct Proof {
    /// The kinds of changes that it made to the input.
    transformed: Vec<String>,
    /// Why its cache was missed.
    missed: Option<String>,
}

impl Proof {
    /// Reads an answer, or an event of one.
    fn read(&mut self, json: &str) {
        if !json.contains("input_transformations") && !json.contains("cache_miss_reason") {
            return;
        }
        let Ok(value) = serde_json::from_str::<Value>(json) else {
            return;
        };
        let message = value.get("message").unwrap_or(&value);
        let listed = message.get("input_transformations");
        let kinds = listed.and_then(Value::as_array).into_iter().flatten();
        let kinds = kinds.filter_map(|change| change.get("type")?.as_str());
        self.transformed.extend(kinds.map(str::to_owned));
        let reason = message.pointer("/diagnostics/cache_miss_reason/type");
        if let Some(reason) = reason.and_then(Value::as_str) {
            self.missed = Some(reason.to_owned());
        }
    }
}

impl Inner {
    /// An answer has come whole.
    async fn landed(
        self: &Arc<Self>,
        mut flight: Flight,
        reply: Option<Reply>,
        proof: Proof,
        now: Timestamp,
    ) {
        self.hand_over(&mut flight.joined);
        let receipt = flight.joined.receipt.take();
        let shared = Arc::clone(&flight.joined.shared);
        let mut keep = flight.said(reply.as_ref());
        if let Some(turn) = keep.turns.first() {
            let of = flight.joined.compacts.unwrap_or(shared.id);
            let is_summary = flight.joined.compacts.is_some();
            self.remember(shared.tenant, (of, is_summary), turn.parts(), now)
                .await;
        }
        {
            let mut live = shared.lock();
            if let Some(reason) = proof.missed {
                self.parts.metrics.cache_missed(&reason);
                live.journal.note(now, Happened::Missed(reason));
            }
            for kind in &proof.transformed {
                self.parts.metrics.transformed(kind);
                live.journal.note(now, Happened::Transformed(kind.clone()));
            }
            if let Some(reply) = &reply {
                let supervisor = &live.supervisor;
                let alone = Alone::new(supervisor.machine.limits(), supervisor.overhead_tokens);
                let bill = Bill::of(&flight, reply, &alone);
                bill.report(&self.parts.metrics);
                money::add(&mut live.record.totals, &bill);
                self.was_taken(&flight, bill.input);
                if reply.stop == Some(Stop::WindowExceeded) {
                    self.learn_end(&flight, bill.input + bill.used.output, now);
                }
                let is_newest = live.flights.newest == flight.joined.number;
                if is_newest {
                    live.flights.answer = reply.id.as_deref().map(Box::from);
                }
                let as_shown =
                    self.parts.config.mode == Mode::On || flight.shown == Shown::default();
                if is_newest && as_shown && bill.input > Tokens::ZERO {
                    let input = bill.input;
                    let reported = bill.reported();
                    live.tell(Event::Usage { input, reported }, now);
                }
            }
            live.record.seen = now;
            keep.conversation = Some(live.to_record());
        }
        let size = keep.size();
        let work = keep.work();
        let written = self.writer.write_little(shared.tenant, work, size).await;
        let first = match receipt {
            Some(receipt) => receipt.kept().await,
            None => Ok(()),
        };
        let mut kept = first.and(written.kept().await);
        if matches!(kept, Err(StoreFailure::Store(HistoryError::UnknownNode(_)))) {
            // Somebody purged the conversation while it was in memory.
            kept = self.keep_whole(&flight, reply.as_ref(), now).await;
        }
        if let Err(failure) = &kept {
            self.not_kept(&shared, failure, now);
        }
    }

    /// Gives what a request brings to the store. The answer brings a turn that is written with it.
    pub(super) fn hand_over(&self, joined: &mut Joined) {
        if let Some(keep) = joined.pending.take() {
            let tenant = joined.shared.tenant;
            let size = keep.size();
            joined.receipt = Some(self.writer.write_soon(tenant, keep.work(), size));
        }
    }

    /// Keeps all of a conversation that the store has lost, the answer included.
    async fn keep_whole(
        &self,
        flight: &Flight,
        reply: Option<&Reply>,
        now: Timestamp,
    ) -> Result<(), StoreFailure> {
        let shared = &flight.joined.shared;
        let mut keep = flight.said(reply);
        if let Ok(request) = Request::parse(flight.dialect, &flight.arrival.body) {
            let mut whole = Keep::whole(&request, &shared.lock(), now);
            whole.turns.append(&mut keep.turns);
            whole.originals.append(&mut keep.originals);
            keep = whole;
        }
        let written = self.writer.write(shared.tenant, keep.work()).await;
        written.kept().await
    }

    /// The store failed: told, counted and noted, and the next request writes everything again.
    pub(super) fn not_kept(
        &self,
        shared: &super::live::Shared,
        failure: &StoreFailure,
        now: Timestamp,
    ) {
        let conversation = shared.id;
        tracing::warn!(%conversation, %failure, "not kept; the next request writes it again");
        self.parts.metrics.failed(crate::metrics::Failure::Keeping);
        let mut live = shared.lock();
        live.said.is_unkept = true;
        live.journal.note(now, Happened::NotKept);
    }
}
