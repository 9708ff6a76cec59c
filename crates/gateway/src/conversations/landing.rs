//! The answers to requests: brought to their conversations, and stored.

use std::sync::Arc;

use ::conversation::{Effect, Input, Proof, Unmade};
use history::HistoryError;
use jiff::Timestamp;
use wire::api::{Reply, Request};

use super::Clock;
use super::calls::Calls;
use super::continuations::Continuations;
use super::jobs::Jobs;
use super::lineage::Earlier;
use super::local::Local;
use super::storing::Storing;
use super::ticket::Passage;
use super::writer::{StoreFailure, Writer, work};

/// Takes the answers to requests.
pub(super) struct Landing {
    pub(super) clock: Clock,
    pub(super) writer: Writer,
    pub(super) local: Arc<Local>,
    pub(super) storing: Arc<Storing>,
    /// The summaries that begin with an answer.
    pub(super) jobs: Arc<Jobs>,
    pub(super) calls: Arc<Calls>,
    pub(super) earlier: Arc<Earlier>,
    pub(super) continuations: Arc<Continuations>,
}

impl Landing {
    /// The answer has begun: what the request brought is stored, and its summary is made.
    pub(super) fn begins(&self, passage: &mut Passage) {
        passage.shared.was_answered();
        passage.hand_over();
        if let Some((order, _, Some(source))) = passage.prepare.take() {
            self.jobs.prepare(&passage.shared, order, source);
        }
    }

    /// The answer has come whole.
    pub(super) async fn landed(
        &self,
        mut passage: Passage,
        (reply, proof): (Option<Reply>, Proof),
        now: Timestamp,
    ) {
        passage.hand_over();
        let receipt = passage.receipt.take();
        let shared = Arc::clone(&passage.shared);
        let mut links = None;
        if let Some(reply) = &reply {
            let parts = reply.draft().parts;
            self.calls.hear((shared.tenant, shared.id), &parts, now);
            let of = (&*shared, &mut passage.naming);
            links = self.earlier.remember(of, reply, now);
            if !parts.is_empty() {
                let of = passage.flight.summarises(shared.id);
                let said = (&*parts, now);
                self.continuations.remember(shared.tenant, of, said).await;
            }
        }
        let input = Input::Answered(&passage.flight, reply.as_ref(), &proof);
        let effects = shared.lock().on(input, now);
        let mut written = None;
        for effect in self.local.settle(&shared, passage.model_key(), effects) {
            if let Effect::Store(batch) = effect {
                let size = batch.size();
                let writer = &self.writer;
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
            links.stored().await;
        }
        if matches!(kept, Err(StoreFailure::Store(HistoryError::UnknownNode(_)))) {
            // Somebody purged the conversation while it was in memory.
            kept = self.store_whole(&passage, reply.as_ref(), now).await;
        }
        if let Err(failure) = &kept {
            self.local.not_stored(&shared, failure, now);
        }
    }

    /// Stores all of a conversation that the store has lost, the answer included.
    async fn store_whole(
        &self,
        passage: &Passage,
        reply: Option<&Reply>,
        now: Timestamp,
    ) -> Result<(), StoreFailure> {
        let mut batch = passage.flight.answer(reply);
        if let Ok(request) = Request::parse(passage.flight.dialect(), &passage.arrival.body) {
            let mut whole = passage.shared.lock().whole(&request, now);
            whole.add(batch);
            batch = whole;
        }
        let written = self.writer.write(passage.shared.tenant, work(batch)).await;
        written.kept().await
    }

    /// The answer was cut off, and is paid for as far as it came.
    pub(super) fn cut_off(&self, mut passage: Passage, reply: &Reply) {
        // Before the conversation's row, which stands on what the request brings.
        passage.hand_over();
        let (shared, now) = (Arc::clone(&passage.shared), (self.clock)());
        let cut = Input::CutOff(&passage.flight, reply);
        let effects = shared.lock().on(cut, now);
        for effect in self.local.settle(&shared, passage.model_key(), effects) {
            if let Effect::Store(batch) = effect {
                let size = batch.size();
                // If it is lost, the next answer brings it again.
                drop(self.writer.write_soon(shared.tenant, work(batch), size));
            }
        }
    }

    /// The request has landed, or its client went away.
    pub(super) fn end(&self, passage: &mut Passage) {
        let now = (self.clock)();
        let mut conversation = passage.shared.lock();
        conversation.on(Input::Landed(&passage.flight), now);
        // A summary of a request that was not answered is not made.
        if let Some((order, ..)) = passage.prepare.take() {
            let why = Unmade::Abandoned;
            let effects = conversation.on(Input::Unprepared(&order, why), now);
            drop(conversation);
            self.local
                .settle(&passage.shared, passage.model_key(), effects);
            passage.shared.beside.settled.notify_waiters();
        }
    }
}
