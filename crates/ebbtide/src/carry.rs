//! Carries out effects: what is sent, stored and summarized.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use context::Turn;
use conversation::directory::{Found, Joined, Question, Read};
use conversation::homunculus::Preparation;
use conversation::rewrite::{Wants, own_compaction};
use conversation::words::Did;
use conversation::{
    Batch, Effect, Hold, Incoming, Input, Order, Rescue, Start, Stored, continuation,
};
use history::{HistoryError, Route, Store, Tenant};
use jiff::Timestamp;
use model::Made;
use wire::api::{Reply, Request};

use crate::engine::{Beside, Decided, Engine, Shared, as_it_came, ticket, written};
use crate::ticket::{Held, Next, Outgoing, Passage};
use crate::work::{Work, summary};

impl Engine {
    /// Finds or begins the conversation of a request.
    pub(crate) fn join(
        &self,
        incoming: &Incoming<'_>,
    ) -> Result<Option<Joined<Beside>>, HistoryError> {
        let mut search = self.directory.search(incoming);
        loop {
            match search.step() {
                Ok(joined) => return Ok(joined),
                Err(Question::Store(read)) => {
                    let found = self.found(incoming.tenant, &read);
                    search.tell(&read, found)?;
                }
                // Its turns, and whatever else is read of the request itself.
                Err(_) => {
                    incoming.turns();
                }
            }
        }
    }

    fn found(&self, tenant: Tenant, read: &Read<Beside>) -> Result<Found, HistoryError> {
        self.read(tenant, |store| read.from(store))
    }

    /// Reads from a tenant's store.
    pub(crate) fn read<T>(
        &self,
        tenant: Tenant,
        mut work: impl FnMut(&dyn Store) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        let mut found = None;
        self.store.read(tenant, &mut |store| {
            found = Some(work(store)?);
            Ok(())
        })?;
        found.ok_or_else(|| HistoryError::Engine {
            what: "it did not read".to_owned(),
        })
    }

    pub(crate) fn write(&self, tenant: Tenant, batch: &Batch) -> Result<(), HistoryError> {
        self.store.write(tenant, &mut |store| batch.write(store))
    }

    /// Asks the conversation about a request that is to go out.
    pub(crate) fn advance(
        &self,
        incoming: &Incoming<'_>,
        mut passage: Box<Passage>,
        now: Timestamp,
    ) -> Next {
        passage.seen = now;
        let decided = self.decided(incoming, &mut passage, (None, now));
        let sending = match decided {
            Decided::Sent(sending) => *sending,
            Decided::Held(order, until) => {
                let work = order.map(|order| self.begun(incoming, &passage.shared, (order, now)));
                return Next::Hold(Held {
                    work,
                    until,
                    passage,
                });
            }
            Decided::Overtaken => {
                return as_it_came(passage.body.clone(), Did::Kept, ticket(passage));
            }
        };
        let (tokens, did) = (Some(sending.tokens), sending.did.clone());
        match written(incoming, &passage, sending) {
            Ok((body, betas)) => Next::Send(Outgoing {
                body,
                betas,
                did,
                tokens,
                ticket: ticket(passage),
            }),
            Err(fault) => {
                let input = Input::NotRewritten(fault.to_string());
                passage.shared.lock().on(input, now);
                as_it_came(passage.body.clone(), Did::Failed, ticket(passage))
            }
        }
    }

    /// Asks until the request is let go, or waits for the caller.
    pub(crate) fn decided(
        &self,
        incoming: &Incoming<'_>,
        passage: &mut Passage,
        (mut rescue, now): (Option<&mut Rescue>, Timestamp),
    ) -> Decided {
        let newest = passage.flight.newest().map(Turn::parts);
        let own = own_compaction("", incoming.request, newest);
        // A request with a compaction from some size on is a request like any other.
        let own = own.filter(|own| rescue.is_none() && !matches!(own.wants, Wants::Later(_)));
        loop {
            let flight = &mut passage.flight;
            let input = match (&mut rescue, &own) {
                (Some(rescue), _) => Input::Rescue(incoming, flight, rescue),
                (None, Some(own)) => Input::Yield(incoming, own, flight),
                (None, None) => Input::Request(incoming, flight),
            };
            let effects = passage.shared.lock().on(input, now);
            let effects = self.settle(passage, effects, now);
            if let Some(decided) = self.carry_out(incoming, passage, (effects, now)) {
                return decided;
            }
        }
    }

    /// Carries out what was decided about a request. `None`: it has to be asked about again.
    fn carry_out(
        &self,
        incoming: &Incoming<'_>,
        passage: &mut Passage,
        (effects, now): (Vec<Effect>, Timestamp),
    ) -> Option<Decided> {
        let (mut decided, mut at_once, mut order) = (None, false, None);
        for effect in effects {
            match effect {
                Effect::Store(batch) => self.keep(passage, &batch, now),
                Effect::Send(sending) => decided = Some(Decided::Sent(Box::new(sending))),
                Effect::Overtaken => decided = Some(Decided::Overtaken),
                Effect::Hold(Hold::OnTheSpot) => at_once = true,
                Effect::Hold(Hold::Until(until)) => {
                    decided = Some(Decided::Held(None, Some(until)))
                }
                Effect::Hold(Hold::Ready) => decided = Some(Decided::Held(None, None)),
                Effect::Prepare(it, _) if it.route == Route::Extractive => {
                    self.keep_pending(passage, now);
                    let work = self.begun(incoming, &passage.shared, (it, now));
                    self.extract(work, now);
                }
                Effect::Prepare(it, Start::WithAnswer) => passage.prepare = Some(it),
                Effect::Prepare(it, Start::Now) => order = Some(it),
                _ => {}
            }
        }
        if at_once || matches!(decided, Some(Decided::Held(..))) {
            // The request waits for a summary that was to begin with its answer.
            let noted = passage.prepare.take();
            let wanted = |it: &Preparation| passage.shared.lock().is_preparing(it.job);
            order = order.or(noted.filter(wanted));
        }
        if order.is_some() {
            self.keep_pending(passage, now);
        }
        match (decided, at_once) {
            (Some(Decided::Held(_, until)), _) => Some(Decided::Held(order, until)),
            (None, true) if order.is_some() => Some(Decided::Held(order, None)),
            (None, true) => None,
            // Neither sent nor held cannot be; the caller's own bytes are always right.
            (decided, _) => Some(decided.unwrap_or(Decided::Overtaken)),
        }
    }

    /// Stores what a request brings, before a summary of it is.
    fn keep_pending(&self, passage: &mut Passage, now: Timestamp) {
        if let Some(batch) = passage.flight.take_pending() {
            self.keep(passage, &batch, now);
        }
    }

    fn keep(&self, passage: &Passage, batch: &Batch, now: Timestamp) {
        if self.write(passage.shared.tenant, batch).is_err() {
            // It is right in memory; only a restart would not know of it.
            let mut conversation = passage.shared.lock();
            conversation.on(Input::NotStored, now);
            conversation.on(Input::Unkept, now);
        }
    }

    /// Carries out the effects that concern only this process; the others.
    pub(crate) fn settle(
        &self,
        passage: &Passage,
        effects: Vec<Effect>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let key = self.key(passage);
        let learned = |effect: Effect| match effect {
            Effect::Learn(lesson) => {
                self.directory.commons.learn(key, lesson, now);
                None
            }
            other => Some(other),
        };
        effects.into_iter().filter_map(learned).collect()
    }

    /// The key of the model of a request.
    fn key(&self, passage: &Passage) -> conversation::identity::Key {
        let name = passage.flight.model_name();
        let commons = &self.directory.commons;
        commons.model_key(passage.client.tenant, "", name)
    }

    /// The work of a preparation that begins now.
    pub(crate) fn begun(
        &self,
        incoming: &Incoming<'_>,
        shared: &Arc<Shared>,
        (order, now): (Preparation, Timestamp),
    ) -> Work {
        let commons = &self.directory.commons;
        let key = commons.model_key(incoming.tenant, "", &incoming.name);
        let mut conversation = shared.lock();
        conversation.on(Input::Preparing(&order), now);
        // A preparation that takes too long teaches something before it ends.
        commons.learn_duration(key, conversation.writing());
        drop(conversation);
        let turns = incoming.turns();
        Work::new(shared, order, turns, (&incoming.model, &incoming.name, key))
    }

    /// The work that begins with the answer to a request.
    pub(crate) fn work(
        &self,
        passage: &Passage,
        order: Preparation,
        now: Timestamp,
    ) -> Option<Work> {
        let client = &passage.client;
        let commons = &self.directory.commons;
        let read = commons.read(client.tenant, client.dialect, &passage.body);
        let (request, elements) = read?;
        let incoming = commons.incoming(&request, elements, client.origin(), now);
        Some(self.begun(&incoming, &passage.shared, (order, now)))
    }

    /// Stores a summary and gives it to its conversation.
    pub(crate) fn deliver(&self, work: Work, made: Made, fallen: Option<String>, now: Timestamp) {
        let summary = summary(&work.order, made, fallen, now);
        let Work {
            shared,
            preparation: order,
            key,
            ..
        } = work;
        // Before it can be shown: a summary that is shown must survive a restart.
        let stored = match self.write(shared.tenant, &summary.batch(&order)) {
            Ok(()) => Stored::Yes,
            Err(_) => Stored::No,
        };
        let commons = &self.directory.commons;
        let mut conversation = shared.lock();
        // Another conversation may have learned more since.
        conversation.on(Input::Learned(commons.duration(key)), now);
        conversation.on(Input::Prepared(&order, summary, stored), now);
        commons.learn_duration(key, conversation.writing());
        if shared.beside.compacts.swap(false, Ordering::Relaxed) {
            conversation.on(Input::Order(Order::Swap), now);
        }
    }

    /// Stores all of a conversation that the store has lost, the answer included.
    pub(crate) fn store_whole(
        &self,
        passage: &Passage,
        reply: Option<&Reply>,
        now: Timestamp,
    ) -> Result<(), HistoryError> {
        let mut batch = passage.flight.answer(reply);
        if let Ok(request) = Request::parse(passage.client.dialect, &passage.body) {
            let mut whole = passage.shared.lock().whole(&request, now);
            whole.add(batch);
            batch = whole;
        }
        self.write(passage.shared.tenant, &batch)
    }

    /// Remembers a client's own compaction by its answer, so that what goes on from it is recognized.
    pub(crate) fn remember(
        &self,
        passage: &Passage,
        reply: Option<&Reply>,
        now: Timestamp,
    ) -> Result<(), HistoryError> {
        let parts = reply.map(|reply| reply.draft().parts).unwrap_or_default();
        let (tenant, keyed) = (passage.shared.tenant, self.directory.commons.keyed());
        let of = passage.flight.summarises(passage.shared.id);
        for answer in continuation::answers(keyed, of, &parts, now) {
            self.directory.answers.add(tenant, [answer], false);
            self.store.write(tenant, &mut |store| answer.store(store))?;
        }
        Ok(())
    }
}
