//! Clients that compact: they are answered from the summary that is at hand.

use std::sync::Arc;

use ::conversation::client_compaction::{Answered, AtHand};
use ::conversation::directory::Directory;
use ::conversation::rewrite::{ClientCompaction, Wants};
use ::conversation::words::Did;
use ::conversation::{Incoming, Input};
use context::Part;
use history::Tenant;
use jiff::Timestamp;

use super::asking::Asking;
use super::continuations::Continuations;
use super::exchange::tell;
use super::lineage::Earlier;
use super::protocol::{Due, Speaking};
use super::running::{Running, Shared};
use super::storing::Storing;
use super::ticket::Passage;
use super::{Outgoing, Reading, Ticket, Verdict};

/// Answers clients that compact.
pub(super) struct Compacting {
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) reading: Arc<Reading>,
    pub(super) speaking: Arc<Speaking>,
    pub(super) continuations: Arc<Continuations>,
    pub(super) asking: Arc<Asking>,
    pub(super) earlier: Arc<Earlier>,
    pub(super) storing: Arc<Storing>,
}

impl Compacting {
    /// The answer to a client that compacts: from the summary that is ready where that is enough, else one that is made
    /// at once where its provider does not know the dialect. `None` where the provider is to be asked.
    pub(super) async fn answer(
        &self,
        incoming: &Incoming<'_>,
        (passage, own): (&Passage, &ClientCompaction),
    ) -> Option<Answered> {
        let ready = passage.shared.lock().at_hand(own);
        if let Some(ready) = ready
            && let Some(answered) = self.answer_from(ready, incoming, own).await
        {
            return Some(answered);
        }
        let asks_for_seal = matches!(own.wants, Wants::Sealed | Wants::Listed);
        let to = (incoming.tenant, &*passage.arrival.url);
        let name = passage.flight.model_name().to_string();
        let model = (incoming.dialect(), name.as_str());
        let providers = &self.speaking.providers;
        if !asks_for_seal || providers.knows_compaction(to, model, incoming.now) {
            return None;
        }
        let at_once = passage.shared.lock().at_once()?;
        self.answer_from(at_once, incoming, own).await
    }

    /// The answer from what is at hand. It summarizes the newer turns, which may take milliseconds.
    async fn answer_from(
        &self,
        at_hand: AtHand,
        incoming: &Incoming<'_>,
        own: &ClientCompaction,
    ) -> Option<Answered> {
        let continuations = &self.continuations;
        let at_hand = continuations.with_originals(at_hand, incoming, own).await;
        let bytes = incoming.request.body().len();
        let seals = self.speaking.seals(incoming.tenant);
        let answer = || at_hand.answer(incoming, (own, &seals), incoming.now);
        self.reading.of(bytes, answer).await
    }

    /// A client that compacts is answered.
    pub(super) async fn answered(
        &self,
        incoming: &Incoming<'_>,
        (mut passage, answered): (Passage, Answered),
        own: &ClientCompaction,
    ) -> Verdict {
        let (shared, now) = (Arc::clone(&passage.shared), incoming.now);
        shared.was_answered();
        passage.hand_over();
        self.remember(incoming.tenant, &shared, (answered.parts, now))
            .await;
        let effects = shared.lock().on(Input::ClientCompacted(own), now);
        self.asking.carry_out(&mut passage, effects).await;
        let mut direct = answered.direct;
        let of = (&*passage.shared, &mut passage.naming);
        let answer = (&direct, incoming.dialect());
        if let Some(kept) = self.earlier.remember_own(of, answer, now) {
            self.storing.in_time(kept.stored()).await;
        }
        direct.conversation = Some(shared.id);
        Verdict::Answer(direct)
    }

    /// The client wants a compaction from some size on, and that is reached.
    pub(super) async fn compacts(
        &self,
        due: Due,
        (mut outgoing, mut ticket): (Outgoing, Ticket),
        now: Timestamp,
    ) -> Verdict {
        let Some(passage) = ticket.passage() else {
            return Verdict::Send(outgoing, ticket);
        };
        let (arrival, dialect) = (passage.arrival.clone(), passage.flight.dialect());
        let commons = &self.directory.commons;
        let Some((request, elements)) = commons.read(arrival.tenant, dialect, &arrival.body) else {
            return Verdict::Send(outgoing, ticket);
        };
        let incoming = commons.incoming(&request, elements, arrival.origin(), now);
        let own = ClientCompaction {
            client: dialect.facts().compaction.client,
            covers: request.len(),
            wants: Wants::Later(Some(due.from)),
        };
        let at_hand = {
            let conversation = passage.shared.lock();
            conversation
                .at_hand(&own)
                .or_else(|| conversation.at_once())
        };
        let at_hand = match at_hand {
            Some(at_hand) => Some(
                self.continuations
                    .with_originals(at_hand, &incoming, &own)
                    .await,
            ),
            None => None,
        };
        let (seals, bytes) = (self.speaking.seals(arrival.tenant), arrival.body.len());
        if due.pauses {
            let answer = || at_hand?.answer(&incoming, (&own, &seals), now);
            let answered = self.reading.of(bytes, answer).await;
            return match (answered, ticket.take_passage()) {
                (Some(answered), Some(passage)) => {
                    let mut verdict = self.answered(&incoming, (*passage, answered), &own).await;
                    verdict.tell(&ticket.told);
                    verdict
                }
                (_, passage) => Verdict::Send(outgoing, Ticket::again(passage)),
            };
        }
        let piece = || at_hand?.piece(&incoming, (&own, &seals), now);
        let made = self.reading.of(bytes, piece).await;
        if let Some((piece, sealed)) = made {
            let shared = Arc::clone(&passage.shared);
            let parts = sealed.parts();
            self.remember(arrival.tenant, &shared, (parts, now)).await;
            shared.lock().on(Input::ClientCompacted(&own), now);
            outgoing.prefix = Some(piece);
            tell(&mut outgoing.did, &[Did::Answered]);
        }
        Verdict::Send(outgoing, ticket)
    }

    /// Remembers a client's compaction, for no longer than the store's patience.
    async fn remember(
        &self,
        tenant: Tenant,
        shared: &Shared,
        (parts, now): (Vec<Part>, Timestamp),
    ) {
        let (continuations, of) = (Arc::clone(&self.continuations), (shared.id, true));
        let remembered = async move { continuations.remember(tenant, of, (&parts, now)).await };
        self.storing.in_time(remembered).await;
    }
}
