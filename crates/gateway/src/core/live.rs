//! One conversation in memory: what is known of its turns, and its supervisor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use context::pin::{Pin, PinId};
use context::{Text, Tokens, Turn, TurnId};
use conversation::homunculus::hosted::{Hosted, StrategyFailure};
use conversation::homunculus::{
    Action, Event, Homunculus, JobId, Outline, Path, Preparation, Shown, Telemetry, When, Wish,
};
use history::{Conversation, ConversationId, Standing, Tenant};
use jiff::Timestamp;
use tokens::{Capability, Model};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use wire::api::Dialect;

use super::dress::{Dress, FrontText, Look};
use super::identity::Key;
use super::journal::{Happened, Journal};
use super::pins::PinBook;
use super::recall::Element;
use crate::report::Order;
use crate::rewrite::fits;

/// A conversation that requests, preparations and reports have in common. Its lock is never held while
/// something is waited for.
pub(super) struct Shared {
    /// Its id.
    pub id: ConversationId,
    /// Whose it is.
    pub tenant: Tenant,
    /// Wakes requests that are held when a preparation has ended.
    pub settled: Notify,
    /// Whether a provider ever answered it. One that was only refused is told to nobody.
    answered: AtomicBool,
    /// When it was last seen, in milliseconds; read without the lock.
    seen: AtomicI64,
    live: Mutex<Live>,
}

impl Shared {
    pub(super) fn new(tenant: Tenant, live: Live) -> Self {
        Self {
            id: live.record.id,
            tenant,
            settled: Notify::new(),
            answered: AtomicBool::new(false),
            seen: AtomicI64::new(live.record.seen.as_millisecond()),
            live: Mutex::new(live),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A provider answered it.
    pub(super) fn was_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Whether a provider ever answered it.
    pub(super) fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(super) fn seen(&self) -> i64 {
        self.seen.load(Ordering::Relaxed)
    }

    pub(super) fn see(&self, now: Timestamp) {
        self.seen.store(now.as_millisecond(), Ordering::Relaxed);
    }
}

/// What was said, without its words.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The turns of the newest request.
    pub outline: Outline,
    /// Their raw keys.
    pub keys: Vec<Key>,
    /// The elements of its list of messages; none where the conversation rests.
    pub elements: Arc<[Element]>,
    /// What leads to this conversation.
    pub hints: Vec<u64>,
    /// How many turns the request before the newest one had.
    pub previous: usize,
    /// Whether the store lacks turns, so that all must be written again.
    pub is_unkept: bool,
}

/// The supervisor and what it was made for.
pub(super) struct Supervisor {
    /// The machine.
    pub machine: Homunculus<Hosted>,
    /// The model of the newest request.
    pub model: Arc<Model>,
    /// How summaries are made.
    pub route: history::Route,
    /// The share of the window at which the strategy begins to act.
    pub soft: f64,
    /// The hash of the instructions and tools.
    pub overhead: u64,
    /// Their tokens.
    pub overhead_tokens: Tokens,
    /// The preparation under way.
    pub job: Option<Job>,
}

/// A preparation under way.
#[derive(Debug)]
pub(super) struct Job {
    /// Its order.
    pub order: Preparation,
    /// Ends it.
    pub cancel: CancellationToken,
}

/// Requests that are on their way.
#[derive(Debug, Default)]
pub(super) struct Flights {
    /// How many are.
    pub open: u32,
    /// The number of the newest.
    pub newest: u64,
    /// Whether the view was above the soft threshold with it.
    pub was_soft: bool,
    /// Whether the next request is to tell the agent of a swap.
    pub tell: bool,
    /// The number of the last request with which the agent was told of its state.
    pub noted: u64,
    /// Whether a line that would pin or unpin was not obeyed, and nobody was told.
    pub pin_refused: bool,
    /// The strategy failed when it was asked about a pin, and nobody was told.
    pub strategy_failed: Option<StrategyFailure>,
    /// What was ordered from outside, for the next request.
    pub order: Option<Order>,
    /// Identifiers that the next request is to tell, since a summary that it shows does not name them.
    pub ledger: Text,
    /// The id of the newest answer, by which the provider compares what its cache held.
    pub answer: Option<Box<str>>,
}

/// A conversation in memory.
pub(super) struct Live {
    /// What the store keeps of it.
    pub record: Conversation,
    /// What its client speaks.
    pub dialect: Dialect,
    /// What was said.
    pub said: Said,
    /// Its supervisor.
    pub supervisor: Supervisor,
    /// Its pins.
    pub pins: PinBook,
    /// Its texts; `None` where they have left memory.
    pub dress: Option<Dress>,
    /// Whether some of its texts are in memory only.
    pub is_dress_unkept: bool,
    /// Its requests.
    pub flights: Flights,
    /// What happened.
    pub journal: Journal,
}

/// What the machine said to a request.
#[derive(Debug, Default)]
pub(super) struct Decision {
    /// Send it, shown like this. `None`: it is held.
    pub send: Option<Shown>,
    /// Until when it is held at most.
    pub until: Option<Timestamp>,
    /// Make this summary.
    pub prepare: Option<Preparation>,
    /// Something was swapped in.
    pub swapped: bool,
    /// Something else left the view.
    pub reduced: bool,
    /// What the strategy did that it may not.
    pub failed: Option<StrategyFailure>,
}

impl Decision {
    /// With what was decided just before.
    pub(super) fn and(self, before: Self) -> Self {
        Self {
            prepare: self.prepare.or(before.prepare),
            swapped: self.swapped || before.swapped,
            reduced: self.reduced || before.reduced,
            failed: self.failed.or(before.failed),
            ..self
        }
    }
}

impl Live {
    /// The path of the first `len` turns.
    pub(super) fn path(&self, len: usize) -> Path<'_> {
        Path::new(&self.said.outline, len, self.pins.places())
    }

    /// How many turns there are.
    pub(super) fn len(&self) -> usize {
        self.said.outline.len()
    }

    /// Whether the first `len` turns end with this one.
    pub(super) fn leads_to(&self, len: usize, head: TurnId) -> bool {
        let last = len
            .checked_sub(1)
            .and_then(|last| self.said.outline.ids().get(last));
        last.copied().unwrap_or(TurnId::ROOT) == head
    }

    /// Shows the machine a request of the first `len` turns.
    pub(super) fn ask(&mut self, len: usize, now: Timestamp) -> Decision {
        let path = Path::new(&self.said.outline, len, self.pins.places());
        let actions = self.supervisor.machine.on(Event::Request(path), now);
        self.carry_out(actions, len, now)
    }

    /// Has the machine make the view of the first `len` turns fit, which the provider refused.
    pub(super) fn fit(&mut self, len: usize, now: Timestamp) -> Decision {
        let path = Path::new(&self.said.outline, len, self.pins.places());
        let actions = self.supervisor.machine.on(Event::Rescue(path), now);
        self.carry_out(actions, len, now)
    }

    /// Tells the machine of something that orders no sending.
    pub(super) fn tell(&mut self, event: Event<'_>, now: Timestamp) -> Decision {
        let actions = self.supervisor.machine.on(event, now);
        let len = self.len();
        self.carry_out(actions, len, now)
    }

    /// Gives the supervisor an order from outside.
    pub(super) fn command(
        &mut self,
        command: conversation::homunculus::Command,
        now: Timestamp,
    ) -> (Decision, Option<conversation::homunculus::Refusal>) {
        let len = self.len();
        let path = Path::new(&self.said.outline, len, self.pins.places());
        let event = Event::Command(command, path);
        let actions = self.supervisor.machine.on(event, now);
        let refusal = actions.iter().find_map(|action| match action {
            Action::Acknowledge(told) => match told.verdict {
                conversation::homunculus::Verdict::Refused(refusal) => Some(refusal),
                conversation::homunculus::Verdict::Done => None,
            },
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
                Action::Show(shown) => self.show(shown, len, &mut decision),
                Action::Send(shown) => decision.send = Some(shown),
                Action::Hold { until } => decision.until = until,
                Action::Telemetry(telemetry) => {
                    self.note(&telemetry, now);
                    if let Telemetry::StrategyFailed(failure) = telemetry {
                        decision.failed = Some(failure);
                    }
                }
                Action::Stop(reason) => {
                    self.journal
                        .note(now, Happened::Stopped(reason.to_string()));
                }
                Action::Unpin(id) => self.unpin(&id, now),
                Action::Acknowledge(_) | Action::Retry | Action::PassThrough => {}
            }
        }
        decision
    }

    fn unpin(&mut self, id: &str, now: Timestamp) {
        if let Some(id) = PinId::parse(id) {
            self.pins.refuse(id);
            let why = "the strategy keeps no more".to_owned();
            self.journal.note(now, Happened::PinRefused(why));
        }
    }

    fn note(&mut self, telemetry: &Telemetry, now: Timestamp) {
        let happened = match telemetry {
            Telemetry::Swapped { before, after, .. } => Happened::Swapped(*before, *after),
            Telemetry::Branched => Happened::WentBack,
            Telemetry::Overflowed => Happened::Overflowed,
            Telemetry::StrategyFailed(failure) => Happened::StrategyFailed(failure.to_string()),
            Telemetry::Commanded(command, verdict) => {
                let conversation = self.record.id;
                let refused = match verdict {
                    conversation::homunculus::Verdict::Done => None,
                    conversation::homunculus::Verdict::Refused(refusal) => Some(refusal.word()),
                };
                tracing::debug!(
                    target: "ebbtide::strategy",
                    %conversation, command, refused, "the strategy gave a command"
                );
                let Some(refused) = refused else { return };
                Happened::CommandRefused(command, refused)
            }
            Telemetry::CameToNothing(refusal) => {
                let conversation = self.record.id;
                tracing::debug!(
                    target: "ebbtide::strategy",
                    %conversation, why = refusal.word(), "a summary that the strategy asked for came to nothing"
                );
                return;
            }
            Telemetry::Sent(_) | Telemetry::PreparationFailed(_) | Telemetry::LateResult(_) => {
                return;
            }
        };
        self.journal.note(now, happened);
    }

    fn abandon(&mut self, job: JobId) {
        if let Some(running) = &self.supervisor.job
            && running.order.job == job
        {
            running.cancel.cancel();
            self.supervisor.job = None;
        }
    }

    /// The view changes: the standing and the texts follow.
    fn show(&mut self, shown: Shown, len: usize, decision: &mut Decision) {
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
        let back = shown == Shown::default();
        self.record.standing = standing;
        if back {
            self.record.standing.stripped = TurnId::ROOT;
            if let Some(dress) = &mut self.dress {
                dress.front = FrontText::default();
            }
            return;
        }
        if !moved {
            self.strip_thinking(before(len));
            decision.reduced = true;
            return;
        }
        self.record.standing.compactions = was.compactions.saturating_add(1);
        let dress = self.dress.get_or_insert_default();
        let ready = dress.ready.take_if(|ready| Some(ready.id()) == shown.mark);
        self.flights.ledger = match ready {
            Some(_) => std::mem::take(&mut dress.ledger),
            None => Text::default(),
        };
        let mark = ready.or_else(|| {
            let standing = dress.front.mark.take();
            standing.filter(|mark| Some(mark.id()) == shown.mark)
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
        dress.front = FrontText {
            mark,
            pins: pins.into(),
        };
        if !native {
            self.strip_thinking(newest);
        }
        decision.swapped = shown.mark != was.mark;
        decision.reduced = !decision.swapped;
        self.flights.tell = true;
    }

    /// Earlier thinking is bound to what is no longer shown as it was; the provider's own summary alone
    /// keeps it valid.
    fn strip_thinking(&mut self, newest: TurnId) {
        if self.supervisor.model.can(Capability::ThinkingBinding) {
            self.record.standing.stripped = newest;
        }
    }

    /// How the first `len` turns are shown.
    pub(super) fn look(&self, shown: Shown, len: usize) -> Look {
        let dress = self.dress.as_ref();
        let changes = dress.map(|dress| dress.editions.as_slice());
        let changes = changes.unwrap_or_default().iter();
        Look {
            front: dress.map(|dress| dress.front.clone()).unwrap_or_default(),
            from: shown.from,
            cleared: shown.cleared,
            stripped: self.place_of(self.record.standing.stripped).min(len),
            changes: changes
                .filter(|&&(index, _)| index >= shown.from && index < len)
                .filter(|(_, change)| fits(change, self.dialect, &self.supervisor.model))
                .cloned()
                .collect(),
        }
    }

    /// How many turns lead to `id`, itself included; 0 where it is not among them.
    pub(super) fn place_of(&self, id: TurnId) -> usize {
        if id == TurnId::ROOT {
            return 0;
        }
        let ids = self.said.outline.ids();
        ids.iter()
            .rposition(|&other| other == id)
            .map_or(0, |index| index + 1)
    }

    /// Takes the next turn of the path, shown with so many tokens.
    pub(super) fn push(&mut self, turn: &Turn, tokens: Tokens) {
        let counter = self.supervisor.model.counter();
        let known: Vec<PinId> = self.pins.iter().map(|pin| pin.id).collect();
        let refused = self.pins.take(self.said.outline.len(), turn, &counter);
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

    /// Asks the strategy whether a pin that was set is kept; one that is not is taken away.
    pub(super) fn keeps(&mut self, pin: &Pin, now: Timestamp) -> bool {
        let id = pin.id.to_string();
        let wish = Wish {
            id: &id,
            by: pin.origin.as_str(),
            tokens: pin.tokens,
        };
        let len = self.len();
        let path = Path::new(&self.said.outline, len, self.pins.places());
        let actions = self.supervisor.machine.on(Event::Pinned(wish, path), now);
        // Nothing else is ordered about a pin.
        let decision = self.carry_out(actions, len, now);
        let failed = self.flights.strategy_failed.take();
        self.flights.strategy_failed = failed.or(decision.failed);
        self.pins.has(pin.id)
    }

    /// Shows the strategy turns that were said.
    pub(super) fn hear(&mut self, when: When, turns: &[Turn], now: Timestamp) {
        // Nothing is ordered about them before there is a request.
        self.supervisor.machine.on(Event::Said(when, turns), now);
    }

    /// Sees which pins are restated by what is sent beside the turns.
    pub(super) fn note_restated(&mut self) {
        let from = self.place_of(self.record.standing.from);
        let dress = self.dress.as_ref();
        let texts = dress.map(|dress| dress.said(from)).unwrap_or_default();
        self.pins.are_restated_by(texts.iter().map(String::as_str));
    }

    /// Forgets all turns, to take those of another path: the client went back.
    pub(super) fn go_back(&mut self, common: usize) {
        self.said.outline = Outline::default();
        self.said.keys.clear();
        self.pins.forget_said();
        if let Some(dress) = &mut self.dress {
            dress.cut(common);
        }
    }

    /// The tokens of the conversation as it was said, and those of its view, as the provider counts
    /// them.
    pub(super) fn sizes(&self, shown: Shown, len: usize) -> (Tokens, Tokens) {
        let machine = &self.supervisor.machine;
        let said = Path::new(&self.said.outline, len, &[]);
        let unchanged = machine.size(&Shown::default(), &said);
        let view = machine.size(&shown, &self.path(len));
        (unchanged.all(), view.all())
    }

    /// What the store keeps of it now.
    pub(super) fn to_record(&self) -> Conversation {
        let stored = self.supervisor.machine.strategy().to_stored();
        Conversation {
            // A program that cannot be written begins anew after a restart.
            strategy: serde_json::to_string(&stored).ok().map(context::Text::from),
            ..self.record.clone()
        }
    }

    /// Whether something is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.flights.open > 0 || self.supervisor.job.is_some()
    }

    /// Lets go of memory that an idle conversation does not need.
    pub(super) fn rest(&mut self) {
        if !self.is_dress_unkept {
            self.dress = None;
        }
        self.supervisor.machine.rest();
        self.said.outline.shrink_to_fit();
        self.said.keys.shrink_to_fit();
        self.said.elements = Arc::default();
    }

    #[cfg(test)]
    /// The bytes it holds on the heap, as far as they grow with the conversation.
    pub(super) fn bytes(&self) -> usize {
        self.said.outline.bytes()
            + self.said.keys.capacity() * size_of::<Key>()
            + self.said.hints.capacity() * size_of::<u64>()
            + size_of_val(&*self.said.elements)
            + self.supervisor.machine.strategy().bytes()
            + self.dress.as_ref().map_or(0, Dress::bytes)
            + self.journal.bytes()
    }
}
