//! The door: what happens goes in, what has to be done comes out.

use context::pin::Origin;
use history::{Conversation as Record, ConversationId};
use jiff::Timestamp;

use crate::batch::Batch;
use crate::conversation::Conversation;
use crate::effect::{Effect, Input, NotPinned};
use crate::homunculus::{Extent, JobId, Limits, Path, StopReason, Writing};
use crate::identity::{Known, Uncounted, compare};
use crate::incoming::Incoming;
use crate::journal::{Happened, Journal, Sent};
use crate::pins::PinBook;
use crate::rewrite::ClientCompaction;
use crate::view::View;

impl Conversation {
    /// The state of a conversation whose requests go out as they came.
    pub const OBSERVING: &str = "observing";

    /// Takes what happened and gives what has to be done, in order.
    pub fn on(&mut self, input: Input<'_, '_>, now: Timestamp) -> Vec<Effect> {
        let mut effects = match input {
            Input::Request(incoming, flight) => self.ask(incoming, flight, now),
            Input::Yield(incoming, own, flight) => self.yield_to(incoming, (own, flight), now),
            Input::ClientCompacted(own) => {
                vec![self.was_compacted(own, now)]
            }
            Input::SealRefused(why) => {
                self.journal.note(now, Happened::SealRefused(why));
                Vec::new()
            }
            Input::NotRewritten(why) => {
                self.journal.note(now, Happened::NotRewritten(why));
                Vec::new()
            }
            Input::Unheard => {
                self.journal.note(now, Happened::Unheard);
                Vec::new()
            }
            Input::Refused(flight, status, failure) => self.refused(flight, (status, failure), now),
            Input::Rescue(incoming, flight, rescue) => self.rescue(incoming, (flight, rescue), now),
            Input::Answered(flight, reply, proof) => self.answered((flight, reply), proof, now),
            Input::CutOff(flight, reply) => self.cut_off(flight, reply, now),
            Input::Served(served) => {
                self.journal.served(served);
                Vec::new()
            }
            Input::Landed(flight) => {
                self.flights.open = self.flights.open.saturating_sub(1);
                // The next request that is answered brings it again.
                self.said.is_unkept |= flight.pending.is_some();
                Vec::new()
            }
            Input::Preparing(order) => self.preparing(order, now),
            Input::Prepared(order, summary, stored) => {
                self.prepared(order, (summary, stored), now);
                Vec::new()
            }
            Input::Unprepared(order, why) => {
                self.unprepared(order, &why, now);
                Vec::new()
            }
            Input::Learned(writing) => {
                self.supervisor.machine.set_writing(writing);
                Vec::new()
            }
            Input::Order(order) => self.order(order),
            Input::Pin(text, origin) => vec![self.pin(text, origin, now)],
            Input::Unpin(id) => vec![Effect::Unpinned(self.pins.remove(id))],
            Input::Reword(mark, text) => self.reword(mark, text, now),
            Input::Overlay(overlay) => {
                self.take_overlay(overlay);
                Vec::new()
            }
            Input::Unkept => {
                // Only memory has these texts, so `rest` must not drop them.
                self.is_overlay_unkept = true;
                Vec::new()
            }
            Input::Damaged => {
                self.said.is_unkept = true;
                Vec::new()
            }
            Input::NotStored => {
                // The store takes no turn whose parent it lacks, so the next request writes the whole conversation.
                self.said.is_unkept = true;
                self.journal.note(now, Happened::NotKept);
                Vec::new()
            }
            Input::Rest => {
                self.rest();
                let written = self.journal.take_written().into_iter();
                let batch = |text| Batch {
                    journal: Some((self.record.id, text)),
                    ..Batch::default()
                };
                written.map(batch).map(Effect::Store).collect()
            }
        };
        // Effects that came up on the way go first: a swap is told before the request that shows it.
        if !self.outbox.is_empty() {
            let mut all = std::mem::take(&mut self.outbox);
            all.append(&mut effects);
            return all;
        }
        effects
    }

    /// The client's compaction was answered: what it goes on from is stored with all turns that it covers.
    fn was_compacted(&mut self, own: &ClientCompaction, now: Timestamp) -> Effect {
        let happened = Happened::OwnCompaction(own.client, true);
        self.journal.note(now, happened);
        let covers = own.covers.min(self.len());
        self.record.head = self.id_before(covers);
        self.record.turns = covers as u64;
        Effect::Store(Batch {
            conversation: Some(self.to_record()),
            ..Batch::default()
        })
    }

    /// Sets a pin from outside.
    fn pin(&mut self, text: &str, origin: Origin, now: Timestamp) -> Effect {
        let counter = self.supervisor.model.counter();
        self.limit_pins();
        match self.pins.set_new(text, origin, &counter) {
            Err(why) => Effect::NotPinned(why),
            Ok(pin) if self.keeps(&pin, now) => Effect::Pinned(pin),
            Ok(_) => Effect::NotPinned(NotPinned::Unwanted),
        }
    }

    /// The view of a request that is only counted. Changes nothing. `None` where the request does not
    /// belong here, or would be sent as it came.
    #[must_use]
    pub fn counted(&self, incoming: &Incoming<'_>) -> Option<View> {
        if self.dialect != incoming.dialect() {
            return None;
        }
        let known = Known {
            keys: &self.said.keys,
            ids: self.said.outline.ids(),
        };
        let common = compare(incoming.request, &incoming.keys, known, &Uncounted).common;
        let shown = self.shown();
        let reaches = |id| self.place_of(id) <= common;
        let standing = self.record.standing;
        let holds = shown.from < common && reaches(standing.cleared) && reaches(standing.stripped);
        let view = holds.then(|| self.view(shown, common))?;
        (!view.is_plain()).then_some(view)
    }

    /// Its id.
    #[must_use]
    pub const fn id(&self) -> ConversationId {
        self.record.id
    }

    /// The row that the store holds, as of the last change.
    #[must_use]
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// The journal of events.
    #[must_use]
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Its pins.
    #[must_use]
    pub const fn pins(&self) -> &PinBook {
        &self.pins
    }

    /// The extent of its view.
    #[must_use]
    pub const fn shown(&self) -> Extent {
        self.supervisor.machine.shown()
    }

    /// Why compaction has stopped, where it has.
    #[must_use]
    pub const fn stopped(&self) -> Option<StopReason> {
        self.supervisor.machine.stopped()
    }

    /// Limits that every strategy is held to.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        self.supervisor.machine.limits()
    }

    /// The share of the window at which its strategy begins to act.
    #[must_use]
    pub const fn soft(&self) -> f64 {
        self.supervisor.soft
    }

    /// The time that its summaries take, as learned so far.
    #[must_use]
    pub const fn writing(&self) -> Writing {
        self.supervisor.machine.writing()
    }

    /// Returns true if this summary is still wanted.
    #[must_use]
    pub fn is_preparing(&self, job: JobId) -> bool {
        self.supervisor.machine.preparing() == Some(job)
    }

    /// The tokens of its instructions and tools.
    #[must_use]
    pub const fn overhead(&self) -> context::Tokens {
        self.supervisor.overhead_tokens
    }

    /// Returns true if nothing is changed: what the supervisor decides is only noted.
    #[must_use]
    pub fn observes(&self) -> bool {
        !self.terms.is_on()
    }

    /// The view that was sent last.
    #[must_use]
    pub fn last_sent(&self) -> context::Tokens {
        self.supervisor.machine.sent().all()
    }

    /// The newest request in the journal.
    #[must_use]
    pub fn last_request(&self) -> Option<Sent> {
        self.journal.last()
    }

    /// The summary that is ready.
    #[must_use]
    pub const fn ready_mark(&self) -> Option<history::MarkId> {
        self.supervisor.machine.ready()
    }

    /// Returns true if a swap was taken back and can be shown again.
    #[must_use]
    pub const fn may_redo(&self) -> bool {
        self.supervisor.machine.may_redo()
    }

    /// The turns of the newest request, by id.
    #[must_use]
    pub fn turn_ids(&self) -> &[context::TurnId] {
        self.said.outline.ids()
    }

    /// The path of the newest request.
    #[must_use]
    pub fn whole_path(&self) -> Path<'_> {
        self.path(self.len())
    }

    /// The dialect of its client.
    #[must_use]
    pub const fn dialect(&self) -> wire::api::Dialect {
        self.dialect
    }

    /// The links that lead to it.
    #[must_use]
    pub fn hints(&self) -> &[u64] {
        &self.said.hints
    }

    /// Replaces the links that lead to it; the old ones.
    pub fn set_hints(&mut self, hints: &[u64]) -> Vec<u64> {
        std::mem::replace(&mut self.said.hints, hints.to_vec())
    }

    /// All of it, for a store that has lost it, with the answer to its newest request.
    #[must_use]
    pub fn whole(&self, request: &wire::api::Request<'_>, now: Timestamp) -> crate::Batch {
        crate::Batch::whole(request, self, now)
    }

    /// The state of the next summary, in one word: `idle`, `preparing`, `ready`, `backing-off`,
    /// `stopped`; in mode observe, `observing`.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> &'static str {
        let machine = &self.supervisor.machine;
        if self.observes() {
            Self::OBSERVING
        } else if machine.stopped().is_some() {
            "stopped"
        } else if machine.preparing().is_some() {
            "preparing"
        } else if machine.ready().is_some() {
            "ready"
        } else if machine.backing_off().is_some_and(|until| now < until) {
            "backing-off"
        } else {
            "idle"
        }
    }
}
