//! The verdict on a request for a next message: from its bytes to its conversation, and from what was decided there to
//! a verdict.

use std::sync::Arc;

use ::conversation::directory::Directory;
use ::conversation::element::Element;
use ::conversation::rewrite::{
    ClientCompaction, Wants, own_compaction, refuse_thread, refuse_unknown_answer,
};
use ::conversation::words::Did;
use ::conversation::{Incoming, Input, Rescue, Sending};
use bytes::Bytes;
use context::Turn;
use jiff::Timestamp;
use wire::api::{Dialect, Request};

use super::asking::{Asking, Decided};
use super::compacting::Compacting;
use super::landing::Landing;
use super::lineage::{Earlier, Naming};
use super::lookup::Lookup;
use super::protocol::Speaking;
use super::running::Running;
use super::ticket::Passage;
use super::{Arrival, Outgoing, Ticket, Verdict};
use crate::config::Config;
use crate::metrics::{Failure, Metrics};

/// Decides about requests for a next message.
pub(super) struct Generating {
    pub(super) config: Arc<Config>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) speaking: Arc<Speaking>,
    pub(super) earlier: Arc<Earlier>,
    pub(super) lookup: Arc<Lookup>,
    pub(super) asking: Arc<Asking>,
    pub(super) compacting: Compacting,
    /// The place that their answers go to.
    pub(super) landing: Landing,
}

impl Generating {
    /// Decides about a request for the next message.
    pub(super) async fn generate(
        self: &Arc<Self>,
        mut arrival: Arrival,
        dialect: Dialect,
        now: Timestamp,
    ) -> Verdict {
        let spoken = self.speaking.speak(&mut arrival, dialect, now).await;
        let mut verdict = self.generated(arrival, dialect, now).await;
        match (spoken.tell(&mut verdict, now), verdict) {
            (Some(due), Verdict::Send(outgoing, ticket)) => {
                self.compacting.compacts(due, (outgoing, ticket), now).await
            }
            (_, verdict) => verdict,
        }
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
        let Some((whole, named)) = self.earlier.with_earlier(&arrival, &request, now).await else {
            // A provider that is asked in another dialect does not know the answer either.
            if self.config.bridges(dialect)
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
        let whole = self.speaking.unsealed(arrival.tenant, (dialect, whole));
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
        let origin = arrival.origin();
        let incoming = self
            .directory
            .commons
            .incoming(request, elements, origin, now);
        let (shared, flight) = match self.lookup.join(&incoming).await {
            Ok(joined) => joined,
            Err(failure) => return self.failed(naming.as_it_came(&arrival.body), &failure),
        };
        let mut passage = Passage::new(Arc::clone(self), shared, flight, (arrival, naming));
        let newest = passage.flight.newest().map(Turn::parts);
        let own = own_compaction(&passage.arrival.target, request, newest);
        // A request with a compaction from some size on is a request like any other.
        if let Some(own) = own.filter(|own| !matches!(own.wants, Wants::Later(_))) {
            let answered = self.compacting.answer(&incoming, (&passage, &own)).await;
            return match answered {
                Some(answered) => {
                    let answer = (passage, answered);
                    self.compacting.answered(&incoming, answer, &own).await
                }
                None => self.yields(&incoming, passage, &own).await,
            };
        }
        match self.asking.decided(&incoming, &mut passage, None).await {
            Decided::Send(sending) => self.verdict(&incoming, passage, *sending),
            Decided::Overtaken => {
                let body = passage.naming.as_it_came(&passage.arrival.body);
                let mut outgoing = Outgoing::as_it_came(body, vec![Did::Kept]);
                outgoing.conversation = Some(passage.shared.id);
                Verdict::Send(outgoing, Ticket::of(passage))
            }
        }
    }

    /// A client compacts, and the provider answers it.
    async fn yields(
        &self,
        incoming: &Incoming<'_>,
        mut passage: Passage,
        own: &ClientCompaction,
    ) -> Verdict {
        let input = Input::Yield(incoming, own, &mut passage.flight);
        let effects = passage.shared.lock().on(input, incoming.now);
        match self.asking.carry_out(&mut passage, effects).await {
            Some(Decided::Send(sending)) => self.verdict(incoming, passage, *sending),
            _ => {
                let body = passage.naming.as_it_came(&passage.arrival.body);
                self.failed(body, &"nothing was decided")
            }
        }
    }

    /// A request that goes out, and the ticket that accompanies it.
    fn verdict(&self, incoming: &Incoming<'_>, mut passage: Passage, sending: Sending) -> Verdict {
        match self.asking.outgoing(incoming, &mut passage, sending) {
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
        &self,
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
        let origin = arrival.origin();
        let incoming = self
            .directory
            .commons
            .incoming(&request, elements, origin, now);
        match self
            .asking
            .decided(&incoming, passage, Some(&mut rescue))
            .await
        {
            Decided::Send(sending) => self.asking.outgoing(&incoming, passage, *sending).ok(),
            Decided::Overtaken => None,
        }
    }

    /// Something of ours failed: the client's own bytes.
    fn failed(&self, body: Bytes, fault: &dyn std::fmt::Display) -> Verdict {
        tracing::warn!(%fault, "forwarding a request unchanged");
        self.metrics.failed(Failure::Deciding);
        let outgoing = Outgoing::as_it_came(body, vec![Did::Failed]);
        Verdict::Send(outgoing, Ticket::default())
    }
}
