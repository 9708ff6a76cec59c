//! Brings a request to its conversation: one in memory, one from the store, or a new one.
//!
//! A search does no I/O. It asks what it has to know from the store, one [`Question`] at a time, and goes
//! on from where it was once that is answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use context::pin::Pin;
use context::{Turn, TurnId};
use history::{Conversation as Record, ConversationId, Edition};
use jiff::Timestamp;

use super::Directory;
use super::question::{Found, Question, Read};
use super::registry::Shared;
use crate::batch::Batch;
use crate::begin::{Kin, Recovered, Stored, new_id};
use crate::continuation::continued;
use crate::conversation::Conversation;
use crate::effect::Input;
use crate::flight::Flight;
use crate::incoming::Incoming;
use crate::join::{Joining, Relation};
use crate::view::View;

/// A request in its conversation.
pub type Joined<X> = (Arc<Shared<X>>, Flight);

/// The stages of a search, in order: what changes least comes first.
#[derive(Debug)]
enum Stage<X> {
    /// By the bytes of its newest messages: nothing has to be read. Nearly every request ends here.
    Linked,
    /// By its turns: bytes may change where what is said does not.
    Alike,
    /// From the store: after a restart, or after it left memory.
    Stored,
    /// In this one, which came back from the store.
    Back(Arc<Shared<X>>),
    /// In a new one, which may branch off or go on from one that its client compacted.
    New,
    /// In this one, which begins with it.
    Begun(Arc<Shared<X>>, Box<Batch>),
    /// No conversation takes it.
    Over,
}

/// The answers of the store so far.
#[derive(Debug, Default)]
struct Known {
    editions: Option<(Vec<TurnId>, Vec<Edition>)>,
    headed: Option<Vec<Record>>,
    recovered: Option<(Stored, Recovered)>,
    pins: Option<Option<Vec<Pin>>>,
    /// True once the store failed. It then counts as one that knows nothing.
    is_silent: bool,
}

/// The search for the conversation of one request.
#[derive(Debug)]
pub struct Search<'s, 'r, X> {
    directory: &'s Directory<X>,
    incoming: &'s Incoming<'r>,
    stage: Stage<X>,
    /// Those that begin with the same turn.
    alike: Vec<Arc<Shared<X>>>,
    known: Known,
}

impl<X: Default> Directory<X> {
    /// Begins to look for the conversation of a request.
    #[must_use]
    pub const fn search<'s, 'r>(&'s self, incoming: &'s Incoming<'r>) -> Search<'s, 'r, X> {
        Search {
            directory: self,
            incoming,
            stage: Stage::Linked,
            alike: Vec::new(),
            known: Known {
                editions: None,
                headed: None,
                recovered: None,
                pins: None,
                is_silent: false,
            },
        }
    }

    /// The conversation and the view of a request that is only counted. Changes nothing. `None` where it
    /// would be sent as it came.
    ///
    /// # Errors
    /// Where something has to be read first; [`take`](Self::take) the answer and ask again.
    pub fn counted(
        &self,
        incoming: &Incoming<'_>,
    ) -> Result<Option<(ConversationId, View)>, Read<X>> {
        let links = incoming.keys.links();
        for shared in self.registry.linked(incoming.tenant, links) {
            shared.wanted()?;
            let view = shared.lock().counted(incoming);
            if let Some(view) = view {
                return Ok(Some((shared.id, view)));
            }
        }
        Ok(None)
    }

    /// Gives a conversation its texts back.
    pub fn take(&self, read: &Read<X>, found: Found, now: Timestamp) {
        if let (Read::Overlay(shared, _), Found::Overlay(overlay)) = (read, found) {
            shared.lock().on(Input::Overlay(overlay), now);
        }
    }
}

impl<X: Default> Search<'_, '_, X> {
    /// Goes on: the conversation, or `None` where none takes the request.
    ///
    /// # Errors
    /// Where something has to be known first: answer it and call this again.
    pub fn step(&mut self) -> Result<Option<Joined<X>>, Question<X>> {
        loop {
            if let Some(joined) = self.attempt()? {
                return Ok(Some(self.relinked(joined)));
            }
            if matches!(self.stage, Stage::Over) {
                return Ok(None);
            }
        }
    }

    /// The bytes that the next step reads.
    #[must_use]
    pub fn unread(&self) -> usize {
        let Stage::Linked = self.stage else { return 0 };
        let links = self.incoming.keys.links();
        let linked = self.directory.registry.linked(self.incoming.tenant, links);
        let known = linked.iter().map(|shared| shared.lock().turn_ids().len());
        known.max().map_or(0, |known| self.incoming.unread(known))
    }

    /// Takes what the store told.
    ///
    /// # Errors
    /// Where it failed to give the texts of a conversation, without which nothing can be shown.
    pub fn tell<E>(&mut self, read: &Read<X>, found: Result<Found, E>) -> Result<(), E> {
        let known = &mut self.known;
        match (read, found) {
            (Read::Overlay(..), Err(error)) => return Err(error),
            (Read::Overlay(..), Ok(found)) => {
                self.directory.take(read, found, self.incoming.now);
            }
            (Read::Editions(of), found) => {
                let editions = match found {
                    Ok(Found::Editions(editions)) => editions,
                    _ => Vec::new(),
                };
                known.editions = Some((of.clone(), editions));
            }
            (_, Err(_)) => known.is_silent = true,
            (_, Ok(Found::Headed(records))) => known.headed = Some(records),
            (Read::Conversation(stored), Ok(Found::Conversation(recovered))) => {
                known.recovered = Some((Stored::clone(stored), *recovered));
            }
            (_, Ok(Found::Answers(answers))) => {
                let tenant = self.incoming.tenant;
                self.directory.answers.add(tenant, answers, true);
            }
            (_, Ok(Found::Pins(pins))) => known.pins = Some(pins),
            (_, Ok(_)) => {}
        }
        Ok(())
    }

    fn attempt(&mut self) -> Result<Option<Joined<X>>, Question<X>> {
        let (directory, incoming) = (self.directory, self.incoming);
        let (joined, next) = match &self.stage {
            Stage::Linked => {
                let links = incoming.keys.links();
                let linked = directory.registry.linked(incoming.tenant, links);
                (self.offered(&linked)?, Stage::Alike)
            }
            Stage::Alike => {
                let (dialect, first) = (incoming.dialect(), first(self.turns()?));
                let registry = &directory.registry;
                self.alike = registry.beginning(incoming.tenant, dialect, first);
                (self.offered(&self.alike)?, Stage::Stored)
            }
            Stage::Stored | Stage::New => (None, self.another()?),
            Stage::Back(shared) => {
                shared.was_answered();
                (self.offered(std::slice::from_ref(shared))?, Stage::New)
            }
            Stage::Begun(shared, batch) => {
                // A conversation that is new goes on with any request.
                let mut joined = self.offered(std::slice::from_ref(shared))?;
                if let Some((_, flight)) = &mut joined {
                    flight.add_pending(Batch::clone(batch));
                }
                (joined, Stage::Over)
            }
            Stage::Over => return Ok(None),
        };
        self.stage = next;
        Ok(joined)
    }

    /// A conversation that is not in memory: from the store, or a new one.
    fn another(&mut self) -> Result<Stage<X>, Question<X>> {
        if let Stage::Stored = self.stage {
            return Ok(match self.recovered()? {
                Some(back) => Stage::Back(self.entered(back)?),
                None => Stage::New,
            });
        }
        let (begun, batch) = self.begun()?;
        Ok(Stage::Begun(self.entered(begun)?, Box::new(batch)))
    }

    fn turns(&self) -> Result<&[Turn], Question<X>> {
        self.incoming.turns_read().ok_or(Question::Turns)
    }

    /// Has something read, unless the store fails.
    fn ask<T>(&self, read: Read<X>) -> Result<Option<T>, Question<X>> {
        match self.known.is_silent {
            true => Ok(None),
            false => Err(Question::Store(read)),
        }
    }

    /// Begins a conversation.
    fn begun(&self) -> Result<(Conversation, Batch), Question<X>> {
        let (directory, incoming) = (self.directory, self.incoming);
        let turns = self.turns()?;
        let nearest = self.alike.iter();
        let nearest = nearest.map(|shared| (shared, shared.lock().shares(turns)));
        let nearest = nearest.max_by_key(|&(_, common)| common);
        let mut kin = Kin {
            before: self.compacted_before(turns)?,
            started_by: self.started_by(),
            ..Kin::default()
        };
        // One shared turn is how conversations begin; an answer in common makes a branch.
        if let Some((shared, common)) = nearest.filter(|&(_, common)| common > 1) {
            shared.wanted()?;
            kin.branch = Some((shared.id, shared.lock().bequeath(common), common));
        }
        let number = directory.begun.fetch_add(1, Ordering::Relaxed);
        let id = new_id(
            directory.commons.secret(),
            incoming.tenant,
            (incoming.last_id(), number),
            incoming.now,
        );
        let terms = Arc::clone(&directory.terms);
        let before = kin.before.as_ref().map(|(id, _)| *id);
        let before = before.and_then(|id| directory.registry.get(incoming.tenant, id));
        let (mut begun, batch) = Conversation::begin(id, terms, incoming, kin);
        if let Some(before) = before {
            begun.go_on_from(&before.lock());
        }
        Ok((begun, batch))
    }

    /// Puts a conversation among the others.
    fn entered(&self, conversation: Conversation) -> Result<Arc<Shared<X>>, Question<X>> {
        let (registry, incoming) = (&self.directory.registry, self.incoming);
        let first = first(self.turns()?);
        let labels = conversation.record().labels.clone();
        let shared = Arc::new(Shared::new(incoming.tenant, conversation));
        // Before it is added: one that comes back must not be the first to be swept.
        shared.see(incoming.now);
        let shared = registry.add(shared, (incoming.dialect(), first), &labels);
        if registry.count() > self.directory.room.most {
            registry.sweep(incoming.now, self.directory.room);
        }
        Ok(shared)
    }

    /// Lets the links of a request lead to its conversation.
    fn relinked(&self, (shared, flight): Joined<X>) -> Joined<X> {
        let (directory, incoming) = (self.directory, self.incoming);
        let hints = incoming.keys.hints();
        let old = shared.lock().set_hints(hints);
        if old != hints {
            directory.registry.relink(&shared, &old, hints);
        }
        shared.see(incoming.now);
        let (head, elements) = (incoming.head(), directory.commons.elements());
        elements.remember(incoming.keyed, head, &incoming.elements);
        (shared, flight)
    }

    /// Offers the request to these conversations, the longest first.
    fn offered(&self, candidates: &[Arc<Shared<X>>]) -> Result<Option<Joined<X>>, Question<X>> {
        let mut candidates: Vec<&Arc<Shared<X>>> = candidates.iter().collect();
        if candidates.len() > 1 {
            candidates.sort_by_key(|shared| std::cmp::Reverse(shared.lock().turn_ids().len()));
        }
        // Going on comes first: a conversation that goes back gives up its newest turns.
        for relation in [Relation::GoesOn, Relation::GoesBack] {
            for shared in &candidates {
                if let Some(flight) = self.offered_to(shared, relation)? {
                    return Ok(Some((Arc::clone(shared), flight)));
                }
            }
        }
        Ok(None)
    }

    fn offered_to(
        &self,
        shared: &Arc<Shared<X>>,
        relation: Relation,
    ) -> Result<Option<Flight>, Question<X>> {
        let incoming = self.incoming;
        let joining = shared.lock().join(incoming, relation, None);
        let joining = match (joining, &self.known.editions) {
            (Joining::WantsEditions(of), Some((known, editions))) if of == *known => {
                shared.lock().join(incoming, relation, Some(editions))
            }
            (joining, _) => joining,
        };
        Err(Question::Store(match joining {
            Joining::Joined(flight) => return Ok(Some(*flight)),
            Joining::Other => return Ok(None),
            Joining::WantsEditions(of) => Read::Editions(of),
            Joining::WantsOverlay(wanted) => Read::Overlay(Arc::clone(shared), wanted),
        }))
    }

    /// The conversation of the store that the request goes on with.
    fn recovered(&mut self) -> Result<Option<Conversation>, Question<X>> {
        let (directory, incoming) = (self.directory, self.incoming);
        if let Some((stored, recovered)) = self.known.recovered.take() {
            let terms = Arc::clone(&directory.terms);
            return Ok(Some(Conversation::recover(
                terms, incoming, stored, recovered,
            )));
        }
        let Some(headed) = &self.known.headed else {
            return self.ask(Read::Headed(self.turns()?.iter().map(Turn::id).collect()));
        };
        // Those in memory were asked already.
        let is_away = |found: &&Record| directory.registry.get(incoming.tenant, found.id).is_none();
        let found = headed.iter().filter(is_away).cloned().collect();
        match Stored::choose(found, incoming) {
            Some(stored) => self.ask(Read::Conversation(Box::new(stored))),
            None => Ok(None),
        }
    }

    /// The conversation of the agent that started this one.
    fn started_by(&self) -> Option<ConversationId> {
        let labels = &self.incoming.labels;
        let session = labels.session.as_ref()?;
        labels.agent.as_ref()?;
        let parent = labels.parent_agent.clone().unwrap_or_default();
        let registry = &self.directory.registry;
        registry.of_agent(self.incoming.tenant, session, &parent)
    }

    /// The conversation that its client compacted and that these turns go on from, with its pins.
    fn compacted_before(
        &self,
        turns: &[Turn],
    ) -> Result<Option<(ConversationId, Vec<Pin>)>, Question<X>> {
        let (directory, incoming) = (self.directory, self.incoming);
        let Some(answers) = directory.answers.of(incoming.tenant, incoming.now) else {
            return self.ask(Read::Answers(incoming.now));
        };
        let Some(id) = continued(incoming.keyed, turns, &answers) else {
            return Ok(None);
        };
        if let Some(shared) = directory.registry.get(incoming.tenant, id) {
            let pins = shared.lock().pins().iter().cloned().collect();
            return Ok(Some((id, pins)));
        }
        match &self.known.pins {
            Some(pins) => Ok(pins.clone().map(|pins| (id, pins))),
            None => {
                let model = Arc::clone(&incoming.model);
                let limits = directory.terms.pin_limits(&model);
                self.ask(Read::Pins(id, model, limits))
            }
        }
    }
}

fn first(turns: &[Turn]) -> TurnId {
    turns.first().map_or(TurnId::ROOT, Turn::id)
}
