//! Makes a conversation in memory: a new one, a branch of another, or one from the store.

use std::sync::Arc;

use context::pin::{Pin, PinId, PinLimits};
use context::title::title;
use context::{Text, Tokens, Turn, TurnId};
use history::{
    Conversation as Record, ConversationId, HistoryError, Labels, Mark, Owner, Pinned, Route,
    Standing, Store, Tenant, Totals,
};
use jiff::Timestamp;

use crate::adaptive::Adaptive;
use crate::batch::Batch;
use crate::bill::Alone;
use crate::breakpoints::Breakpoints;
use crate::conversation::{Conversation, Flights, Said, Supervisor};
use crate::homunculus::hosted::StoredStrategy;
use crate::homunculus::{Extent, Homunculus, Path, Restored, When};
use crate::incoming::Incoming;
use crate::journal::{Happened, Journal};
use crate::ledger::Beside;
use crate::overlay::{Overlay, Wanted, pins_key};
use crate::pins::PinBook;
use crate::terms::Terms;

/// Other conversations that a new one is related to.
#[derive(Debug, Default)]
pub struct Kin {
    /// The conversation that it branches off from, what it inherits, and how many turns they share.
    pub branch: Option<(ConversationId, Inherited, usize)>,
    /// The conversation that its client compacted, with its pins.
    pub before: Option<(ConversationId, Vec<Pin>)>,
    /// The conversation of the agent that started this one.
    pub started_by: Option<ConversationId>,
}

/// State that a conversation takes over from the store, or from the conversation it branched off.
#[derive(Debug)]
pub struct Inherited {
    standing: Standing,
    overlay: Overlay,
    pins: Vec<Pin>,
}

impl Default for Inherited {
    fn default() -> Self {
        Self {
            standing: Standing::WHOLE,
            overlay: Overlay::default(),
            pins: Vec::new(),
        }
    }
}

/// The id of a conversation that begins with a request.
#[must_use]
pub fn new_id(
    secret: &[u8; 32],
    tenant: Tenant,
    (head, number): (TurnId, u64),
    now: Timestamp,
) -> ConversationId {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(tenant.as_bytes());
    hasher.update(head.as_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(&now.as_nanosecond().to_le_bytes());
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    ConversationId::from_bytes(id)
}

/// A conversation as the store has it, with what has to be read to go on with it.
#[derive(Clone, Debug)]
pub struct Stored {
    record: Record,
    /// The number of turns of the request that it knows.
    known: usize,
    wanted: Wanted,
    /// The turns that are shown, on which a newer summary may stand.
    behind: Vec<TurnId>,
}

/// The rows of one conversation, read from the store.
#[derive(Debug)]
pub struct Recovered {
    overlay: Overlay,
    pins: Vec<Pinned>,
    made: Option<(Mark, Beside)>,
    journal: Option<Text>,
    /// True if the store has damaged turns of it.
    is_damaged: bool,
}

impl Stored {
    /// The record among `found` that goes on deepest in a request with these turns.
    #[must_use]
    pub fn choose(found: Vec<Record>, incoming: &Incoming<'_>) -> Option<Self> {
        let path: Vec<TurnId> = incoming.turns().iter().map(Turn::id).collect();
        let depth = |head: TurnId| path.iter().rposition(|&id| id == head);
        let mut record = found
            .into_iter()
            .filter(|found| !incoming.is_of_another_agent(&found.labels))
            .max_by_key(|found| (depth(found.head), found.seen))?;
        let known = depth(record.head)? + 1;
        let standing = record.standing;
        let from = depth(standing.from).map_or(0, |last| last + 1);
        if record.labels == Labels::default() {
            record.labels = incoming.labels.clone();
        }
        // Earlier versions kept none.
        record.title = record
            .title
            .or_else(|| title(incoming.turns()).map(Text::from));
        Some(Self {
            wanted: Wanted {
                of: (record.id, standing.compactions),
                has_front: standing.from != TurnId::ROOT,
                mark: standing.mark,
                undone: None,
                ready: None,
                path: path.clone(),
            },
            behind: path.get(from..known).unwrap_or_default().to_vec(),
            record,
            known,
        })
    }

    /// Reads what is needed to go on.
    ///
    /// # Errors
    /// Where the store fails.
    pub fn load(&self, store: &dyn Store) -> Result<Recovered, HistoryError> {
        Ok(Recovered {
            made: self.newest_mark(store)?,
            overlay: self.wanted.load(store)?,
            pins: store.pins(self.record.id)?,
            journal: store.journal(self.record.id)?,
            is_damaged: store.is_damaged(&self.wanted.path),
        })
    }

    /// The newest summary on the shown turns that does not stand already, and the identifiers beside it.
    /// One that was made with turns in view that are not on this path tells of another branch.
    fn newest_mark(&self, store: &dyn Store) -> Result<Option<(Mark, Beside)>, HistoryError> {
        let (standing, path) = (self.wanted.mark, &self.wanted.path);
        let strategy = self.record.strategy.as_deref();
        let stored = strategy.and_then(|text| serde_json::from_str::<StoredStrategy>(text).ok());
        // A summary that the user took back does not come back by itself.
        let undone = stored.and_then(|stored| stored.undone);
        for &node in self.behind.iter().rev() {
            let mut marks = store.marks_at(node)?.into_iter().rev();
            let is_undone = |mark: &Mark| undone.as_deref() == Some(mark.id().to_string().as_str());
            let own = |mark: &Mark| {
                is_undone(mark) || Some(mark.id()) != standing && path.contains(&mark.made_from)
            };
            if let Some(mark) = marks.find(own) {
                if is_undone(&mark) {
                    // Older ones were replaced by it.
                    return Ok(None);
                }
                let beside = Beside::load(store, mark.id())?;
                return Ok(Some((mark, beside)));
            }
        }
        Ok(None)
    }
}

impl Conversation {
    /// A conversation that begins with this request, and what has to be stored of it. Offer the request
    /// to it afterwards.
    #[must_use]
    pub fn begin(
        id: ConversationId,
        terms: Arc<Terms>,
        incoming: &Incoming<'_>,
        kin: Kin,
    ) -> (Self, Batch) {
        let turns = incoming.turns();
        let Kin {
            branch,
            before,
            started_by,
        } = kin;
        let branched = branch.as_ref().map(|(from, _, common)| (*from, *common));
        let (happened, parent) = match (&before, branched) {
            (Some((before, _)), _) => (Happened::GoesOn, Some(*before)),
            (None, Some((from, common))) => (Happened::Branched(common), Some(from)),
            (None, None) => (Happened::Began, started_by),
        };
        let record = Record {
            id,
            parent,
            head: TurnId::ROOT,
            turns: 0,
            labels: incoming.labels.clone(),
            title: title(turns).map(Text::from),
            model: incoming.name.clone(),
            standing: Standing::WHOLE,
            strategy: None,
            totals: Totals::default(),
            began: incoming.now,
            seen: incoming.now,
        };
        let (mut inherited, old) = match branch {
            Some((_, inherited, common)) => (inherited, common),
            None => (Inherited::default(), 0),
        };
        // A pin of both is set once.
        let pins = before.into_iter().flat_map(|(_, pins)| pins);
        inherited.pins.extend(pins);
        let old = turns.get(..old).unwrap_or_default();
        let mut begun = Self::revive(terms, incoming, record, (old, inherited));
        begun.journal.note(incoming.now, happened);
        let pins = begun.pins.outside(usize::MAX).into_iter();
        let mut batch = Batch {
            pins: pins.map(|pin| Pinned { pin, said_in: None }).collect(),
            ..Batch::default()
        };
        let pins = begun.overlay.as_ref().map(|overlay| overlay.pins.clone());
        if let Some(pins) = pins.filter(|pins| !pins.is_empty()) {
            let key = pins_key(id, begun.record.standing.compactions);
            batch.texts.push((Owner::Conversation(id), key, pins));
        }
        // The stored row counts the request's turns already. In memory they come with `join`.
        batch.conversation = Some(Record {
            head: incoming.last_id(),
            turns: turns.len() as u64,
            ..begun.record.clone()
        });
        (begun, batch)
    }

    /// A conversation from the store. Offer the request to it afterwards.
    #[must_use]
    pub fn recover(
        terms: Arc<Terms>,
        incoming: &Incoming<'_>,
        stored: Stored,
        recovered: Recovered,
    ) -> Self {
        let Stored { record, known, .. } = stored;
        let said = recovered.pins.iter();
        let said: Vec<(PinId, TurnId)> = said
            .filter_map(|it| Some((it.pin.id, it.said_in?)))
            .collect();
        let standing = record.standing;
        let strategy = record.strategy.as_deref();
        let kept = strategy.and_then(|text| serde_json::from_str::<StoredStrategy>(text).ok());
        // In mode observe, all of it was sent last.
        let was_whole = terms.is_on() && kept.as_ref().is_some_and(|kept| kept.noted);
        let mut overlay = recovered.overlay;
        let noted = match was_whole {
            true => overlay.mark.take(),
            false => None,
        };
        if was_whole {
            overlay.clear_front();
        }
        let inherited = Inherited {
            standing: match was_whole {
                true => standing.whole(),
                false => standing,
            },
            overlay,
            pins: recovered.pins.into_iter().map(|it| it.pin).collect(),
        };
        let old = incoming.turns().get(..known).unwrap_or_default();
        let strategy = record.strategy.clone();
        let mut live = Self::revive(terms, incoming, record, (old, inherited));
        live.supervisor.undone = kept.and_then(|kept| kept.undone);
        let mark = live.overlay.as_ref().and_then(|it| it.mark.as_ref());
        let made_from = mark.map(|mark| mark.made_from);
        if let Some(replaced) = made_from.filter(|&id| id != TurnId::ROOT && live.place_of(id) == 0)
        {
            // It stood here, so what it was made from was only replaced.
            live.said.decorations.replace(replaced, known);
        }
        for (id, turn) in said {
            if let Some(index) = live.place_of(turn).checked_sub(1) {
                live.pins.stands_in(id, index);
            }
        }
        if let Some(text) = &recovered.journal {
            live.journal = Journal::read(text);
        }
        // The request has the turns again that the store has lost.
        live.said.is_unkept |= recovered.is_damaged;
        live.journal.note(incoming.now, Happened::CameBack);
        // Another model counts otherwise, and has accepted nothing yet.
        if live.record.model == incoming.name {
            // Where a summary is gone, all turns are shown, and the stored count is of another view.
            let is_as_it_was = was_whole || live.record.standing == standing;
            let counted = strategy.filter(|_| is_as_it_was);
            live.come_back(incoming, counted.as_deref(), was_whole);
        }
        let noted = noted.map(|mark| (Mark::clone(&mark), Beside::default()));
        if let Some((made, beside)) = recovered.made.or(noted) {
            live.restore(made, beside);
        }
        live
    }

    /// The provider accepted this view before. Its count stands beside the stored strategy.
    /// After mode observe it is the whole conversation's.
    fn come_back(&mut self, incoming: &Incoming<'_>, strategy: Option<&str>, was_whole: bool) {
        self.note_overhead(incoming);
        let stored = strategy.and_then(|text| serde_json::from_str::<StoredStrategy>(text).ok());
        let (mut sent, mut whole) = (None, None);
        if let Some(stored) = stored {
            (sent, whole) = (stored.sent, stored.whole);
            self.cache_is_long(stored.caches_long);
            self.flights.clearing = Tokens::new(stored.clearing.unwrap_or_default());
            let shown = self.supervisor.machine.shown();
            let clears = self.flights.clearing;
            let alone = stored.alone.map(|kept| Alone::resume(kept, shown, clears));
            self.flights.alone = alone.unwrap_or_default();
        }
        let outline = &self.said.outline;
        let path = Path::new(outline, outline.len(), &[]);
        let whole = whole.map(|(whole, view)| (Tokens::new(whole), Tokens::new(view)));
        let shown = match was_whole {
            true => Extent::default(),
            false => self.supervisor.machine.shown(),
        };
        self.said.whole.accept((shown, &path), whole);
        if was_whole {
            // What is added to it now was not counted.
            return;
        }
        let path = Path::new(outline, outline.len(), self.pins.places());
        let machine = &mut self.supervisor.machine;
        let counted = sent.map(Tokens::new);
        machine.accepted(&path, counted, self.record.seen);
        let window = machine.limits().window;
        self.flights.was_soft = machine.sent().all() >= window.scaled(self.supervisor.soft);
    }

    /// A conversation of the turns that were said so far. The request's own are taken when it joins.
    fn revive(
        terms: Arc<Terms>,
        incoming: &Incoming<'_>,
        record: Record,
        (turns, inherited): (&[Turn], Inherited),
    ) -> Self {
        let model = &incoming.model;
        let counter = model.counter();
        let mut pins = PinBook::default();
        for pin in &inherited.pins {
            pins.restore(pin, &counter);
        }
        let route = terms.route_for(model, incoming.dialect());
        let machine = Homunculus::new(terms.host(None, route), terms.limits(model));
        let mut live = Self {
            record,
            dialect: incoming.dialect(),
            said: Said::default(),
            supervisor: Supervisor {
                machine,
                model: Arc::clone(model),
                caches_long: false,
                route,
                soft: terms.acts_from(),
                adaptive: Adaptive::of(&terms),
                overhead: 0,
                overhead_tokens: Tokens::ZERO,
                job: None,
                undone: None,
            },
            terms,
            pins,
            overlay: Some(inherited.overlay),
            is_overlay_unkept: false,
            flights: Flights::default(),
            breakpoints: Breakpoints::default(),
            journal: Journal::default(),
            outbox: Vec::new(),
        };
        live.make_room();
        // Where nothing was said before, the request brings all of it.
        if turns.is_empty() {
            return live;
        }
        // Before `resume`, which looks up the stored turns by their places.
        live.take_known(turns);
        let keys = incoming.keys.as_slice().get(..turns.len());
        live.said.keys = keys.unwrap_or_default().to_vec();
        live.said.previous = turns.len();
        live.resume(inherited.standing);
        // After `resume`, which makes a new machine: the old one's memory would be lost.
        live.hear(When::Before, turns, incoming.now);
        live
    }

    fn resume(&mut self, standing: Standing) {
        let overlay = self.overlay.get_or_insert_default();
        let mark = overlay.mark.as_ref();
        let is_mark_lost = standing.mark.is_some() && mark.is_none();
        let shown = Extent {
            summary: mark.map_or(Tokens::ZERO, |mark| mark.tokens),
            from: self.place_of(standing.from),
            cleared: self.place_of(standing.cleared),
            mark: standing.mark,
        };
        let is_place_lost = shown.from == 0 && standing.from != TurnId::ROOT;
        if is_mark_lost || is_place_lost {
            // Its summary is gone: everything is shown again.
            self.record.standing = standing.whole();
            return;
        }
        self.record.standing = standing;
        let stored = self.record.strategy.take();
        let strategy = self.terms.host(stored.as_deref(), self.supervisor.route);
        let model = &self.supervisor.model;
        let limits = self.limits_in(self.terms.window(model), model);
        let path = self.path(self.len());
        self.supervisor.machine = Homunculus::resume(strategy, limits, shown, &path);
        self.note_restated();
    }

    /// Makes a summary that was ready before a restart ready again, if it can be shown here.
    fn restore(&mut self, mark: Mark, beside: Beside) {
        let is_native = mark.route == Route::Native;
        if is_native && self.supervisor.route != Route::Native {
            return;
        }
        let made = Restored {
            cut: self.place_of(mark.node),
            mark: mark.id(),
            tokens: mark.tokens,
            since: mark.at,
        };
        let outline = &self.said.outline;
        let path = Path::new(outline, outline.len(), self.pins.places());
        self.supervisor.machine.restore(&made, &path);
        if self.supervisor.machine.ready() == Some(made.mark) {
            let overlay = self.overlay.get_or_insert_default();
            overlay.ready = Some(Arc::new(mark));
            overlay.beside = beside;
        }
    }

    /// State that a branch takes over with the first `common` turns.
    #[must_use]
    pub fn bequeath(&self, common: usize) -> Inherited {
        let standing = self.record.standing;
        let pins = self.pins.outside(common);
        let mut overlay = self.overlay.clone().unwrap_or_default();
        overlay.ready = None;
        overlay.beside = Beside::default();
        overlay.cut(common);
        let from = self.place_of(standing.from);
        if from >= common || self.tells_of_others(common) {
            // Everything is shown again, with the changes made to it.
            overlay.clear_front();
            return Inherited {
                standing: Standing::WHOLE,
                overlay,
                pins,
            };
        }
        let within = |id: TurnId| match self.place_of(id) <= common {
            true => id,
            false => self.id_before(common),
        };
        Inherited {
            standing: Standing {
                cleared: within(standing.cleared),
                stripped: within(standing.stripped),
                noted: 0,
                inherited: standing.compactions,
                ..standing
            },
            overlay,
            pins,
        }
    }

    /// Returns the number of leading turns that it shares with these.
    #[must_use]
    pub fn shares(&self, turns: &[Turn]) -> usize {
        let pairs = turns.iter().zip(self.said.outline.ids());
        pairs.take_while(|&(turn, id)| turn.id() == *id).count()
    }
}

/// The pins of a conversation that is not in memory: its store's, and those that its turns say.
///
/// # Errors
/// Where the store fails.
pub fn stored_pins(
    store: &dyn Store,
    id: ConversationId,
    held_to: (PinLimits, &dyn context::TokenCounter),
) -> Result<Option<Vec<Pin>>, HistoryError> {
    let Some(record) = store.conversation(id)? else {
        return Ok(None);
    };
    let path = store.path(record.head)?;
    let book = PinBook::of(&store.pins(id)?, &path, held_to);
    Ok(Some(book.iter().cloned().collect()))
}
