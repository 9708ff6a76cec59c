//! A request's way: to its conversation, until that lets it go, and to the bytes that are sent.

use std::sync::Arc;

use ::conversation::client_compaction::Answered;
use ::conversation::directory::{Found, Joined, Question, Read};
use ::conversation::element::Element;
use ::conversation::incoming::labels;
use ::conversation::rewrite::{
    self, betas, own_compaction, refuse_thread, refuse_unknown_answer, render,
};
use ::conversation::words::Did;
use ::conversation::{Effect, Hold, Incoming, Input, Origin, Rescue, Sending, Start, Stored};
use bytes::Bytes;
use context::Turn;
use history::Tenant;
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;
use wire::api::{Dialect, Request};

use super::jobs::{AsSent, Source};
use super::lineage::Naming;
use super::running::Running;
use super::ticket::Passage;
use super::writer::StoreFailure;
use super::{Arrival, Inner, Outgoing, Ticket, Verdict};
use crate::metrics::Failure;

/// The longest time that a request waits for a summary that is made without a model.
const ON_THE_SPOT: std::time::Duration = std::time::Duration::from_secs(30);

/// The outcome of asking a conversation about a request.
enum Decided {
    Send(Box<Sending>),
    /// The conversation went elsewhere: the client's own bytes.
    Overtaken,
}

/// The rescue of a refused request, if there is one.
type Rescued<'a> = Option<&'a mut Rescue>;

impl Inner {
    /// Finds or begins the conversation of a request.
    ///
    /// # Errors
    /// Where the store fails and the texts of the conversation are not in memory.
    async fn join(&self, incoming: &Incoming<'_>) -> Result<Joined<Running>, StoreFailure> {
        let mut search = self.directory.search(incoming);
        loop {
            let unread = search.unread();
            match self.reading.of(unread, || search.step()).await {
                Ok(joined) => return joined.ok_or(StoreFailure::Closed),
                Err(Question::Store(read)) => {
                    let (read, found) = self.read(incoming.tenant, read).await;
                    search.tell(&read, found)?;
                }
                // Turns, and whatever else is read of the request itself.
                Err(_) => {
                    let bytes = incoming.request.body().len();
                    self.reading.of(bytes, || incoming.turns().len()).await;
                }
            }
        }
    }

    /// Has the store answer.
    async fn read(
        &self,
        tenant: Tenant,
        read: Read<Running>,
    ) -> (Arc<Read<Running>>, Result<Found, StoreFailure>) {
        let read = Arc::new(read);
        let asked = Arc::clone(&read);
        let found = self
            .writer
            .read(tenant, move |store| asked.from(store))
            .await;
        (read, found)
    }

    /// Decides about a request for the next message.
    pub(super) async fn generate(
        self: &Arc<Self>,
        mut arrival: Arrival,
        dialect: Dialect,
        now: Timestamp,
    ) -> Verdict {
        let spoken = self.speak(&mut arrival, dialect, now).await;
        let verdict = self.generated(arrival, dialect, now).await;
        self.spoke((spoken, verdict), now).await
    }

    /// Decides about a request in which nothing is sealed.
    async fn generated(
        self: &Arc<Self>,
        arrival: Arrival,
        dialect: Dialect,
        now: Timestamp,
    ) -> Verdict {
        let body = arrival.body.clone();
        let passed = || {
            let outgoing = Outgoing::as_it_came(body.clone(), vec![Did::Passed]);
            Verdict::Send(outgoing, Ticket::default())
        };
        let Some((request, elements)) = self.directory.commons.read(arrival.tenant, dialect, &body)
        else {
            return passed();
        };
        if let Some(direct) = refuse_thread(&request) {
            return Verdict::Answer(direct);
        }
        let naming = Naming::of(&arrival.target, &request);
        let Some((whole, named)) = self.with_earlier(&arrival, &request, now).await else {
            // A provider that is asked in another dialect does not know the answer either.
            if self.bridges(dialect)
                && let Some(direct) = refuse_unknown_answer(&request)
            {
                return Verdict::Answer(direct);
            }
            if request.is_held_by_provider() || request.is_empty() {
                return passed();
            }
            return self
                .managed((&request, elements), (arrival, naming), now)
                .await;
        };
        let whole = self.unsealed(arrival.tenant, (dialect, whole));
        match self.directory.commons.read(arrival.tenant, dialect, &whole) {
            Some((request, elements)) if !request.is_empty() => {
                let mut arrival = arrival;
                arrival.body = whole.clone();
                let naming = naming.naming(named);
                self.managed((&request, elements), (arrival, naming), now)
                    .await
            }
            _ => passed(),
        }
    }

    /// Decides about a request that holds all of its conversation.
    async fn managed(
        self: &Arc<Self>,
        (request, elements): (&Request<'_>, Vec<Element>),
        (arrival, mut naming): (Arrival, Naming),
        now: Timestamp,
    ) -> Verdict {
        let origin = origin(&arrival);
        let incoming = self
            .directory
            .commons
            .incoming(request, elements, origin, now);
        let (shared, flight) = match self.join(&incoming).await {
            Ok(joined) => joined,
            Err(failure) => return self.failed(naming.as_it_came(&arrival.body), &failure),
        };
        let mut passage = Passage::new(Arc::clone(self), shared, flight, (arrival, naming));
        let newest = passage.flight.newest().map(Turn::parts);
        let own = own_compaction(&passage.arrival.target, request, newest);
        // A request with a compaction from some size on is a request like any other.
        if let Some(own) = own.filter(|own| !matches!(own.wants, rewrite::Wants::Later(_))) {
            return self.client_compacts(&incoming, passage, &own).await;
        }
        match self.decided(&incoming, &mut passage, None).await {
            Decided::Send(sending) => self.verdict(&incoming, passage, *sending).await,
            Decided::Overtaken => {
                let body = passage.naming.as_it_came(&passage.arrival.body);
                let mut outgoing = Outgoing::as_it_came(body, vec![Did::Kept]);
                outgoing.conversation = Some(passage.shared.id);
                Verdict::Send(outgoing, Ticket::of(passage))
            }
        }
    }

    /// A client compacts: answered from the summary that is ready where that is enough, else sent on.
    async fn client_compacts(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        mut passage: Passage,
        own: &rewrite::ClientCompaction,
    ) -> Verdict {
        let (shared, now) = (Arc::clone(&passage.shared), incoming.now);
        let at_hand = shared.lock().at_hand(own);
        let answered = match at_hand {
            // The answer summarizes the newer turns, which may take milliseconds.
            Some(at_hand) => {
                let at_hand = self.with_originals(at_hand, incoming, own).await;
                let (bytes, seals) = (incoming.request.body().len(), self.seals(incoming.tenant));
                let answer = || at_hand.answer(incoming, (own, &seals), now);
                self.reading.of(bytes, answer).await
            }
            None => None,
        };
        let answered = match answered {
            Some(answered) => Some(answered),
            None => self.at_once(incoming, (&passage, own)).await,
        };
        let Some(answered) = answered else {
            let input = Input::Yield(incoming, own, &mut passage.flight);
            let effects = shared.lock().on(input, now);
            let decided = self.carry_out(&mut passage, effects).await;
            return match decided {
                Some(Decided::Send(sending)) => self.verdict(incoming, passage, *sending).await,
                _ => {
                    let body = passage.naming.as_it_came(&passage.arrival.body);
                    self.failed(body, &"nothing was decided")
                }
            };
        };
        self.answered(incoming, (passage, answered), own).await
    }

    /// A client that compacts is answered.
    pub(super) async fn answered(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        (mut passage, answered): (Passage, Answered),
        own: &rewrite::ClientCompaction,
    ) -> Verdict {
        let (shared, now) = (Arc::clone(&passage.shared), incoming.now);
        shared.was_answered();
        passage.hand_over();
        let (inner, tenant, of) = (Arc::clone(self), incoming.tenant, (shared.id, true));
        let parts = answered.parts;
        self.in_time(async move { inner.remember(tenant, of, (&parts, now)).await })
            .await;
        let effects = shared.lock().on(Input::ClientCompacted(own), now);
        self.carry_out(&mut passage, effects).await;
        let mut direct = answered.direct;
        passage.remember_own(&direct, incoming.dialect(), now).await;
        direct.conversation = Some(shared.id);
        Verdict::Answer(direct)
    }

    /// A request that goes out, and the ticket that accompanies it.
    async fn verdict(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        mut passage: Passage,
        sending: Sending,
    ) -> Verdict {
        match self.outgoing(incoming, &mut passage, sending) {
            Ok(outgoing) => Verdict::Send(outgoing, Ticket::of(passage)),
            Err(fault) => {
                let input = Input::NotRewritten(fault.to_string());
                passage.shared.lock().on(input, incoming.now);
                let body = passage.naming.as_it_came(&passage.arrival.body);
                let Verdict::Send(mut outgoing, _) = self.failed(body, &fault) else {
                    return Verdict::Send(
                        Outgoing::as_it_came(Bytes::new(), vec![Did::Failed]),
                        Ticket::default(),
                    );
                };
                outgoing.conversation = Some(passage.shared.id);
                Verdict::Send(outgoing, Ticket::of(passage))
            }
        }
    }

    /// A refused request, changed so that the provider takes it. `None` where nothing can be changed.
    pub(super) async fn rescued(
        self: &Arc<Self>,
        passage: &mut Passage,
        mut rescue: Rescue,
        now: Timestamp,
    ) -> Option<Outgoing> {
        let arrival = passage.arrival.clone();
        let dialect = passage.flight.dialect();
        let (request, elements) =
            self.directory
                .commons
                .read(arrival.tenant, dialect, &arrival.body)?;
        let origin = origin(&arrival);
        let incoming = self
            .directory
            .commons
            .incoming(&request, elements, origin, now);
        match self.decided(&incoming, passage, Some(&mut rescue)).await {
            Decided::Send(sending) => self.outgoing(&incoming, passage, *sending).ok(),
            Decided::Overtaken => None,
        }
    }

    /// Asks the conversation until it lets a request go.
    async fn decided(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        passage: &mut Passage,
        mut rescue: Rescued<'_>,
    ) -> Decided {
        let shared = Arc::clone(&passage.shared);
        let mut now = incoming.now;
        loop {
            let settled = shared.beside.settled.notified();
            tokio::pin!(settled);
            // From here on no end of a preparation is missed.
            settled.as_mut().enable();
            let input = match &mut rescue {
                Some(rescue) => Input::Rescue(incoming, &mut passage.flight, rescue),
                None => Input::Request(incoming, &mut passage.flight),
            };
            let mut effects = shared.lock().on(input, now);
            let hold = effects.iter().find_map(|effect| match effect {
                Effect::Hold(hold) => Some(*hold),
                _ => None,
            });
            effects.retain(|effect| !matches!(effect, Effect::Hold(_)));
            if let Some(decided) = self.carry_out(passage, effects).await {
                return decided;
            }
            self.begin_what_is_waited_for(passage);
            if self.are_few_slots(passage) {
                shared.beside.hurry();
            }
            match hold {
                Some(Hold::OnTheSpot) => drop(timeout(ON_THE_SPOT, settled).await),
                Some(Hold::Until(until)) => {
                    let wait = until.duration_since(now).max(SignedDuration::ZERO);
                    let wait = std::time::Duration::try_from(wait).unwrap_or_default();
                    drop(timeout(wait, settled).await);
                }
                Some(Hold::Ready) => settled.await,
                // Neither sent nor held cannot be; the client's own bytes are always right.
                None => return Decided::Overtaken,
            }
            now = (self.parts.clock)().max(now);
        }
    }

    /// Begins a summary that was to begin with the answer to this request. The provider refused the request, which
    /// waits for that summary now.
    fn begin_what_is_waited_for(self: &Arc<Self>, passage: &mut Passage) {
        let Some((order, _, source)) = passage.prepare.take() else {
            return;
        };
        if passage.shared.lock().is_preparing(order.job) {
            let source = source.unwrap_or_else(|| Source::of(passage, None));
            passage.hand_over();
            self.prepare(&passage.shared, order, source);
        }
    }

    /// Carries out what a conversation decided about a request.
    async fn carry_out(
        self: &Arc<Self>,
        passage: &mut Passage,
        effects: Vec<Effect>,
    ) -> Option<Decided> {
        let shared = Arc::clone(&passage.shared);
        let mut decided = None;
        for effect in self.local().settle(&shared, passage.model_key(), effects) {
            match effect {
                Effect::Store(batch) => self.store_in_time(&shared, batch).await,
                Effect::Send(sending) => decided = Some(Decided::Send(Box::new(sending))),
                Effect::Overtaken => decided = Some(Decided::Overtaken),
                Effect::Prepare(order, Start::Now) if decided.is_none() => {
                    passage.hand_over();
                    self.prepare(&shared, order, Source::of(passage, None));
                }
                // It is begun when the bytes are made.
                Effect::Prepare(order, start) => passage.prepare = Some((order, start, None)),
                _ => {}
            }
        }
        decided
    }

    /// The bytes of a request.
    ///
    /// # Errors
    /// Where the view cannot be written.
    fn outgoing(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        passage: &mut Passage,
        sending: Sending,
    ) -> Result<Outgoing, rewrite::RewriteError> {
        let Sending {
            view,
            tokens,
            did,
            previous,
        } = sending;
        let body = match view.is_plain() {
            true => passage.arrival.body.clone(),
            false => {
                let asking = previous.as_deref();
                Bytes::from(rewrite::render_asking(incoming.request, &view, asking)?)
            }
        };
        let mut betas = betas(incoming.dialect(), &view);
        if previous.is_some() {
            betas.extend(incoming.dialect().facts().betas.cache_question);
        }
        if let Some((order, start, _)) = passage.prepare.take() {
            let source = Source::of(
                passage,
                Some(AsSent::new(&view, body.clone(), (betas.clone(), tokens))),
            );
            match start {
                Start::Now => {
                    passage.hand_over();
                    self.prepare(&passage.shared, order, source);
                }
                Start::WithAnswer => passage.prepare = Some((order, start, Some(source))),
            }
        }
        Ok(Outgoing {
            body: passage.naming.sends(body, view.is_plain()),
            encoding: None,
            betas,
            drops: &[],
            prefix: None,
            did,
            conversation: Some(passage.shared.id),
            tokens: Some(tokens),
        })
    }

    /// The request that asks the provider to count the view, so that a client that watches the
    /// count does not compact by itself. The conversation does not change.
    pub(super) async fn count(
        self: &Arc<Self>,
        mut arrival: Arrival,
        dialect: Dialect,
        now: Timestamp,
    ) -> Verdict {
        let spoken = self.speak(&mut arrival, dialect, now).await.counted();
        let verdict = self.counted(arrival, dialect, now).await;
        self.spoke((spoken, verdict), now).await
    }

    async fn counted(&self, arrival: Arrival, dialect: Dialect, now: Timestamp) -> Verdict {
        let body = arrival.body.clone();
        let read = self.directory.commons.read(arrival.tenant, dialect, &body);
        if let Some((request, _)) = &read
            && let Some(direct) = refuse_thread(request)
        {
            return Verdict::Answer(direct);
        }
        let passed = Outgoing::as_it_came(body.clone(), vec![Did::Passed]);
        let send = |outgoing| Verdict::Send(outgoing, Ticket::default());
        let Some((request, elements)) = read.filter(|_| self.directory.terms.is_on()) else {
            return send(passed);
        };
        let Some((whole, named)) = self.with_earlier(&arrival, &request, now).await else {
            if request.is_held_by_provider() {
                return send(passed);
            }
            let viewed = self.viewed((&request, elements), &arrival, now).await;
            return send(viewed.unwrap_or(passed));
        };
        let Some((request, elements)) =
            self.directory.commons.read(arrival.tenant, dialect, &whole)
        else {
            return send(passed);
        };
        let viewed = self.viewed((&request, elements), &arrival, now).await;
        send(viewed.unwrap_or_else(|| {
            // Where the provider has only a part of what was said, all of it is counted.
            let mut outgoing = Outgoing::as_it_came(whole.clone(), vec![Did::Kept]);
            outgoing.body = Naming::default().naming(named).sends(outgoing.body, true);
            outgoing
        }))
    }

    /// The request as its conversation shows it; `None` where that is as it came.
    async fn viewed(
        &self,
        (request, elements): (&Request<'_>, Vec<Element>),
        arrival: &Arrival,
        now: Timestamp,
    ) -> Option<Outgoing> {
        let commons = &self.directory.commons;
        let incoming = &commons.incoming(request, elements, origin(arrival), now);
        let (conversation, view) = loop {
            match self.directory.counted(incoming) {
                Ok(counted) => break counted?,
                Err(read) => {
                    let (read, found) = self.read(incoming.tenant, read).await;
                    self.directory.take(&read, found.ok()?, incoming.now);
                }
            }
        };
        let did = match view.shows_all() {
            true => vec![Did::Replayed],
            false => vec![Did::Compacted],
        };
        // A request that cannot be shown so is counted as it is.
        let body = render(incoming.request, &view).ok()?;
        Some(Outgoing {
            encoding: None,
            body: Bytes::from(body),
            betas: betas(incoming.dialect(), &view),
            drops: &[],
            prefix: None,
            did,
            conversation: Some(conversation),
            tokens: None,
        })
    }

    /// Something of ours failed: the client's own bytes.
    fn failed(&self, body: Bytes, fault: &dyn std::fmt::Display) -> Verdict {
        tracing::warn!(%fault, "forwarding a request unchanged");
        self.parts.metrics.failed(Failure::Deciding);
        let outgoing = Outgoing::as_it_came(body, vec![Did::Failed]);
        Verdict::Send(outgoing, Ticket::default())
    }
}

/// The sender and the destination of a request.
pub(super) fn origin(arrival: &Arrival) -> Origin<'_> {
    let headers: &HeaderMap = &arrival.headers;
    let (labels, names_agents) = labels(|name| headers.get(name)?.to_str().ok());
    Origin {
        tenant: arrival.tenant,
        url: &arrival.url,
        labels,
        names_agents,
    }
}

/// Converts the result of a write.
pub(super) const fn stored<E>(kept: &Result<(), E>) -> Stored {
    match kept {
        Ok(()) => Stored::Yes,
        Err(_) => Stored::No,
    }
}
