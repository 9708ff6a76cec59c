//! Requests that name an answer in place of the messages before their own.

use std::sync::Arc;

use ::conversation::directory::Directory;
use ::conversation::hearing::Hearing;
use ::conversation::lineage::{self, Asked, Lineage};
use ::conversation::rewrite::Direct;
use bytes::Bytes;
use context::Text;
use history::{Store, Tenant};
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wire::api::{Dialect, Reply, Request};

use super::Arrival;
use super::running::{Running, Shared};
use super::writer::{Receipt, Writer};
use crate::config::Config;

/// The bytes of a place.
const PLACE: usize = 1_024;

/// The bonds of a request to the answers that requests name.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// The question to remember its answer with; `None` if no request may name that answer.
    asked: Option<Asked>,
    /// The request as it came, where it names an answer.
    named: Option<Named>,
    /// True if the provider keeps all that was said, once it has answered.
    is_whole: bool,
}

/// A request that names an answer.
#[derive(Debug)]
pub(super) struct Named {
    /// The body as it came.
    body: Bytes,
    /// True if the provider keeps all that was said up to that answer.
    is_whole: bool,
    /// The room of the earlier messages.
    _room: OwnedSemaphorePermit,
}

/// The room for the earlier messages that are put into requests under way: a short request may bring many.
#[derive(Debug)]
pub(super) struct Room(Arc<Semaphore>);

impl Room {
    /// Of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let places = bytes.div_ceil(PLACE).min(Semaphore::MAX_PERMITS);
        Self(Arc::new(Semaphore::new(places)))
    }

    /// Takes room. `None` where too little is left.
    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let places = u32::try_from(bytes.div_ceil(PLACE)).ok()?;
        let taken = Arc::clone(&self.0).try_acquire_many_owned(places);
        taken.ok()
    }
}

impl Naming {
    /// Of a request as it came.
    pub(super) fn of(target: &str, request: &Request<'_>) -> Self {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let creates = request.dialect().facts().server.path;
        // The other paths answer with nothing that a request can name.
        let is_kept = path.trim_end_matches('/').ends_with(creates) && request.may_be_continued();
        let asked = is_kept.then(|| Asked {
            before: request.previous_answer().map(|id| Text::from(&*id)),
            messages: request.own_messages().into(),
        });
        Self {
            asked,
            named: None,
            is_whole: true,
        }
    }

    /// Names an answer.
    pub(super) fn naming(mut self, named: Named) -> Self {
        self.named = Some(named);
        self
    }

    /// The bytes to send for a view that is the whole conversation or a part of it: the client's own
    /// where the provider has all the rest, else those `written`.
    pub(super) fn sends(&mut self, written: Bytes, is_plain: bool) -> Bytes {
        self.is_whole = is_plain;
        match &self.named {
            Some(named) if is_plain && named.is_whole => named.body.clone(),
            _ => written,
        }
    }

    /// The client's own bytes, of which `written` is made.
    pub(super) fn as_it_came(&mut self, written: &Bytes) -> Bytes {
        let Some(named) = &self.named else {
            self.is_whole = true;
            return written.clone();
        };
        self.is_whole = named.is_whole;
        named.body.clone()
    }
}

/// A write of links under way.
pub(super) struct Kept {
    directory: Arc<Directory<Running>>,
    tenant: Tenant,
    ids: Vec<Text>,
    receipt: Receipt,
}

impl Kept {
    /// Waits until the links are stored.
    pub(super) async fn stored(self) {
        if let Err(fault) = self.receipt.kept().await {
            tracing::warn!(%fault, "an answer is remembered in memory only");
            let lineages = &self.directory.lineages;
            lineages.were_not_stored(self.tenant, &self.ids);
        }
    }
}

/// Knows the messages before an answer that a request names.
pub(super) struct Earlier {
    pub(super) config: Arc<Config>,
    pub(super) directory: Arc<Directory<Running>>,
    pub(super) writer: Writer,
    pub(super) room: Room,
}

impl Earlier {
    /// The body with the messages before in place of the answer that it names, and its own form. `None`
    /// where it names none, or one that is not known here.
    pub(super) async fn with_earlier(
        &self,
        arrival: &Arrival,
        request: &Request<'_>,
        now: Timestamp,
    ) -> Option<(Bytes, Named)> {
        let id = Text::from(&*request.previous_answer()?);
        let earlier = self.lineage(arrival.tenant, id, now).await?;
        let bytes = earlier.messages.len() + arrival.body.len();
        let fits = bytes <= self.config.limits.body;
        let Some(room) = fits.then(|| self.room.take(bytes)).flatten() else {
            tracing::warn!(
                bytes,
                "the messages before an answer are too long to be put in"
            );
            return None;
        };
        let body = request.behind(&earlier.messages).ok()?;
        let named = Named {
            body: arrival.body.clone(),
            // A provider that is asked in another dialect knows no answers.
            is_whole: earlier.is_whole && !self.config.bridges(request.dialect()),
            _room: room,
        };
        Some((Bytes::from(body), named))
    }

    /// All that was said up to an answer, from memory or the store.
    async fn lineage(&self, tenant: Tenant, id: Text, now: Timestamp) -> Option<Lineage> {
        let lineages = &self.directory.lineages;
        let missing = match lineages.find(tenant, &id, now) {
            Ok(found) => return Some(found),
            Err(missing) => missing,
        };
        let read = self
            .writer
            .read(tenant, move |store| lineage::stored(store, &missing));
        match read.await {
            Ok(links) => lineages.take_stored(tenant, links, now),
            Err(fault) => tracing::warn!(%fault, "an earlier answer cannot be looked up"),
        }
        let found = lineages.find(tenant, &id, now).ok();
        lineages.make_room();
        found
    }

    /// Remembers an answer for requests that name it.
    pub(super) fn remember(
        &self,
        (shared, naming): (&Shared, &mut Naming),
        reply: &Reply,
        now: Timestamp,
    ) -> Option<Kept> {
        let asked = naming.asked.take()?;
        let id = reply.id.as_deref()?;
        // One that goes on in the background has not said all, and one that failed is not kept.
        if reply.stop.is_none() || reply.failure.is_some() {
            return None;
        }
        let (tenant, of) = (shared.tenant, shared.id);
        let lineages = &self.directory.lineages;
        let said = (id, &*reply.message(), naming.is_whole);
        lineages.add(tenant, (of, asked), said, now);
        let links = lineages.to_store(tenant, &Text::from(id));
        if links.is_empty() {
            return None;
        }
        let ids = links.iter().map(|(id, _)| id.clone()).collect();
        let size = links.iter().map(|(_, link)| link.size()).sum();
        let work = Box::new(move |store: &mut dyn Store| {
            let mut links = links.iter();
            links.try_for_each(|(id, link)| link.store(id, of, store))
        });
        Some(Kept {
            directory: Arc::clone(&self.directory),
            tenant,
            ids,
            receipt: self.writer.write_soon(tenant, work, size),
        })
    }

    /// Remembers an answer that the provider did not give and does not know.
    pub(super) fn remember_own(
        &self,
        (shared, naming): (&Shared, &mut Naming),
        (answer, dialect): (&Direct, Dialect),
        now: Timestamp,
    ) -> Option<Kept> {
        let mut hearing = match answer.content_type.starts_with("text/event-stream") {
            true => Hearing::stream(dialect),
            false => Hearing::body(None),
        };
        hearing.piece(&answer.body);
        naming.is_whole = false;
        let reply = hearing.end(dialect).0?;
        self.remember((shared, naming), &reply, now)
    }
}
