//! Brings a request to its conversation: one in memory, one from the store, or a new one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::conversation::continuation::{continued, stored_answers};
use ::conversation::{
    Conversation, Flight, Incoming, Input, Joining, Kin, Relation, StoredConversation, new_id,
    stored_pins,
};
use context::pin::Pin;
use context::{Turn, TurnId};
use history::ConversationId;

use super::Inner;
use super::registry::Shared;
use super::writer::StoreFailure;

/// A request in its conversation.
pub(super) type Joined = (Arc<Shared>, Flight);

impl Inner {
    /// Finds or begins the conversation of a request.
    ///
    /// # Errors
    /// Where the store fails and the texts of the conversation are not in memory.
    pub(super) async fn join(&self, incoming: &Incoming<'_>) -> Result<Joined, StoreFailure> {
        // By the bytes of its newest messages: nothing has to be read. Nearly every request ends here.
        let linked = self.registry.linked(incoming.tenant, incoming.keys.links());
        if let Some(joined) = self.offered(incoming, &linked).await? {
            return Ok(self.relinked(incoming, joined));
        }
        // By its turns, which have to be read for that: bytes may change where what is said does not.
        let (unread, turns) = (incoming.request.body().len(), || incoming.turns());
        let turns = self.reading.of(unread, turns).await;
        let first = turns.first().map_or(TurnId::ROOT, Turn::id);
        let dialect = incoming.dialect();
        let alike = self.registry.beginning(incoming.tenant, dialect, first);
        if let Some(joined) = self.offered(incoming, &alike).await? {
            return Ok(self.relinked(incoming, joined));
        }
        // From the store: after a restart, or after it left memory.
        if let Some(stored) = self.recovered(incoming, turns).await
            && let Some(joined) = self.entered(incoming, stored, first).await?
        {
            joined.0.was_answered();
            return Ok(self.relinked(incoming, joined));
        }
        self.begun(incoming, (turns, first), &alike).await
    }

    /// Begins a conversation. It may branch off from one that begins alike, or go on from one that its
    /// client compacted.
    async fn begun(
        &self,
        incoming: &Incoming<'_>,
        (turns, first): (&[Turn], TurnId),
        alike: &[Arc<Shared>],
    ) -> Result<Joined, StoreFailure> {
        let nearest = alike
            .iter()
            .map(|shared| (shared, shared.lock().shares(turns)));
        let nearest = nearest.max_by_key(|&(_, common)| common);
        let mut kin = Kin {
            before: self.compacted_before(incoming, turns).await,
            started_by: self.started_by(incoming),
            ..Kin::default()
        };
        // One shared turn is how conversations begin; an answer in common makes a branch.
        if let Some((shared, common)) = nearest.filter(|&(_, common)| common > 1) {
            self.load_overlay(shared).await?;
            kin.branch = Some((shared.id, shared.lock().bequeath(common), common));
        }
        let id = new_id(
            self.commons.secret(),
            incoming.tenant,
            (
                incoming.last_id(),
                self.begun.fetch_add(1, Ordering::Relaxed),
            ),
            incoming.now,
        );
        let terms = Arc::clone(&self.terms);
        let (begun, batch) = Conversation::begin(id, terms, incoming, kin);
        // A conversation that is new goes on with any request.
        let joined = self.entered(incoming, begun, first).await?;
        let (shared, mut flight) = joined.ok_or(StoreFailure::Closed)?;
        flight.add_pending(batch);
        Ok(self.relinked(incoming, (shared, flight)))
    }

    /// Puts a conversation among the others and offers the request to it.
    async fn entered(
        &self,
        incoming: &Incoming<'_>,
        conversation: Conversation,
        first: TurnId,
    ) -> Result<Option<Joined>, StoreFailure> {
        let labels = conversation.record().labels.clone();
        let shared = Arc::new(Shared::new(incoming.tenant, conversation));
        // Before it is added: one that comes back must not be the first to be swept.
        shared.see(incoming.now);
        let shared = self
            .registry
            .add(shared, (incoming.dialect(), first), &labels);
        let limits = &self.parts.config.limits;
        if self.registry.len() > limits.conversations {
            let (now, idle) = (incoming.now, limits.idle);
            self.registry.sweep(now, idle, limits.conversations);
        }
        self.offered(incoming, &[shared]).await
    }

    /// Lets the links of a request lead to its conversation.
    fn relinked(&self, incoming: &Incoming<'_>, (shared, flight): Joined) -> Joined {
        let hints = incoming.keys.hints();
        let old = shared.lock().set_hints(hints);
        if old != hints {
            self.registry.relink(&shared, &old, hints);
        }
        shared.see(incoming.now);
        let head = incoming.head();
        let elements = self.commons.elements();
        elements.remember(incoming.keyed, head, &incoming.elements);
        (shared, flight)
    }

    /// Offers a request to these conversations, the longest first.
    async fn offered(
        &self,
        incoming: &Incoming<'_>,
        candidates: &[Arc<Shared>],
    ) -> Result<Option<Joined>, StoreFailure> {
        let mut candidates: Vec<&Arc<Shared>> = candidates.iter().collect();
        if candidates.len() > 1 {
            candidates.sort_by_key(|shared| std::cmp::Reverse(shared.lock().turn_ids().len()));
        }
        // Going on comes first: a conversation that goes back gives up its newest turns.
        for relation in [Relation::GoesOn, Relation::GoesBack] {
            for shared in &candidates {
                if let Some(flight) = self.offered_to(incoming, shared, relation).await? {
                    return Ok(Some((Arc::clone(shared), flight)));
                }
            }
        }
        Ok(None)
    }

    async fn offered_to(
        &self,
        incoming: &Incoming<'_>,
        shared: &Shared,
        relation: Relation,
    ) -> Result<Option<Flight>, StoreFailure> {
        let mut editions = None;
        loop {
            let known = shared.lock().turn_ids().len();
            let join = || shared.lock().join(incoming, relation, editions.as_deref());
            match self.reading.of(incoming.unread(known), join).await {
                Joining::Joined(flight) => return Ok(Some(*flight)),
                Joining::Other => return Ok(None),
                Joining::WantsEditions(of) => {
                    let tenant = incoming.tenant;
                    let read = self.writer.read(tenant, move |store| store.editions(&of));
                    // A store that fails counts as one that knows nothing.
                    editions = Some(read.await.unwrap_or_default());
                }
                Joining::WantsOverlay(_) => self.load_overlay(shared).await?,
            }
        }
    }

    /// Reads the texts of a conversation where they have left memory.
    pub(super) async fn load_overlay(&self, shared: &Shared) -> Result<(), StoreFailure> {
        let missing = shared.lock().missing();
        if let Some(wanted) = missing {
            let read = self
                .writer
                .read(shared.tenant, move |store| wanted.load(store));
            let overlay = read.await?;
            let now = (self.parts.clock)();
            shared.lock().on(Input::Overlay(overlay), now);
        }
        Ok(())
    }

    /// The conversation of the store that a request goes on with. A store that fails counts as one that
    /// knows nothing.
    async fn recovered(&self, incoming: &Incoming<'_>, turns: &[Turn]) -> Option<Conversation> {
        let path: Vec<TurnId> = turns.iter().map(Turn::id).collect();
        let tenant = incoming.tenant;
        let headed = self.writer.read(tenant, move |store| store.headed(&path));
        let mut found = headed.await.ok()?;
        // Those in memory were asked already.
        found.retain(|found| self.registry.get(tenant, found.id).is_none());
        let stored = StoredConversation::choose(found, incoming)?;
        let wanted = stored.clone();
        let read = self.writer.read(tenant, move |store| wanted.load(store));
        let recovered = read.await.ok()?;
        let terms = Arc::clone(&self.terms);
        Some(Conversation::recover(terms, incoming, stored, recovered))
    }

    /// The conversation of the agent that started this one.
    fn started_by(&self, incoming: &Incoming<'_>) -> Option<ConversationId> {
        let labels = &incoming.labels;
        let session = labels.session.as_ref()?;
        labels.agent.as_ref()?;
        let parent = labels.parent_agent.clone().unwrap_or_default();
        self.registry.of_agent(incoming.tenant, session, &parent)
    }

    /// The conversation that its client compacted and that these turns go on from, with its pins. A store
    /// that fails counts as one that knows nothing.
    async fn compacted_before(
        &self,
        incoming: &Incoming<'_>,
        turns: &[Turn],
    ) -> Option<(ConversationId, Vec<Pin>)> {
        let (tenant, now) = (incoming.tenant, incoming.now);
        let known = match self.answers.of(tenant, now) {
            Some(known) => known,
            None => {
                let read = move |store: &dyn history::Store| stored_answers(store, now);
                let stored = self.writer.read(tenant, read).await.ok()?;
                self.answers.add(tenant, stored, true);
                self.answers.of(tenant, now)?
            }
        };
        let id = continued(incoming.keyed, turns, &known)?;
        if let Some(shared) = self.registry.get(tenant, id) {
            let pins = shared.lock().pins().iter().cloned().collect();
            return Some((id, pins));
        }
        let counter = incoming.model.counter();
        let read = move |store: &dyn history::Store| stored_pins(store, id, &counter);
        let pins = self.writer.read(tenant, read).await.ok().flatten()?;
        Some((id, pins))
    }
}
