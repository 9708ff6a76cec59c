//! One conversation in memory: its turns, its view and its supervisor.

use std::sync::Arc;

use context::pin::{Origin, Pin, PinId, PinLimits, Pins};
use context::standing::Matter;
use context::{Text, TokenCounter, Tokens, Turn, TurnId};
use history::{Conversation as Record, Standing};
use jiff::Timestamp;
use tokens::{Capability, Model, ModelCounter};
use wire::api::Dialect;

use crate::adaptive::Adaptive;
use crate::bill::Alone;
use crate::breakpoints::Breakpoints;
use crate::decoration::Decorations;
use crate::effect::{Effect, Notice, Order};
use crate::element::Element;
use crate::homunculus::hosted::{Hosted, PinKeeping};
use crate::homunculus::{
    Action, Command, Event, Extent, Homunculus, JobId, Outline, Path, Preparation, Refusal, Size,
    Telemetry, Verdict, When, Words,
};
use crate::identity::Key;
use crate::incoming::Incoming;
use crate::journal::{Happened, Journal};
use crate::ledger::Beside;
use crate::overlay::Overlay;
use crate::pins::{PinBook, wish};
use crate::regret::Regrets;
use crate::rewrite::fits;
use crate::terms::{Mode, Terms};
use crate::view::{Front, View};
use crate::whole::Whole;

/// The turns, without their words.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The turns of the newest request.
    pub outline: Outline,
    /// Its size without the gateway.
    pub whole: Whole,
    /// Their raw keys.
    pub keys: Vec<Key>,
    /// The elements of its list of messages; none where the conversation rests.
    pub elements: Arc<[Element]>,
    /// Links that lead to this conversation.
    pub hints: Vec<u64>,
    /// The number of turns in the request before the newest one.
    pub previous: usize,
    /// The newest message, and those that were sent again without additions.
    pub decorations: Decorations,
    /// The agent's deeds, and the signs that it missed something.
    pub regrets: Regrets,
    /// True if the store lacks turns, so that all of them must be written again.
    pub is_unkept: bool,
}

/// The supervisor and what it was made for.
#[derive(Debug)]
pub(crate) struct Supervisor {
    /// The machine.
    pub machine: Homunculus<Hosted>,
    /// The model of the newest request.
    pub model: Arc<Model>,
    /// True if the client pays for cache entries of the longer kind, as the provider told last.
    pub caches_long: bool,
    /// The route by which summaries are made.
    pub route: history::Route,
    /// The share of the window at which the strategy begins to act.
    pub soft: f64,
    /// The signals that move it. `None`: it stays.
    pub adaptive: Option<Box<Adaptive>>,
    /// The hash of the instructions and tools.
    pub overhead: u64,
    /// Their tokens.
    pub overhead_tokens: Tokens,
    /// The preparation under way.
    pub job: Option<Preparation>,
    /// The summary that was taken back before the conversation came back, where no other is shown since.
    pub undone: Option<String>,
}

/// Requests that are on their way.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    /// The number of requests and preparations under way.
    pub open: u32,
    /// The number of the newest.
    pub newest: u64,
    /// True if the view was above the soft threshold with the previous request.
    pub was_soft: bool,
    /// True if the next request must tell the agent of a swap.
    pub tell: bool,
    /// The number of the last request with which the agent was told of its state.
    pub noted: u64,
    /// True if a line that would pin or unpin was ignored and the agent does not know yet.
    pub pin_refused: bool,
    /// An order from outside, for the next request.
    pub order: Option<Order>,
    /// The texts about a new summary, told with the first request that shows it.
    pub beside: Beside,
    /// The id of the newest answer, by which the provider compares what its cache held.
    pub answer: Option<Box<str>>,
    /// The view that there would have been without the gateway, as of the last answer.
    pub alone: Alone,
    /// The tokens of the note in the view that the provider takes out with the user's next message.
    pub clearing: Tokens,
    /// The tokens of the gateway's own text in the view from this turn on, as far as it stays.
    pub own: Option<(usize, Tokens)>,
}

/// One conversation: what its client said, how it is shown, and the supervisor that decides about it.
///
/// It does no I/O and reads no clock. [`on`](Self::on) takes what happens and gives what has to be done.
#[derive(Debug)]
pub struct Conversation {
    /// The row that the store holds.
    pub(crate) record: Record,
    /// The dialect of its client.
    pub(crate) dialect: Dialect,
    /// The settings.
    pub(crate) terms: Arc<Terms>,
    pub(crate) said: Said,
    pub(crate) supervisor: Supervisor,
    pub(crate) pins: PinBook,
    /// The texts; `None` after they have left memory.
    pub(crate) overlay: Option<Overlay>,
    /// True if some of its texts are in memory only.
    pub(crate) is_overlay_unkept: bool,
    pub(crate) flights: Flights,
    pub(crate) breakpoints: Breakpoints,
    pub(crate) journal: Journal,
    /// Effects that came up on the way to an answer.
    pub(crate) outbox: Vec<Effect>,
}

/// The words of a request that is at hand, and the pins beside it.
#[derive(Debug)]
struct AtHand<'a, 'r> {
    incoming: &'a Incoming<'r>,
    pins: &'a PinBook,
    counter: ModelCounter,
}

impl Words for AtHand<'_, '_> {
    fn turns(&self) -> &[Turn] {
        self.incoming.turns()
    }

    fn pins(&self) -> &Pins {
        self.pins.in_force()
    }

    fn counter(&self) -> &dyn TokenCounter {
        &self.counter
    }
}

/// The machine's answer to a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Decision {
    /// Send it, shown like this. `None`: it is held.
    pub send: Option<Extent>,
    /// Until when it is held at most.
    pub until: Option<Timestamp>,
    /// Make this summary.
    pub prepare: Option<Preparation>,
    /// Something was swapped in.
    pub swapped: bool,
    /// Something else left the view.
    pub reduced: bool,
    /// An undo shows the whole conversation again.
    pub undone: bool,
}

impl Decision {
    /// With what was decided just before.
    pub(crate) fn and(self, before: Self) -> Self {
        Self {
            prepare: self.prepare.or(before.prepare),
            swapped: self.swapped || before.swapped,
            reduced: self.reduced || before.reduced,
            undone: self.undone || before.undone,
            ..self
        }
    }
}

impl Conversation {
    /// The path of the first `len` turns.
    pub(crate) fn path(&self, len: usize) -> Path<'_> {
        Path::new(&self.said.outline, len, self.pins.places())
    }

    /// The number of turns.
    pub(crate) fn len(&self) -> usize {
        self.said.outline.len()
    }

    /// Returns true if the first `len` turns end with this one.
    pub(crate) fn leads_to(&self, len: usize, head: TurnId) -> bool {
        let last = len
            .checked_sub(1)
            .and_then(|last| self.said.outline.ids().get(last));
        last.copied().unwrap_or(TurnId::ROOT) == head
    }

    /// Shows the machine a request of the first `len` turns.
    pub(crate) fn ask_machine(
        &mut self,
        incoming: &Incoming<'_>,
        len: usize,
        now: Timestamp,
    ) -> Decision {
        self.limit_pins();
        let words = AtHand {
            incoming,
            pins: &self.pins,
            counter: self.supervisor.model.counter(),
        };
        let path = Path::new(&self.said.outline, len, self.pins.places()).with_words(&words);
        let actions = self.supervisor.machine.on(Event::Request(path), now);
        self.carry_out(actions, len, now)
    }

    /// Has the machine make the view of the first `len` turns fit, which the provider refused.
    pub(crate) fn fit(&mut self, len: usize, now: Timestamp) -> Decision {
        let path = Path::new(&self.said.outline, len, self.pins.places());
        let actions = self.supervisor.machine.on(Event::Rescue(path), now);
        self.carry_out(actions, len, now)
    }

    /// Tells the machine of something that orders no sending.
    pub(crate) fn tell(&mut self, event: Event<'_>, now: Timestamp) -> Decision {
        let actions = self.supervisor.machine.on(event, now);
        let len = self.len();
        self.carry_out(actions, len, now)
    }

    /// Gives the supervisor an order from outside.
    pub(crate) fn command(
        &mut self,
        command: Command,
        now: Timestamp,
    ) -> (Decision, Option<Refusal>) {
        let len = self.len();
        let path = Path::new(&self.said.outline, len, self.pins.places());
        let event = Event::Command(command, path);
        let actions = self.supervisor.machine.on(event, now);
        let refusal = actions.iter().find_map(|action| match action {
            Action::Acknowledge(told) => match told.verdict {
                Verdict::Refused(refusal) => Some(refusal),
                Verdict::Done => None,
            },
            _ => None,
        });
        (self.carry_out(actions, len, now), refusal)
    }

    /// Takes the newest change of the view back, or shows again what was taken back.
    pub(crate) fn take_back(
        &mut self,
        order: Order,
        now: Timestamp,
    ) -> (Decision, Option<Refusal>) {
        let len = self.len();
        let path = Path::new(&self.said.outline, len, self.pins.places());
        let event = match order {
            Order::Redo => Event::Redo(path),
            _ => Event::Undo(path),
        };
        let actions = self.supervisor.machine.on(event, now);
        let refusal = actions.iter().find_map(|action| match action {
            Action::Refuse(refusal) => Some(*refusal),
            _ => None,
        });
        (self.carry_out(actions, len, now), refusal)
    }

    fn carry_out(&mut self, actions: Vec<Action>, len: usize, now: Timestamp) -> Decision {
        let mut decision = Decision::default();
        for action in actions {
            match action {
                Action::Prepare(order) => decision.prepare = Some(order),
                Action::Abandon(job) => self.abandon(job),
                Action::Show(shown) => {
                    self.show(shown, (len, now), &mut decision);
                    self.tell_crowded_out(shown, now);
                }
                Action::ShowAll => self.show_all(len, &mut decision),
                Action::Send(shown) => decision.send = Some(shown),
                Action::Hold { until } => decision.until = until,
                Action::Telemetry(telemetry) => self.note(&telemetry, now),
                Action::Stop(reason) => {
                    self.journal
                        .note(now, Happened::Stopped(reason.to_string()));
                }
                Action::Unpin(id) => self.unpin(&id, now),
                Action::Pin(pin, turn) => self.pin_for_strategy(pin, turn, now),
                Action::Acknowledge(_)
                | Action::Refuse(_)
                | Action::Retry
                | Action::PassThrough => {}
            }
        }
        decision
    }

    fn unpin(&mut self, id: &str, now: Timestamp) {
        let removed = PinId::parse(id).and_then(|id| self.pins.refuse(id));
        // A strategy may release its own pins without a note.
        if removed.is_some_and(|pin| pin.origin != Origin::Strategy) {
            let why = "the strategy accepts no more pins".to_owned();
            self.journal.note(now, Happened::PinRefused(why));
        }
    }

    fn pin_for_strategy(&mut self, pin: Pin, turn: Option<TurnId>, now: Timestamp) {
        let happened = Happened::StrategyPinned(pin.id, pin.tokens);
        self.journal.note(now, happened);
        let turn = turn.and_then(|turn| Some((self.place_of(turn).checked_sub(1)?, turn)));
        self.pins.take_from_strategy(pin, turn);
    }

    fn note(&mut self, telemetry: &Telemetry, now: Timestamp) {
        let happened = match telemetry {
            Telemetry::Swapped { before, after, .. } => match self.terms.mode {
                Mode::On => Happened::Swapped(*before, *after),
                Mode::Observe => Happened::WouldSwap(*before, *after),
            },
            Telemetry::TakenBack { before, after } => Happened::TakenBack(*before, *after),
            Telemetry::NotShown(after) => Happened::NotShown(*after),
            Telemetry::Branched => Happened::WentBack,
            Telemetry::Overflowed => Happened::Overflowed,
            Telemetry::StrategyFailed(failure) => {
                self.tell_outside(Notice::StrategyFailed(failure.clone()));
                Happened::StrategyFailed(failure.to_string())
            }
            Telemetry::Commanded(command, verdict) => {
                let refused = match verdict {
                    Verdict::Done => None,
                    Verdict::Refused(refusal) => Some(refusal.word()),
                };
                self.tell_outside(Notice::Commanded(command, refused));
                let Some(refused) = refused else { return };
                if matches!(verdict, Verdict::Refused(Refusal::NotPinned { .. })) {
                    // Told with its sizes.
                    return;
                }
                Happened::CommandRefused(command, refused)
            }
            Telemetry::NotPinned(error) => {
                Happened::StrategyPinRefused(error.word(), error.to_string())
            }
            Telemetry::CameToNothing(refusal) => {
                self.tell_outside(Notice::CameToNothing(*refusal));
                return;
            }
            Telemetry::Sent(_) | Telemetry::PreparationFailed(_) | Telemetry::LateResult(_) => {
                return;
            }
        };
        self.journal.note(now, happened);
    }

    /// Has a notice told with the effects of the input at hand.
    pub(crate) fn tell_outside(&mut self, notice: Notice) {
        self.outbox.push(Effect::Tell(notice));
    }

    fn abandon(&mut self, job: JobId) {
        if self
            .supervisor
            .job
            .take_if(|running| running.job == job)
            .is_some()
        {
            self.outbox.push(Effect::Abandon(job));
        }
    }

    /// The view changes: the standing and the texts follow.
    fn show(&mut self, shown: Extent, (len, now): (usize, Timestamp), decision: &mut Decision) {
        let ids = self.said.outline.ids();
        let before = |index: usize| {
            let last = index.checked_sub(1).and_then(|last| ids.get(last));
            last.copied().unwrap_or(TurnId::ROOT)
        };
        let was = self.record.standing;
        let standing = Standing {
            from: before(shown.from),
            cleared: before(shown.cleared),
            mark: shown.mark,
            ..was
        };
        let moved = shown.mark != was.mark || standing.from != was.from;
        let back = shown == Extent::default();
        self.record.standing = standing;
        if back {
            self.record.standing.stripped = TurnId::ROOT;
            if let Some(overlay) = &mut self.overlay {
                overlay.clear_front();
            }
            return;
        }
        let is_on = self.terms.is_on();
        self.record.standing.compactions = was.compactions.saturating_add(1);
        if !is_on {
            self.record.standing.noted = was.noted.saturating_add(1);
        }
        if !moved {
            let happened = match is_on {
                true => Happened::Cleared(shown.cleared),
                false => Happened::WouldClear(shown.cleared),
            };
            self.journal.note(now, happened);
            self.strip_thinking(before(len));
            decision.reduced = true;
            return;
        }
        if let Some(mark) = shown.mark {
            self.journal.shown(mark, is_on);
        }
        let undone = self.supervisor.machine.undone();
        let overlay = self.overlay.get_or_insert_default();
        let old = overlay.mark.clone();
        let ready = overlay
            .ready
            .take_if(|ready| Some(ready.id()) == shown.mark);
        self.flights.beside = match ready {
            Some(_) => std::mem::take(&mut overlay.beside),
            None => Beside::default(),
        };
        let mark = ready.or_else(|| {
            let standing = overlay.mark.take();
            let known = [standing, overlay.undone.take()];
            let mut known = known.into_iter().flatten();
            known.find(|mark| Some(mark.id()) == shown.mark)
        });
        let native = mark
            .as_ref()
            .is_some_and(|mark| mark.route == history::Route::Native);
        let newest = before(len);
        let pins = if native {
            self.pins.forget_restated();
            String::new()
        } else {
            self.pins.restate_all(shown.from)
        };
        overlay.undone = old.filter(|old| Some(old.id()) == undone);
        overlay.mark = mark;
        overlay.pins = pins.into();
        if !native {
            self.strip_thinking(newest);
        }
        decision.swapped = shown.mark != was.mark;
        decision.reduced = !decision.swapped;
        self.flights.tell = true;
    }

    /// Everything is shown again. Thinking that came under the summary is bound to it.
    fn show_all(&mut self, len: usize, decision: &mut Decision) {
        let newest = self.id_before(len);
        let standing = &mut self.record.standing;
        (standing.from, standing.cleared) = (TurnId::ROOT, TurnId::ROOT);
        standing.mark = None;
        if let Some(overlay) = &mut self.overlay {
            overlay.undone = overlay.mark.take();
            overlay.clear_front();
        }
        self.pins.forget_restated();
        self.strip_thinking(newest);
        self.flights.beside = Beside::default();
        self.flights.tell = true;
        decision.undone = true;
    }

    /// Earlier thinking is bound to what is no longer shown as it was; the provider's own summary alone
    /// keeps it valid.
    fn strip_thinking(&mut self, newest: TurnId) {
        if self.supervisor.model.can(Capability::ThinkingBinding) {
            self.record.standing.stripped = newest;
        }
    }

    /// The view of the first `len` turns.
    pub(crate) fn view(&self, shown: Extent, len: usize) -> View {
        let overlay = self.overlay.as_ref();
        let changes = overlay.map(|overlay| overlay.editions.as_slice());
        let changes = changes.unwrap_or_default().iter();
        let front = View::front_of(overlay);
        let standing = match front {
            // The provider's own summary is followed by the turns as they were; the matter is told behind them.
            Front::Native { .. } => Vec::new(),
            _ => self.standing_before(shown.from),
        };
        View {
            front,
            standing,
            from: shown.from,
            cleared: shown.cleared,
            stripped: self.place_of(self.record.standing.stripped).min(len),
            changes: changes
                .filter(|&&(index, _)| index >= shown.from && index < len)
                .filter(|(_, change)| fits(change, self.dialect, &self.supervisor.model))
                .cloned()
                .collect(),
            breakpoints: Vec::new(),
        }
    }

    /// Records standing matter that did not fit.
    fn tell_crowded_out(&mut self, shown: Extent, now: Timestamp) {
        let (texts, tokens) = self.said.outline.standing().crowded_out(shown.from);
        let has_room = self.said.outline.standing().room() > Tokens::ZERO;
        if texts > 0 && has_room {
            self.journal.note(now, Happened::CrowdedOut(texts, tokens));
        }
    }

    /// The standing matter in front of the turns from `from` on.
    pub(crate) fn standing_before(&self, from: usize) -> Vec<(usize, Matter)> {
        let keeps_system = self.dialect.facts().layout.keeps_system;
        let entries = self.said.outline.standing().before(from);
        entries
            .map(|entry| (entry.turn, entry.matter))
            .filter(|(_, matter)| !(keeps_system && *matter == Matter::System))
            .collect()
    }

    /// Gives standing matter its room.
    pub(crate) fn make_room(&mut self) {
        let room = self.supervisor.machine.limits().standing();
        self.said.outline.set_room(room);
    }

    /// The number of turns up to and including `id`, or what replaced it; 0 if neither is among them.
    pub(crate) fn settled_place_of(&self, id: TurnId) -> usize {
        match self.place_of(id) {
            0 => self.said.decorations.place_of(id),
            place => place,
        }
    }

    /// The number of turns up to and including `id`; 0 if `id` is not among them.
    pub(crate) fn place_of(&self, id: TurnId) -> usize {
        if id == TurnId::ROOT {
            return 0;
        }
        let ids = self.said.outline.ids();
        ids.iter()
            .rposition(|&other| other == id)
            .map_or(0, |index| index + 1)
    }

    /// Takes the next turn of the path, shown with so many tokens.
    pub(crate) fn push(&mut self, turn: &Turn, tokens: Tokens) {
        let counter = self.supervisor.model.counter();
        self.limit_pins();
        let known: Vec<PinId> = self.pins.iter().map(|pin| pin.id).collect();
        let refused = match self.terms.pins {
            PinKeeping::Restated => self.pins.take(self.said.outline.len(), turn, &counter),
            PinKeeping::Ignored => Vec::new(),
        };
        self.flights.pin_refused |= !refused.is_empty();
        let at = turn.at().unwrap_or(self.record.seen);
        for error in refused {
            let happened = Happened::PinRefused(error.to_string());
            self.journal.note(at, happened);
        }
        self.said.outline.push(turn, tokens);
        let new = self.pins.iter().filter(|pin| !known.contains(&pin.id));
        let new: Vec<Pin> = new.cloned().collect();
        for pin in new {
            self.flights.pin_refused |= !self.keeps(&pin, at);
        }
    }

    /// Holds new pins to the window in force, which models and refusals change.
    pub(crate) fn limit_pins(&mut self) {
        let window = self.supervisor.machine.limits().window;
        self.pins.set_limits(PinLimits::of_window(window));
    }

    /// Asks the strategy whether a pin that was set is kept; one that is not is taken away.
    pub(crate) fn keeps(&mut self, pin: &Pin, now: Timestamp) -> bool {
        let id = pin.id.to_string();
        let wish = wish(pin, &id);
        let len = self.len();
        let path = Path::new(&self.said.outline, len, self.pins.places());
        let actions = self.supervisor.machine.on(Event::Pinned(wish, path), now);
        // Nothing else is ordered about a pin.
        self.carry_out(actions, len, now);
        self.pins.has(pin.id)
    }

    /// Shows the strategy turns that were said.
    pub(crate) fn hear(&mut self, when: When, turns: &[Turn], now: Timestamp) {
        // Nothing is ordered about them before there is a request.
        self.supervisor.machine.on(Event::Said(when, turns), now);
        if when == When::Before {
            self.said.regrets.recall(turns);
        }
        self.adapt(when, turns, now);
    }

    /// Sees which pins are restated by what is sent beside the turns.
    pub(crate) fn note_restated(&mut self) {
        let from = self.place_of(self.record.standing.from);
        let overlay = self.overlay.as_ref();
        let texts = overlay
            .map(|overlay| overlay.texts(from))
            .unwrap_or_default();
        self.pins.are_restated_by(texts.iter().map(String::as_str));
    }

    /// Forgets all turns, to take those of another path: the client went back.
    pub(crate) fn go_back(&mut self, common: usize) {
        self.said.outline = Outline::within(self.said.outline.standing().room());
        self.said.keys.clear();
        self.pins.forget_said(common);
        if let Some(overlay) = &mut self.overlay {
            overlay.cut(common);
        }
        self.flights.own = None;
    }

    /// The first `len` turns without pins: the path of the conversation as it was said.
    pub(crate) fn said_path(&self, len: usize) -> Path<'_> {
        Path::new(&self.said.outline, len, &[])
    }

    /// The tokens of the conversation as it was said, as the provider counts them.
    pub(crate) fn whole_size(&self, len: usize) -> Tokens {
        self.said.whole.size(&self.said_path(len))
    }

    /// The tokens of a view, as the provider counts them.
    pub(crate) fn view_size(&self, shown: &Extent, len: usize) -> Tokens {
        self.supervisor.machine.size(shown, &self.path(len)).all()
    }

    /// The tokens that are sent, of the conversation as it was said and of its view: in mode observe the request
    /// goes out as it came.
    pub(crate) fn sent_of(&self, (unchanged, view): (Tokens, Tokens)) -> Tokens {
        match self.terms.mode {
            Mode::On => view,
            Mode::Observe => unchanged,
        }
    }

    /// The row for the store, as of now.
    pub(crate) fn to_record(&self) -> Record {
        let mut stored = self.supervisor.machine.strategy().to_stored();
        // A guess is made again.
        let known = |size: Size| (size.guessed == Tokens::ZERO).then(|| size.known.get());
        let undone = self.supervisor.machine.undone();
        let earlier = self.supervisor.undone.clone();
        stored.undone = undone
            .map(|mark| mark.to_string())
            .or_else(|| earlier.filter(|_| self.record.standing.mark.is_none()));
        stored.sent = known(self.supervisor.machine.sent());
        let counted = self.said.whole.counted();
        stored.whole = counted.map(|(whole, view)| (whole.get(), view.get()));
        stored.alone = self.flights.alone.kept();
        let clearing = self.flights.clearing;
        stored.clearing = (clearing > Tokens::ZERO).then(|| clearing.get());
        stored.caches_long = self.supervisor.caches_long;
        stored.noted = !self.terms.is_on();
        Record {
            // A program that cannot be written begins anew after a restart.
            strategy: serde_json::to_string(&stored).ok().map(Text::from),
            ..self.record.clone()
        }
    }

    /// Returns true if a request or a preparation is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.flights.open > 0 || self.supervisor.job.is_some()
    }

    /// Lets go of memory that an idle conversation does not need.
    pub(crate) fn rest(&mut self) {
        // Editions of a request that failed are as unkept as its turns; the next request stores both.
        if !self.is_overlay_unkept && !self.said.is_unkept {
            self.overlay = None;
        }
        self.supervisor.machine.rest();
        self.said.outline.shrink_to_fit();
        self.said.keys.shrink_to_fit();
        self.said.regrets.rest();
        self.said.elements = Arc::default();
    }

    /// The bytes it holds on the heap, as far as they grow with the conversation.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.said.outline.bytes()
            + self.said.keys.capacity() * size_of::<Key>()
            + self.said.hints.capacity() * size_of::<u64>()
            + size_of_val(&*self.said.elements)
            + self.said.regrets.bytes()
            + self.supervisor.machine.strategy().bytes()
            + self.overlay.as_ref().map_or(0, Overlay::bytes)
            + self
                .supervisor
                .adaptive
                .as_deref()
                .map_or(0, Adaptive::bytes)
            + self.journal.bytes()
    }
}
