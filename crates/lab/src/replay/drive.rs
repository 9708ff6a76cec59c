//! Replays one strategy over one session: carries out in virtual time the effects that the
//! conversation asks for.

use std::sync::Arc;

use context::extract::Room;
use context::pin::Origin;
use context::{Heuristic, TokenCounter, Tokens, Turn, TurnId};
use conversation::homunculus::hosted::{COMPRESSOR, StrategyProgram};
use conversation::homunculus::{Extent, Path, Preparation, Prices};
use conversation::view::Front;
use conversation::{
    Commons, Conversation, Effect, Flight, Hold, Incoming, Input, Joining, Kin, Notice,
    Origin as From, Proof, Relation, Sending, Stored, Summary, View, new_id, rewrite,
};
use history::{Change, Labels, MarkId, Route, Tenant};
use jiff::{SignedDuration, Timestamp};
use wire::api::{CacheWrites, Counts, Reply, Stop, Usage};

use super::Scene;
use super::clock::Clock;
use super::constraints;
use super::fate;
use super::ledger::Ledger;
use super::measure::{self, RecallCut};
use super::pins::PinSpan;
use super::prefix::{self, Before};
use super::watch::Asked;
use crate::cache::{Charge, PrefixCache};
use crate::compare::{
    Compaction, Conduct, Constraints, Failed, Given, RecallFigures, StrategyResult, ThresholdMove,
};
use crate::options::Progress;
use crate::strategies::{Built, build};

/// Progress is told every so many requests.
const TELL_EVERY: usize = 16;

/// Of drops and clearings, which come with every other request, recall is measured once in this share
/// of the window.
const MEASURE_EVERY: f64 = 0.1;

/// The upstream address of the requests. They go nowhere.
const URL: &str = "lab";

/// Replays the session under one strategy.
pub(super) fn replay(
    scene: &Scene<'_>,
    strategy: &Arc<StrategyProgram>,
    progress: &mut dyn FnMut(Progress),
) -> StrategyResult {
    let mut built = build(
        strategy,
        scene.limits,
        (scene.options.route, scene.options.pin_keeping),
    );
    built.terms.notes = scene.options.notes;
    built.terms.adaptive = scene.options.adaptive;
    let mut drive = Drive::new(scene, built);
    let of = scene.requests.len();
    let step = |done| Progress {
        strategy: Arc::clone(strategy.name()),
        done,
        of,
    };
    for (done, &turn) in scene.requests.iter().enumerate() {
        if done % TELL_EVERY == 0 {
            progress(step(done));
        }
        drive.request(turn);
        if scene.watch.has_seen_enough() {
            break;
        }
    }
    progress(step(of));
    drive.outcome(strategy.name())
}

struct Drive<'a> {
    scene: &'a Scene<'a>,
    built: Built,
    commons: Commons,
    conversation: Option<Conversation>,
    job: Option<Job>,
    clock: Clock,
    cache: PrefixCache,
    seen: Seen,
    ledger: Ledger,
    compactions: Vec<Compaction>,
}

/// Observations so far.
#[derive(Default)]
struct Seen {
    /// The extent of the view, as far as its changes are noted.
    shown: Extent,
    /// The look of the last request.
    before: Option<Before>,
    /// The summaries that were made: the mark, where it ends, how it was made, its text.
    marks: Vec<(MarkId, usize, Route, context::Text)>,
    /// The actions of the strategy. It fails once, since another takes over.
    conduct: Conduct,
    /// The user's rules in the last request.
    constraints: Constraints,
}

/// A preparation under way.
struct Job {
    order: Preparation,
    ends: Timestamp,
    /// The number of messages when it was ordered.
    len: usize,
    reading: Charge,
}

/// One request on its way.
struct Pending<'p, 'r> {
    /// The assistant turn that answers it.
    turn: usize,
    incoming: &'p Incoming<'r>,
    flight: Flight,
    waited: SignedDuration,
    shrunk: bool,
}

impl<'a> Drive<'a> {
    fn new(scene: &'a Scene<'a>, built: Built) -> Self {
        let paid = Prices::from(&scene.paid);
        let commons = Commons::new([0; 32]);
        let name = scene.model.name.as_str().into();
        commons.know_model(&name, Arc::new(scene.model.clone()));
        Self {
            scene,
            built,
            commons,
            conversation: None,
            job: None,
            clock: Clock::new(),
            cache: PrefixCache::new(paid.cache_minimum, paid.ttl),
            seen: Seen::default(),
            ledger: Ledger::new(scene.paid.price),
            compactions: Vec::new(),
        }
    }

    /// Sends the request before the assistant turn with this index.
    fn request(&mut self, turn: usize) {
        let scene = self.scene;
        self.clock.advance(&scene.session.turns, turn);
        self.deliver_finished();
        let body = scene.client.body(turn);
        let dialect = scene.client.dialect();
        let Some((request, elements)) =
            self.commons
                .read(Tenant::ANONYMOUS, dialect, body.as_bytes())
        else {
            return;
        };
        if request.is_empty() {
            return;
        }
        let from = From {
            tenant: Tenant::ANONYMOUS,
            url: URL,
            labels: Labels::default(),
            names_agents: false,
        };
        let now = self.clock.now();
        let incoming = self.commons.incoming(&request, elements, from, now);
        let Some(flight) = self.join(&incoming) else {
            return;
        };
        let mut pending = Pending {
            turn,
            incoming: &incoming,
            flight,
            waited: SignedDuration::ZERO,
            shrunk: false,
        };
        let sending = loop {
            let input = Input::Request(&incoming, &mut pending.flight);
            let effects = self.on(input, self.clock.now());
            match self.carry_out(effects, &mut pending) {
                Step::Sent(sending) => break sending,
                Step::Held(hold) => pending.waited += self.hold(hold),
            }
        };
        self.sent(&mut pending, &sending);
        // Stored, as far as the conversation knows: else it would give all of itself with each request.
        pending.flight.take_pending();
        self.on(Input::Landed(&pending.flight), self.clock.now());
    }

    /// The conversation takes the request.
    fn join(&mut self, incoming: &Incoming<'_>) -> Option<Flight> {
        if self.conversation.is_none() {
            let id = new_id(&[0; 32], incoming.tenant, (TurnId::ROOT, 0), incoming.now);
            let terms = Arc::new(self.built.terms.clone());
            let (begun, _) = Conversation::begin(id, terms, incoming, Kin::default());
            self.conversation = Some(begun);
            let ignores = self.built.ignores_pins();
            for text in self.scene.options.pins.iter().filter(|_| !ignores) {
                let input = Input::Pin(text, Origin::Api);
                self.on(input, incoming.now);
            }
        }
        let conversation = self.conversation.as_mut()?;
        // A recorded client only goes on. Its requests through other gateways are not known here.
        let joining = conversation.join(incoming, Relation::GoesOn, Some(&[]));
        let elements = self.commons.elements();
        elements.remember(incoming.keyed, incoming.head(), &incoming.elements);
        match joining {
            Joining::Joined(flight) => Some(*flight),
            Joining::WantsOverlay(_) | Joining::WantsEditions(_) | Joining::Other => None,
        }
    }

    /// Tells the conversation what happened and notes what its strategy ordered, and where it failed.
    fn on(&mut self, input: Input<'_, '_>, at: Timestamp) -> Vec<Effect> {
        let Some(conversation) = &mut self.conversation else {
            return Vec::new();
        };
        let mut effects = conversation.on(input, at);
        let before_request = self.ledger.pressure.len();
        for effect in &effects {
            let Effect::Tell(notice) = effect else {
                continue;
            };
            let conduct = &mut self.seen.conduct;
            if let Notice::Acted(acted) = notice {
                conduct.regret.steps += 1;
                acted
                    .missed
                    .iter()
                    .for_each(|&kind| conduct.regret.add(kind));
            }
            if conduct.failed.is_some() {
                // Later commands are those of the strategy that took over.
                break;
            }
            match notice {
                Notice::Commanded(command, refused) => conduct.commands.push(Given {
                    before_request,
                    command,
                    refused: *refused,
                }),
                Notice::CameToNothing(refusal) => {
                    // Others that it asked for meanwhile were refused at once.
                    let waits =
                        |given: &&mut Given| given.command == COMPRESSOR && given.refused.is_none();
                    if let Some(given) = conduct.commands.iter_mut().rfind(waits) {
                        given.refused = Some(refusal.word());
                    }
                }
                Notice::SoftMoved(moved) => conduct.threshold_moves.push(ThresholdMove {
                    before_request,
                    from_percent: moved.from,
                    to_percent: moved.to,
                    why: moved.why.clone(),
                }),
                Notice::StrategyFailed(failure) => {
                    conduct.failed = Some(Failed {
                        before_request,
                        reason: failure.to_string(),
                    });
                }
                _ => {}
            }
        }
        effects.retain(|effect| !matches!(effect, Effect::Tell(_)));
        effects
    }

    /// Carries out what the conversation decided about a request.
    fn carry_out(&mut self, effects: Vec<Effect>, pending: &mut Pending<'_, '_>) -> Step {
        self.note_view(pending);
        let mut step = Step::Sent(Box::new(Sending {
            view: View::default(),
            tokens: Tokens::ZERO,
            did: Vec::new(),
            previous: None,
        }));
        for effect in effects {
            match effect {
                Effect::Send(sending) => step = Step::Sent(Box::new(sending)),
                Effect::Hold(hold) => step = Step::Held(hold),
                Effect::Prepare(order, _) => self.prepare(order, pending),
                Effect::Abandon(_) => self.abandon(),
                _ => {}
            }
        }
        step
    }

    fn path_and_shown(&self) -> Option<(Path<'_>, Extent)> {
        let conversation = self.conversation.as_ref()?;
        Some((conversation.whole_path(), conversation.shown()))
    }

    fn prepare(&mut self, order: Preparation, pending: &Pending<'_, '_>) {
        self.on(Input::Preparing(&order), self.clock.now());
        let now = self.clock.now();
        let Some((path, shown)) = self.path_and_shown() else {
            return;
        };
        let (reading, time) = if order.route == Route::Extractive {
            let time = self
                .scene
                .options
                .latency
                .extraction(path.covered(order.cut));
            (Charge::default(), time)
        } else {
            // The model reads what is shown up to the cut, from the cache as far as that holds it.
            let behind = path.tail(order.cut);
            let source = shown.tokens(&path).saturating_sub(behind);
            let reading = self.cache.read_again(source, now);
            (
                reading,
                self.scene.options.latency.call(reading, order.budget),
            )
        };
        self.job = Some(Job {
            order,
            ends: now.checked_add(time).unwrap_or(Timestamp::MAX),
            len: pending.incoming.len(),
            reading,
        });
    }

    /// A preparation that is no longer wanted is paid for all the same.
    fn abandon(&mut self) {
        if let Some(job) = self.job.take()
            && job.order.route != Route::Extractive
        {
            self.ledger.summary(job.reading, job.order.budget);
        }
    }

    fn deliver_finished(&mut self) {
        let now = self.clock.now();
        if self.job.as_ref().is_some_and(|job| job.ends <= now) {
            self.deliver();
        }
    }

    /// Writes the summary that is under way and hands it over.
    fn deliver(&mut self) {
        let Some(job) = self.job.take() else { return };
        let said = self.scene.client.messages();
        let said = said.get(..job.len).unwrap_or(said);
        let (old, tail) = said.split_at_checked(job.order.cut).unwrap_or((said, &[]));
        let counter = self.scene.counter;
        let summariser = self.scene.summariser;
        let room = Room {
            words: job.order.words,
            standing: job.order.standing,
            summary: job.order.budget,
        };
        // The product tells behind a provider's own summary what it may have left out.
        let (text, beside) = match job.order.route {
            Route::Native => (
                summariser.native(old, tail, room, counter),
                context::extract::beside(old, room, counter),
            ),
            _ => (
                summariser.summarise(old, tail, room, counter),
                String::new(),
            ),
        };
        let lost = match text.is_empty() {
            true => Vec::new(),
            false => conversation::originals::told(old, tail, &format!("{text}\n{beside}\n")),
        };
        let summary = Summary {
            tokens: counter.count_parts(&[context::Part::Text(text.clone())]),
            text: text.clone(),
            route: job.order.route,
            ledger: Vec::new(),
            lost,
            beside: context::Text::from(beside),
            spent: Vec::new(),
            fallen: Vec::new(),
            at: job.ends,
        };
        let mark = summary.mark(&job.order);
        if job.order.route != Route::Extractive {
            self.ledger.summary(job.reading, mark.tokens);
        }
        let cut = job.order.cut;
        self.seen.marks.push((mark.id(), cut, mark.route, text));
        let input = Input::Prepared(&job.order, summary, Stored::Yes);
        self.on(input, job.ends);
    }

    /// Holds the request until the preparation has ended, or as long as the conversation says.
    fn hold(&mut self, hold: Hold) -> SignedDuration {
        let Some(job) = &self.job else {
            return match hold {
                Hold::Until(until) => self.clock.wait_until(until),
                Hold::Ready | Hold::OnTheSpot => SignedDuration::ZERO,
            };
        };
        let moment = match hold {
            Hold::Until(until) => until.min(job.ends),
            Hold::Ready | Hold::OnTheSpot => job.ends,
        };
        let waited = self.clock.wait_until(moment);
        self.deliver_finished();
        waited
    }

    /// Notes what left the view, where it changed.
    fn note_view(&mut self, pending: &mut Pending<'_, '_>) {
        let Some((path, shown)) = self.path_and_shown() else {
            return;
        };
        let was = self.seen.shown;
        if shown == was {
            return;
        }
        let (kind, mark) = if shown.mark != was.mark {
            ("summary", shown.from)
        } else if shown.from != was.from {
            ("drop", shown.from)
        } else {
            ("clear", shown.cleared)
        };
        let route = self.mark(shown).map(|(.., route, _)| route.as_str());
        let compaction = Compaction {
            before_turn: pending.turn,
            before_request: self.ledger.pressure.len(),
            simulated_wait_seconds: pending.waited.as_secs_f64(),
            kind,
            route: route.filter(|_| kind == "summary"),
            mark: self.scene.client.turn_of(mark),
            tokens_before: was.tokens(&path).get(),
            tokens_after: shown.tokens(&path).get(),
            summary_tokens: shown.summary.get(),
            tail_tokens: path.tail(mark).get(),
            recall: self.recall(kind, mark, (shown, path), pending.turn),
        };
        self.seen.shown = shown;
        self.compactions.push(compaction);
        pending.shrunk = true;
    }

    /// The summary that is shown.
    fn mark(&self, shown: Extent) -> Option<&(MarkId, usize, Route, context::Text)> {
        let marks = self.seen.marks.iter();
        marks.rev().find(|(id, ..)| Some(*id) == shown.mark)
    }

    fn recall(
        &self,
        kind: &str,
        cut: usize,
        (shown, path): (Extent, Path<'_>),
        len: usize,
    ) -> Option<RecallFigures> {
        let client = &self.scene.client;
        let turns = &self.scene.session.turns;
        let at = client.turn_of(cut);
        let (seen, size) = match kind {
            "summary" => {
                let (.., text) = self.mark(shown)?;
                (text.to_string(), shown.summary)
            }
            _ if !self.is_worth_measuring(kind, cut, &path) => return None,
            "drop" => (String::new(), Tokens::ZERO),
            _ => {
                let left = turns.get(client.turn_of(shown.from)..at);
                let left = left.unwrap_or_default();
                let freed = path.clearable(shown.from, cut);
                let size = super::tokens_of(left).saturating_sub(freed);
                (measure::without_results(left), size)
            }
        };
        let place = RecallCut {
            cut: at,
            len,
            seen: &seen,
            size,
        };
        measure::recall(self.scene, &place)
    }

    /// Returns true if enough has left the view since recall was last measured for this kind.
    fn is_worth_measuring(&self, kind: &str, cut: usize, path: &Path<'_>) -> bool {
        let is_measured =
            |compaction: &&Compaction| compaction.kind == kind && compaction.recall.is_some();
        let measured = self.compactions.iter().rev().find(is_measured);
        let since = measured.map_or(0, |compaction| {
            self.scene.client.message_of(compaction.mark)
        });
        let left = path.tail(since).saturating_sub(path.tail(cut));
        left >= self.scene.limits.window.scaled(MEASURE_EVERY)
    }

    /// The request is sent: through the provider and into the books.
    fn sent(&mut self, pending: &mut Pending<'_, '_>, sending: &Sending) {
        let scene = self.scene;
        let now = self.clock.now();
        let wants = scene.watch.wants_bytes();
        let body: Option<Vec<u8>> = wants.then(|| rendered(pending, sending));
        let is_last = scene.requests.last() == Some(&pending.turn);
        if is_last && !scene.constraints.is_empty() {
            let made = body.clone().unwrap_or_else(|| rendered(pending, sending));
            let read = (scene.client.dialect(), made.as_slice());
            self.seen.constraints = constraints::survived(&scene.constraints, pending.turn, read);
        }
        let Some(conversation) = &self.conversation else {
            return;
        };
        let (path, shown) = (conversation.whole_path(), conversation.shown());
        let beside = conversation.overhead();
        let added = added(&sending.view);
        let view = shown.tokens(&path) + added + beside;
        let looks = (shown, added, beside);
        let request = prefix::request(self.seen.before, looks, &path, scene.lead_messages);
        let charge = self.cache.send(&request, now);
        let answer = scene.session.turns.get(pending.turn);
        let output = answer.map_or(Tokens::ZERO, Turn::tokens);
        let answering = scene.options.latency.call(charge, output);
        // Without notes, which no strategy decides about.
        let decided = (shown.tokens(&path), beside);
        self.ledger.sent(decided, &path, &self.built.limits);
        self.clock.answers_in(answering);
        self.ledger.request(charge, output);
        self.ledger.waited(pending.waited);
        self.ledger.boundaries += usize::from(pending.shrunk);
        self.count_pins(&sending.view, pending.turn);
        let counts = Counts {
            input: charge.fresh,
            cache_read: charge.read,
            cache_write: charge.written,
            output,
            // The core learns the lifetime from what the provider tells.
            writes: CacheWrites {
                hour_1: charge.written.scaled(f64::from(scene.paid != scene.model)),
                ..CacheWrites::default()
            },
            ..Counts::default()
        };
        let asked = Asked {
            turn: pending.turn,
            at: now,
            body: body.as_deref().unwrap_or_default(),
        };
        let reply = Reply {
            dialect: scene.client.dialect(),
            id: None,
            model: None,
            stop: Some(Stop::EndOfTurn),
            usage: Usage {
                counts: scene.watch.asked(&asked).unwrap_or(counts),
                iterations: Vec::new(),
            },
            pieces: Vec::new(),
            failure: None,
        };
        let answered = now.checked_add(answering).unwrap_or(Timestamp::MAX);
        let input = Input::Answered(&pending.flight, Some(&reply), &Proof::default());
        self.on(input, answered);
        self.seen.before = Some(Before { shown, view });
    }

    /// Counts whether the view says every pin in force verbatim, outside the summary.
    fn count_pins(&mut self, view: &View, len: usize) {
        let spans = self.scene.pins.iter();
        let mut in_force = spans.filter(|span| self.is_in_force(span, len)).peekable();
        if in_force.peek().is_none() {
            return;
        }
        let from = self.scene.client.turn_of(view.from);
        let texts = texts_of(view);
        let says = |span: &PinSpan| {
            span.is_shown(from, len) || texts.iter().any(|text| text.contains(&*span.pin.text))
        };
        let intact = in_force.all(says);
        self.ledger.pins.requests += 1;
        self.ledger.pins.intact += usize::from(intact);
    }

    /// Returns true if a pin holds for the request with this many turns. A strategy may keep fewer
    /// pins than were set.
    fn is_in_force(&self, span: &PinSpan, len: usize) -> bool {
        let kept = self.conversation.as_ref().is_none_or(|conversation| {
            let mut pins = conversation.pins().iter();
            pins.any(|pin| pin.id == span.pin.id)
        });
        let ignores = self.built.ignores_pins();
        span.holds_at(len) && (kept || ignores)
    }
}

/// The body of a request as it is sent.
fn rendered(pending: &Pending<'_, '_>, sending: &Sending) -> Vec<u8> {
    rewrite::render(pending.incoming.request, &sending.view).unwrap_or_default()
}

/// The outcome of asking about a request.
enum Step {
    Sent(Box<Sending>),
    Held(Hold),
}

/// The texts that a view shows beside the messages and the summary.
fn texts_of(view: &View) -> Vec<String> {
    let changes = view.changes.iter().filter_map(|(_, change)| match change {
        Change::Appended(json) | Change::Followed(json) => {
            let added: serde_json::Value = serde_json::from_str(json).ok()?;
            let text = added.get("text").or_else(|| added.get("content"))?;
            text.as_str().map(str::to_owned)
        }
        Change::Shrunk { .. } => None,
    });
    let pins = match &view.front {
        Front::Readable { pins, .. } => Some(pins.to_string()),
        Front::Nothing | Front::Native { .. } => None,
    };
    changes.chain(pins).collect()
}

/// The tokens of what was added to single messages: notes and pins.
fn added(view: &View) -> Tokens {
    let added = view.changes.iter().filter_map(|(_, change)| match change {
        Change::Appended(json) | Change::Followed(json) => Some(Heuristic.count(json)),
        Change::Shrunk { .. } => None,
    });
    added.sum()
}

impl Drive<'_> {
    fn outcome(mut self, name: &Arc<str>) -> StrategyResult {
        // A preparation that came too late was paid for: the price of working ahead.
        self.abandon();
        let client = &self.scene.client;
        let conversation = self.conversation.as_ref();
        let shown = conversation.map(Conversation::shown).unwrap_or_default();
        let summarised = self.mark(shown).map_or(0, |(_, cut, ..)| *cut);
        let stopped = conversation.and_then(Conversation::stopped);
        StrategyResult {
            strategy: Arc::clone(name),
            thresholds: self.built.thresholds,
            boundaries: self.ledger.boundaries,
            peak_pressure: self.ledger.peak(),
            overflows: self.ledger.overflows,
            pins: self.ledger.pins,
            constraints: self.seen.constraints,
            fate: fate::of(
                &self.scene.session.turns,
                (client.turn_of(shown.from), client.turn_of(shown.cleared)),
                client.turn_of(summarised),
            ),
            stopped: stopped.map(|reason| reason.to_string()),
            conduct: self.seen.conduct,
            simulated: self.ledger.simulated,
            compactions: self.compactions,
            pressure: self.ledger.pressure,
        }
    }
}
