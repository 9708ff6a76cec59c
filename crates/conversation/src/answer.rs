//! Hears an answer and a finished summary.

use std::sync::Arc;

use context::{Consumption, Tokens};
use history::Mark;
use jiff::Timestamp;
use wire::api::{Reply, Stop};

use crate::batch::Batch;
use crate::bill::{self, Bill, Client};
use crate::commons::Found;
use crate::conversation::Conversation;
use crate::effect::{Effect, Lesson, Notice, Stored, Summary, Unmade};
use crate::flight::Flight;
use crate::homunculus::{CacheState, Event, Extent, Preparation};
use crate::journal::Happened;
use crate::ledger::{self, Beside};
use crate::proof::Proof;
use crate::terms::Mode;

/// The tokens of a message's frame.
pub(crate) const FRAME: Tokens = Tokens::new(4);

/// The smallest window that is believed.
const LEAST: Tokens = Tokens::new(1_000);

impl Summary {
    /// The mark that a summary becomes.
    #[must_use]
    pub fn mark(&self, order: &Preparation) -> Mark {
        Mark {
            node: order.node,
            made_from: order.made_from,
            summary: self.text.clone(),
            tokens: self.tokens + FRAME,
            route: self.route,
            at: self.at,
        }
    }

    /// The texts that are told when it is first shown.
    pub(crate) fn told(&self) -> Beside {
        Beside {
            ledger: ledger::text(&self.beside, &self.ledger),
            lost: self.lost.join("\n").into(),
        }
    }

    /// The batch that stores a summary. It is written before the conversation hears of the summary.
    #[must_use]
    pub fn batch(&self, order: &Preparation) -> Batch {
        let mark = self.mark(order);
        Batch {
            texts: self.told().chunks(&mark),
            marks: vec![mark],
            ..Batch::default()
        }
    }
}

impl Conversation {
    /// The provider answered: what it says of the input and the cost, and what has to be stored.
    pub(crate) fn answered(
        &mut self,
        (flight, reply): (&Flight, Option<&Reply>),
        proof: &Proof,
        now: Timestamp,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(reason) = &proof.missed {
            self.tell_outside(Notice::CacheMissed(reason.clone()));
            self.journal.note(now, Happened::Missed(reason.clone()));
        }
        for kind in &proof.transformed {
            self.tell_outside(Notice::Transformed(kind.clone()));
            self.journal.note(now, Happened::Transformed(kind.clone()));
        }
        if let Some(reply) = reply {
            effects.extend(self.account(flight, reply, now));
        }
        self.record.seen = now;
        let mut batch = flight.answer(reply);
        batch.conversation = Some(self.to_record());
        effects.push(Effect::Store(batch));
        effects
    }

    /// An answer was cut off after so much of it.
    pub(crate) fn cut_off(
        &mut self,
        flight: &Flight,
        reply: &Reply,
        now: Timestamp,
    ) -> Vec<Effect> {
        // The provider keeps no answer that the next request could be compared with.
        let answer = self.flights.answer.clone();
        let mut reply = reply.clone();
        let counter = flight.model().counter();
        let heard = reply.draft().after(flight.turns.head, &counter).tokens();
        let counts = &mut reply.usage.counts;
        counts.output = counts.output.max(heard);
        let mut effects = self.account(flight, &reply, now);
        self.flights.answer = answer;
        effects.push(Effect::Store(Batch {
            conversation: Some(self.to_record()),
            ..Batch::default()
        }));
        effects
    }

    fn account(&mut self, flight: &Flight, reply: &Reply, now: Timestamp) -> Vec<Effect> {
        if !bill::is_charged(reply) {
            return Vec::new();
        }
        let limits = self.supervisor.machine.limits();
        let idle = flight.after.map(|seen| now.duration_since(seen));
        let client = Client {
            hard: limits.hard_tokens(),
            summary: self.flights.alone.summary.unwrap_or(limits.summary),
            beside: self.supervisor.overhead_tokens,
            caches: !self.breakpoints.are_ours(),
            cacheable: limits.prices.cache_minimum,
            warm: idle.is_some_and(|idle| limits.prices.cache_after(idle) == CacheState::Warm),
        };
        let mut bill = Bill::of(flight, reply, &client, &mut self.flights.alone);
        if !self.terms.is_on() {
            // The gateway changed nothing, so the client would have paid the same without it.
            bill.cost_without = bill.cost;
        }
        self.tell_outside(Notice::Billed(bill));
        bill::add(&mut self.record.totals, &bill);
        self.learn_cache(&bill.used);
        let mut effects = vec![Effect::Learn(Lesson::Accepted(bill.input))];
        if reply.stop == Some(Stop::WindowExceeded) {
            effects.push(Effect::Learn(Lesson::Window(Found {
                tokens: (bill.input + bill.used.output).max(LEAST),
                is_stated: true,
            })));
        }
        if self.flights.newest != flight.turns.number {
            return effects;
        }
        self.flights.answer = reply.id.as_deref().map(Box::from);
        if bill.input > Tokens::ZERO {
            let (input, reported) = (self.count_whole(flight, bill.input), bill.reported());
            self.tell(Event::Usage { input, reported }, now);
        }
        effects
    }

    /// Learns the lifetime of the client's cache entries, and their price, from what it paid for.
    fn learn_cache(&mut self, used: &Consumption) {
        if used.cache_write + used.cache_write_long > Tokens::ZERO {
            self.cache_is_long(used.cache_write_long > used.cache_write);
        }
    }

    /// Reckons with cache entries of the longer kind, or of the usual one.
    pub(crate) fn cache_is_long(&mut self, is_long: bool) {
        if is_long != self.supervisor.caches_long {
            self.supervisor.caches_long = is_long;
            let model = &self.supervisor.model;
            let limits = self.limits_in(self.supervisor.machine.limits().window, model);
            self.supervisor.machine.set_limits(limits);
        }
    }

    /// Learns from the provider's count of a request how large the whole conversation is, and returns the size
    /// of the view: in mode observe another was counted.
    fn count_whole(&mut self, flight: &Flight, input: Tokens) -> Tokens {
        let shown = match self.terms.mode {
            Mode::On => flight.shown,
            Mode::Observe => Extent::default(),
        };
        if flight.compacts.is_none() {
            self.said
                .whole
                .report(shown, input.saturating_sub(flight.margin.own));
        }
        match shown == flight.shown {
            true => input,
            false => self
                .said
                .whole
                .view(&flight.shown, &self.path(flight.turns.len))
                .all(),
        }
    }

    /// A summary has begun to be made. Where the supervisor abandoned it meanwhile, so is this.
    pub(crate) fn preparing(&mut self, order: &Preparation, now: Timestamp) -> Vec<Effect> {
        if self.supervisor.machine.preparing() != Some(order.job) {
            return vec![Effect::Abandon(order.job)];
        }
        self.journal.note(
            now,
            match self.terms.mode {
                Mode::On => Happened::Preparing(order.route, order.cut),
                Mode::Observe => Happened::WouldPrepare(order.cut),
            },
        );
        // It may replace one that took too long.
        match self.supervisor.job.replace(*order) {
            Some(old) => vec![Effect::Abandon(old.job)],
            None => Vec::new(),
        }
    }

    /// A summary was made.
    pub(crate) fn prepared(
        &mut self,
        order: &Preparation,
        (summary, stored): (Summary, Stored),
        now: Timestamp,
    ) {
        self.is_overlay_unkept |= stored == Stored::No;
        self.end_job(order);
        for spent in &summary.spent {
            bill::add_summary(&mut self.record.totals, spent);
            self.tell_outside(Notice::Spent(spent.cost));
            self.flights.alone.summary = Some(spent.used.output);
        }
        for (route, code) in &summary.fallen {
            let happened = Happened::Fell(*route, code.clone());
            self.journal.note(now, happened);
        }
        let mark = summary.mark(order);
        let event = Event::Prepared {
            job: order.job,
            mark: mark.id(),
            tokens: mark.tokens,
        };
        self.tell(event, now);
        if self.supervisor.machine.ready() == Some(mark.id()) {
            if self.terms.is_on() {
                let happened = Happened::Prepared(mark.route, mark.tokens);
                self.journal.note(now, happened);
            }
            let overlay = self.overlay.get_or_insert_default();
            overlay.ready = Some(Arc::new(mark));
            overlay.beside = summary.told();
        }
    }

    /// A summary was not made.
    pub(crate) fn unprepared(&mut self, order: &Preparation, why: &Unmade, now: Timestamp) {
        self.end_job(order);
        self.tell(Event::Failed { job: order.job }, now);
        if let Unmade::Failed(why) = why {
            let happened = Happened::PreparationFailed(why.clone());
            self.journal.note(now, happened);
        }
    }

    fn end_job(&mut self, order: &Preparation) {
        self.supervisor
            .job
            .take_if(|running| running.job == order.job);
    }
}
