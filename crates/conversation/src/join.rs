//! Takes the turns of a request into the conversation that it goes on with.

use std::sync::Arc;

use context::shrink::Limits as ShrinkLimits;
use context::{Role, TokenCounter, Tokens, Turn, TurnId};
use history::{Change, Edition, Route};
use jiff::Timestamp;
use tokens::{Capability, Model};

use crate::batch::Batch;
use crate::conversation::Conversation;
use crate::decoration::Lines;
use crate::flight::Flight;
use crate::homunculus::{Command, Event, Extent, Homunculus, Limits, Path, Prices, When};
use crate::identity::{Compared, Known, compare, compare_read};
use crate::incoming::Incoming;
use crate::journal::Happened;
use crate::overlay::{Overlay, Wanted};
use crate::rewrite;
use crate::whole::Whole;

/// The relation of a request to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The request continues from the newest turn, or is the same request again.
    GoesOn,
    /// The request continues from an earlier turn, but later than the previous request.
    GoesBack,
    /// The request belongs to another conversation, though both may begin alike.
    Apart,
}

/// The result of offering a request to a conversation.
#[derive(Debug)]
pub enum Joining {
    /// The request joined. The flight holds the turns that it brings.
    Joined(Box<Flight>),
    /// These texts have to be read from the store first; offer it again after [`crate::Input::Overlay`].
    WantsOverlay(Wanted),
    /// The stored changes of these turns have to be read first; offer it again with them.
    WantsEditions(Vec<TurnId>),
    /// The request does not continue this conversation in the way asked for.
    Other,
}

/// The turns that this conversation does not know although they were answered: they were sent on a path
/// that was left, or through another gateway.
fn sent_before(new: &[Turn]) -> Vec<TurnId> {
    let answered = |turn: &Turn| turn.role() == Role::Assistant;
    let last = new.iter().rposition(answered).unwrap_or(0);
    let before = new.iter().take(last).filter(|turn| !answered(turn));
    before.map(Turn::id).collect()
}

impl Conversation {
    /// Offers a request that may go on with this conversation, in the way that `relation` says.
    /// `editions`: the stored changes of turns that it asked for before.
    pub fn join(
        &mut self,
        incoming: &Incoming<'_>,
        relation: Relation,
        editions: Option<&[Edition]>,
    ) -> Joining {
        if self.dialect != incoming.dialect() || incoming.is_of_another_agent(&self.record.labels) {
            return Joining::Other;
        }
        let compared = self.compared(incoming);
        if self.relation(compared.common, incoming) != relation {
            return Joining::Other;
        }
        // Both reads come before the first change: a request that has to wait leaves no trace.
        if self.overlay.is_none() {
            return Joining::WantsOverlay(self.wanted());
        }
        if editions.is_none() {
            let before = sent_before(&compared.new);
            if !before.is_empty() {
                return Joining::WantsEditions(before);
            }
        }
        Joining::Joined(Box::new(self.take(
            incoming,
            relation,
            (compared, editions),
        )))
    }

    fn compared(&self, incoming: &Incoming<'_>) -> Compared {
        let known = Known {
            keys: &self.said.keys,
            ids: self.said.outline.ids(),
        };
        match incoming.turns_read() {
            Some(turns) => compare_read(turns, known.ids),
            None => {
                let counter = incoming.model.counter();
                compare(incoming.request, &incoming.keys, known, &counter)
            }
        }
    }

    fn relation(&self, common: usize, incoming: &Incoming<'_>) -> Relation {
        let is_flying = self.flights.open > 0;
        if common == self.len() {
            let first_new = incoming.request.message(common);
            let first_new = first_new.map(|message| message.role());
            // A request that goes on before the answer is there is a question on the side.
            let is_aside = is_flying && first_new.is_some_and(|role| role != Role::Assistant);
            return if is_aside {
                Relation::Apart
            } else {
                Relation::GoesOn
            };
        }
        // A request under way still builds on the newest turns, so the conversation cannot leave them.
        if common > 0 && common >= self.said.previous && !is_flying {
            return Relation::GoesBack;
        }
        Relation::Apart
    }

    /// Takes a request that goes on with this conversation.
    fn take(
        &mut self,
        incoming: &Incoming<'_>,
        relation: Relation,
        (compared, editions): (Compared, Option<&[Edition]>),
    ) -> Flight {
        let common = compared.common;
        let mut flight = Flight::new(incoming, &compared.new);
        flight.after = (!self.said.outline.is_empty()).then_some(self.record.seen);
        let parent = self.id_before(common);
        // Before `remember`, which replaces the keys of the last request.
        let keys = self.said.keys.iter().zip(incoming.keys.as_slice());
        let same = keys.take_while(|(known, key)| known == key).count();
        self.breakpoints.follow(same, common, &compared.new);
        // Cleared now: a write that fails sets it again, for the next request.
        let is_unkept = std::mem::take(&mut self.said.is_unkept);
        let new = compared.new.clone();
        let mut batch = Batch::turns(incoming.request, common, parent, new);
        // The model first: it decides which changes fit, and how turns are counted.
        self.change_model(incoming);
        // Then its window: the supervisor that a new model brings has the one of the table.
        self.take_lessons(incoming);
        match relation {
            // Before the new turns, which stand on another path now.
            Relation::GoesBack => self.go_back_to(common, incoming, &compared.new),
            _ if incoming.len() > self.len() => self.said.previous = self.len(),
            _ => {}
        }
        // Changes of earlier times before those of now: in this order they were made.
        self.repeat_editions(common, &compared.new, editions);
        batch.editions = self.take_new(incoming, &compared.new);
        if relation == Relation::GoesBack || editions.is_some() {
            // Only now it is known which texts stand beside the turns.
            self.note_restated();
        }
        self.remember(incoming);
        if let Some(newest) = compared.new.last() {
            let newest = Lines::of(incoming.keyed, newest);
            self.said.decorations.follow(newest);
        }
        self.note_overhead(incoming);
        if is_unkept {
            // Last, since it stores the conversation as it is by now.
            batch = Batch::whole(incoming.request, self, incoming.now);
        }
        self.flights.open += 1;
        self.flights.newest += 1;
        flight.turns.head = self.id_before(self.len());
        flight.turns.number = self.flights.newest;
        flight.set_pending(batch);
        flight
    }

    /// Goes back to the first `common` turns, which the client did not leave out.
    fn go_back_to(&mut self, common: usize, incoming: &Incoming<'_>, new: &[Turn]) {
        let decorations = &self.said.decorations;
        let is_decorated = common + 1 == self.len() && decorations.differ(incoming.keyed, new);
        // A message that is sent again without its additions is still said.
        let said = common + usize::from(is_decorated);
        let newest = self.id_before(self.len());
        self.abandon_foreign(said, incoming.now);
        if self.tells_of_others(said) {
            self.show_whole();
            self.supervise(Extent::default());
        }
        self.said.decorations.cut(common);
        if is_decorated {
            self.replace_decorated((newest, said), incoming.now);
        } else {
            self.journal.note(incoming.now, Happened::WentBack);
        }
        if self.place_of(self.record.standing.stripped) > common {
            // The turns that stay lost their thinking with the one that goes, and the provider has no other proof.
            self.record.standing.stripped = self.id_before(common);
        }
        self.go_back(common);
        let known = incoming.turns().get(..common).unwrap_or_default();
        self.take_known(known);
        self.hear(When::Before, known, incoming.now);
        let last = new.iter().rposition(|turn| turn.role() == Role::Assistant);
        if let Some(last) = last {
            // The request before, on this path.
            self.said.previous = common + last;
        }
    }

    /// Remembers a newest message that is sent again without its additions.
    fn replace_decorated(&mut self, (old, place): (TurnId, usize), now: Timestamp) {
        let overlay = self.overlay.iter();
        let marks = overlay.flat_map(|overlay| {
            overlay
                .mark
                .iter()
                .chain(&overlay.ready)
                .chain(&overlay.undone)
        });
        let job = self.supervisor.job.iter().map(|job| job.made_from);
        let used: Vec<TurnId> = marks.map(|mark| mark.made_from).chain(job).collect();
        let decorations = &mut self.said.decorations;
        decorations.replace(old, place);
        decorations.keep(|id| id == old || used.contains(&id));
        if self.supervisor.route == Route::Native {
            // The provider's own summary covers a whole request, and this client sends none of its requests
            // again as it was.
            self.command(Command::Abandon, now);
            self.supervisor.route = Route::Readable;
            self.supervise(self.supervisor.machine.shown());
            self.supervisor.overhead = 0;
        }
    }

    /// Takes turns that were not said before, the oversized results among them shortened.
    fn take_new(&mut self, incoming: &Incoming<'_>, new: &[Turn]) -> Vec<Edition> {
        // Before anything is decided: the agent acted on what it was shown last.
        self.regret(incoming, new, incoming.now);
        let shrunk = self.shrink(incoming, new);
        let counter = incoming.model.counter();
        let first = incoming.len() - new.len();
        let mut editions = Vec::new();
        for (offset, turn) in new.iter().enumerate() {
            let index = first + offset;
            let mut tokens = self.resized(index, turn, &counter);
            for (_, change) in shrunk.iter().filter(|&&(at, _)| at == index) {
                tokens = resized(turn, tokens, change, &counter);
                editions.push(Edition {
                    turn: turn.id(),
                    change: change.clone(),
                    at: incoming.now,
                });
                let overlay = self.overlay.get_or_insert_default();
                overlay.add(index, change.clone());
            }
            self.push(turn, tokens);
        }
        self.hear(When::Now, new, incoming.now);
        editions
    }

    /// The shortened results behind the model's last answer. Those before it were sent before, if not
    /// through here, and must stay as they were.
    fn shrink(&self, incoming: &Incoming<'_>, new: &[Turn]) -> Vec<(usize, Change)> {
        let Some(most) = self.terms.shrink.filter(|_| self.terms.is_on()) else {
            return Vec::new();
        };
        let behind = new
            .iter()
            .rposition(|turn| turn.role() == Role::Assistant)
            .map_or(0, |last| last + 1);
        let newest = new.get(behind..).unwrap_or_default();
        if newest.iter().all(|turn| turn.tokens() <= most) {
            return Vec::new();
        }
        let ids: Vec<TurnId> = newest.iter().map(Turn::id).collect();
        let limits = ShrinkLimits::new(most);
        let machine = &self.supervisor.machine;
        let view = self.view_size(&machine.shown(), self.said.outline.len());
        // Above the soft threshold the next request might have to wait for a summary.
        let most = machine.limits().window.scaled(self.supervisor.soft);
        let room = most.saturating_sub(view);
        let counter = incoming.model.counter();
        rewrite::shrink_new(incoming.request, &ids, (&limits, room), &counter)
    }

    /// Remembers what the next request is recognised by.
    fn remember(&mut self, incoming: &Incoming<'_>) {
        self.said.keys.clear();
        self.said.keys.extend_from_slice(incoming.keys.as_slice());
        self.said.elements = Arc::clone(&incoming.elements);
        // The store finds a conversation by a turn that its client sends again.
        let settled = incoming.len() - usize::from(self.said.decorations.are_known());
        self.record.head = self.id_before(settled);
        self.record.turns = settled as u64;
        self.record.seen = incoming.now;
    }

    /// Follows the client to another model.
    fn change_model(&mut self, incoming: &Incoming<'_>) {
        if Arc::ptr_eq(&self.supervisor.model, &incoming.model) {
            return;
        }
        self.record.model = incoming.name.clone();
        if self.supervisor.model.name == incoming.model.name {
            self.supervisor.model = Arc::clone(&incoming.model);
            return;
        }
        let mut shown = self.supervisor.machine.shown();
        let mark = self.overlay.as_ref();
        let mark = mark.and_then(|overlay| overlay.mark.as_ref());
        let is_native = mark.is_some_and(|mark| mark.route == Route::Native);
        if is_native && !incoming.model.can(Capability::NativeCompaction) {
            // Another model cannot read it: everything is shown until there is another summary.
            shown = Extent::default();
            self.show_whole();
        }
        let before = std::mem::replace(&mut self.supervisor.model, Arc::clone(&incoming.model));
        // Another provider's longer lifetime was not paid for.
        self.supervisor.caches_long &=
            before.cache.lifetime_long == incoming.model.cache.lifetime_long;
        self.supervisor.route = self.terms.route_for(&incoming.model, incoming.dialect());
        self.supervise(shown);
        self.said.whole = Whole::default();
        self.flights.own = None;
        self.supervisor.overhead = 0;
        if let Some(job) = self.supervisor.job.take() {
            self.outbox.push(crate::Effect::Abandon(job.job));
        }
    }

    /// Takes over what other conversations learned: the window, and how long summaries take.
    pub(crate) fn take_lessons(&mut self, incoming: &Incoming<'_>) {
        self.take_window(incoming.learned.window, &incoming.model, incoming.now);
        let writing = incoming.learned.writing;
        self.supervisor.machine.set_writing(writing);
    }

    /// The guards for a model with this window, as its client pays for the cache.
    pub(crate) fn limits_in(&self, window: Tokens, model: &Model) -> Limits {
        let mut limits = self.terms.limits_in(window, model);
        if self.supervisor.caches_long {
            limits.prices = Prices::from(&model.with_long_cache());
        }
        limits
    }

    /// Takes a window that was found to be smaller than believed, or returns to the believed one.
    pub(crate) fn take_window(&mut self, found: Option<Tokens>, model: &Model, now: Timestamp) {
        let believed = self.terms.window(model);
        let window = found.map_or(believed, |found| found.min(believed));
        if self.supervisor.machine.limits().window == window {
            return;
        }
        let limits = self.limits_in(window, model);
        self.supervisor.machine.set_limits(limits);
        self.make_room();
        self.journal.note(now, Happened::Window(window));
    }

    pub(crate) fn note_overhead(&mut self, incoming: &Incoming<'_>) {
        let key = incoming.overhead_key();
        if key == self.supervisor.overhead {
            return;
        }
        let tokens = incoming.overhead();
        self.supervisor.overhead = key;
        self.supervisor.overhead_tokens = tokens;
        self.said.whole.overhead(tokens);
        let event = Event::Overhead { tokens };
        self.supervisor.machine.on(event, incoming.now);
    }

    /// Takes turns that were sent before, as they were shown then.
    pub(crate) fn take_known(&mut self, turns: &[Turn]) {
        let counter = self.supervisor.model.counter();
        for (index, turn) in turns.iter().enumerate() {
            let tokens = self.resized(index, turn, &counter);
            self.push(turn, tokens);
        }
        // The agent was told of refused lines when they were said.
        self.flights.pin_refused = false;
    }

    /// A turn's tokens with the changes that are made to it.
    fn resized(&self, index: usize, turn: &Turn, counter: &dyn TokenCounter) -> Tokens {
        let overlay = self.overlay.iter();
        let changes = overlay.flat_map(|overlay| overlay.changes_of(index));
        changes.fold(turn.tokens(), |tokens, change| {
            resized(turn, tokens, change, counter)
        })
    }

    /// Abandons a summary that is being made, or is ready, where it was made with turns in view that are
    /// not among the first `common`: it tells of them.
    fn abandon_foreign(&mut self, common: usize, now: Timestamp) {
        let job = self.supervisor.job.iter().map(|job| job.made_from);
        let ready = self.overlay.iter();
        let ready = ready.filter_map(|overlay| overlay.ready.as_ref());
        let mut made_from = job.chain(ready.map(|mark| mark.made_from));
        if made_from.all(|head| (1..=common).contains(&self.settled_place_of(head))) {
            return;
        }
        self.command(Command::Abandon, now);
        if let Some(overlay) = &mut self.overlay {
            overlay.ready = None;
        }
    }

    /// Shows turns from `first` on that were sent before as they were shown then.
    fn repeat_editions(&mut self, first: usize, turns: &[Turn], editions: Option<&[Edition]>) {
        let overlay = self.overlay.get_or_insert_default();
        for edition in editions.unwrap_or_default() {
            let Some(offset) = turns.iter().position(|turn| turn.id() == edition.turn) else {
                continue;
            };
            let repeated = (first + offset, edition.change.clone());
            if !overlay.editions.contains(&repeated) {
                overlay.add(repeated.0, repeated.1);
            }
        }
    }

    /// The last of the first `len` turns.
    #[must_use]
    pub fn id_before(&self, len: usize) -> TurnId {
        let last = len.checked_sub(1);
        let id = last.and_then(|last| self.said.outline.ids().get(last));
        id.copied().unwrap_or(TurnId::ROOT)
    }

    /// Shows everything until there is another summary.
    pub(crate) fn show_whole(&mut self) {
        self.record.standing = self.record.standing.whole();
        if let Some(overlay) = &mut self.overlay {
            overlay.clear_front();
        }
    }

    /// Returns true if the summary in front was made while turns were in view that are not among
    /// the first `common`. Such a summary tells of those turns and leaves out names that stood in
    /// them.
    pub(crate) fn tells_of_others(&self, common: usize) -> bool {
        let mark = self.overlay.as_ref();
        let mark = mark.and_then(|overlay| overlay.mark.as_ref());
        mark.is_some_and(|mark| !(1..=common).contains(&self.settled_place_of(mark.made_from)))
    }

    /// Makes a new supervisor, which goes on from what is shown.
    pub(crate) fn supervise(&mut self, shown: Extent) {
        let supervisor = &self.supervisor;
        let strategy = self.terms.host(None, supervisor.route);
        let limits = self.limits_in(self.terms.window(&supervisor.model), &supervisor.model);
        let outline = &self.said.outline;
        let path = Path::new(outline, outline.len(), self.pins.places());
        let strategy = strategy.with_vitals_of(supervisor.machine.strategy());
        let mut machine = Homunculus::resume(strategy, limits, shown, &path);
        machine.number_behind(&supervisor.machine);
        self.supervisor.machine = machine;
        self.make_room();
    }

    /// Texts that must be read from the store before the conversation can be shown. `None` if they
    /// are in memory.
    #[must_use]
    pub fn missing(&self) -> Option<Wanted> {
        self.overlay.is_none().then(|| self.wanted())
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            of: (self.record.id, self.record.standing.compactions),
            has_front: self.supervisor.machine.shown().from > 0,
            mark: self.record.standing.mark,
            undone: self.supervisor.machine.undone(),
            ready: self.supervisor.machine.ready(),
            path: self.said.outline.ids().to_vec(),
        }
    }

    /// Takes texts that were read from the store. A summary that somebody purged is not missed:
    /// everything is shown, and stored, again.
    pub(crate) fn take_overlay(&mut self, overlay: Overlay) {
        if self.overlay.is_some() {
            return;
        }
        let machine = &self.supervisor.machine;
        let is_shown_lost = self.record.standing.mark.is_some() && overlay.mark.is_none();
        let is_ready_lost = machine.ready().is_some() && overlay.ready.is_none();
        let shown = match is_shown_lost {
            true => Extent::default(),
            false => machine.shown(),
        };
        self.overlay = Some(overlay);
        if is_shown_lost {
            self.show_whole();
            self.pins.forget_restated();
        }
        if is_shown_lost || is_ready_lost {
            self.said.is_unkept = true;
            self.supervise(shown);
        }
    }
}

/// A turn's tokens with one more change. Notes and pins that stand beside it are no part of it: what they
/// take is in the provider's count of the view.
pub(crate) fn resized(
    turn: &Turn,
    tokens: Tokens,
    change: &Change,
    counter: &dyn TokenCounter,
) -> Tokens {
    match change {
        Change::Appended(_) | Change::Followed(_) => tokens,
        Change::Shrunk { result, text } => {
            let nth = usize::try_from(*result).unwrap_or(usize::MAX);
            let result = turn.results().nth(nth);
            let was = result.map(|found| counter.count(&found.text));
            tokens.saturating_sub(was.unwrap_or(Tokens::ZERO)) + counter.count(text)
        }
    }
}
