//! Requests that only ask for a size: the view of their conversation is counted.

use std::sync::Arc;

use ::conversation::directory::Directory;
use ::conversation::element::Element;
use ::conversation::rewrite::{betas, refuse_thread, render};
use ::conversation::words::Did;
use bytes::Bytes;
use jiff::Timestamp;
use wire::api::{Dialect, Request};

use super::lineage::{Earlier, Naming};
use super::lookup::Lookup;
use super::protocol::Speaking;
use super::running::Running;
use super::{Arrival, Outgoing, Ticket, Verdict};

/// Has views counted.
pub(super) struct Counting {
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) speaking: Arc<Speaking>,
    pub(super) earlier: Arc<Earlier>,
    pub(super) lookup: Arc<Lookup>,
}

impl Counting {
    /// The request that asks the provider to count the view, so that a client that watches the
    /// count does not compact by itself. The conversation does not change.
    pub(super) async fn count(
        &self,
        mut arrival: Arrival,
        dialect: Dialect,
        now: Timestamp,
    ) -> Verdict {
        let spoken = self
            .speaking
            .speak(&mut arrival, dialect, now)
            .await
            .counted();
        let mut verdict = self.counted(arrival, dialect, now).await;
        spoken.tell(&mut verdict, now);
        verdict
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
        let Some((whole, named)) = self.earlier.with_earlier(&arrival, &request, now).await else {
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
        let incoming = &commons.incoming(request, elements, arrival.origin(), now);
        let (conversation, view) = self.lookup.counted(incoming).await?;
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
}
