//! One strategy through one session.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context::pin::{PinId, intact};
use context::{Provenance, Tokens, Turn};
use conversation::homunculus::hosted::{COMPRESSOR, Hosted, PinKeeping, StrategyProgram};
use conversation::homunculus::{
    Action, Event, Homunculus, Path, PinnedAt, Preparation, Reported, Shown, Telemetry, Verdict,
    When, Wish,
};
use history::{Mark, MarkId, MarkStore, Memory, NodeStore, Pinned, Route, view};
use jiff::{SignedDuration, Timestamp};

use super::clock::Clock;
use super::ledger::Ledger;
use super::measure::{self, Place};
use super::pins::PinSpan;
use super::prefix::{self, Before};
use super::{Scene, fate};
use crate::cache::{Charge, PrefixCache};
use crate::compare::{Compaction, Conduct, Failed, Given, Outcome, RecallFigures};
use crate::latency::Latency;
use crate::options::Progress;
use crate::strategies::{Built, build};

/// Progress is told every so many requests.
const TELL_EVERY: usize = 16;

/// Of drops and clearings, which come with every other request, recall is measured once in this share
/// of the window.
const MEASURE_EVERY: f64 = 0.1;

/// Replays the session under one strategy.
pub(super) fn replay(
    scene: &Scene<'_>,
    strategy: &Arc<StrategyProgram>,
    progress: &mut dyn FnMut(Progress),
) -> Outcome {
    let mut drive = Drive::new(scene, build(strategy, scene.limits));
    let of = scene.requests.len();
    for (done, &turn) in scene.requests.iter().enumerate() {
        if done % TELL_EVERY == 0 {
            progress(Progress {
                strategy: Arc::clone(strategy.name()),
                done,
                of,
            });
        }
        drive.request(turn);
    }
    progress(Progress {
        strategy: Arc::clone(strategy.name()),
        done: of,
        of,
    });
    drive.outcome(strategy.name())
}

struct Drive<'a> {
    scene: &'a Scene<'a>,
    built: Thin,
    machine: Homunculus<Hosted>,
    history: Memory,
    /// Where each mark's summary ends.
    cuts: HashMap<MarkId, usize>,
    job: Option<Job>,
    clock: Clock,
    cache: PrefixCache,
    seen: Seen,
    ledger: Ledger,
    compactions: Vec<Compaction>,
}

/// What the driver has seen so far.
#[derive(Default)]
struct Seen {
    /// How the conversation is shown, as far as its changes are noted.
    shown: Shown,
    /// How the last request looked.
    before: Option<Before>,
    /// How many turns were said by the last request.
    said: usize,
    /// The pins in front of the summary.
    restated: Vec<PinId>,
    /// The pins that the strategy was asked about, and those of them that it does not keep.
    wished: HashSet<PinId>,
    refused: HashSet<PinId>,
    /// What the strategy did. It fails once, since another takes its place.
    conduct: Conduct,
}

/// What is left of [`Built`] when the strategy has moved into the machine.
struct Thin {
    limits: conversation::homunculus::Limits,
    thresholds: crate::compare::Thresholds,
    pins: PinKeeping,
}

/// A preparation under way.
struct Job {
    order: Preparation,
    ends: Timestamp,
    /// How many turns there were when it was ordered.
    len: usize,
    reading: Charge,
}

/// One request on its way.
struct Pending<'p> {
    turn: usize,
    path: Path<'p>,
    waited: SignedDuration,
    shrunk: bool,
}

impl<'a> Drive<'a> {
    fn new(scene: &'a Scene<'a>, built: Built) -> Self {
        let prices = scene.limits.prices;
        Self {
            scene,
            machine: Homunculus::new(built.strategy, built.limits),
            built: Thin {
                limits: built.limits,
                thresholds: built.thresholds,
                pins: built.pins,
            },
            history: Memory::default(),
            cuts: HashMap::new(),
            job: None,
            clock: Clock::new(),
            cache: PrefixCache::new(prices.cache_minimum, prices.ttl),
            seen: Seen::default(),
            ledger: Ledger::new(scene.model.price),
            compactions: Vec::new(),
        }
    }

    /// Sends the request before the assistant turn with this index.
    fn request(&mut self, turn: usize) {
        let scene = self.scene;
        self.record(turn);
        let since = std::mem::replace(&mut self.seen.said, turn);
        self.clock.advance(&scene.session.turns, turn);
        let new = scene.session.turns.get(since..turn).unwrap_or_default();
        self.tell(Event::Said(When::Now, new), self.clock.now());
        self.deliver_finished();
        if self.seen.before.is_none() {
            // The first view: it restates the pins that nobody says, which are in force from the start.
            self.restate(self.seen.shown, turn);
        }
        self.wish(turn);
        let pins = self.pins_in_force(turn);
        let mut pending = Pending {
            turn,
            path: Path::new(&scene.outline, turn, &pins),
            waited: SignedDuration::ZERO,
            shrunk: false,
        };
        loop {
            let event = Event::Request(pending.path);
            let actions = self.tell(event, self.clock.now());
            let hold = self.carry_out(&actions, &mut pending);
            let Some(until) = hold else { break };
            pending.waited += self.hold(until);
        }
        self.sent(&pending);
    }

    /// Keeps what was said so far.
    fn record(&mut self, turn: usize) {
        let turns = &self.scene.session.turns;
        for index in self.seen.said..turn {
            let parent = index.checked_sub(1).and_then(|before| turns.get(before));
            let parent = parent.map_or(context::TurnId::ROOT, Turn::id);
            if let Some(turn) = turns.get(index) {
                // A transcript whose ids do not follow from each other can still be replayed.
                let _ = self.history.append(parent, turn);
            }
        }
    }

    /// Asks the strategy about pins that are new in the first `len` turns.
    fn wish(&mut self, len: usize) {
        let scene = self.scene;
        if self.built.pins == PinKeeping::Ignored {
            return;
        }
        for span in scene.pins.iter().filter(|span| span.holds_at(len)) {
            if !self.seen.wished.insert(span.pin.id) {
                continue;
            }
            let id = span.pin.id.to_string();
            let wish = Wish {
                id: &id,
                by: span.pin.origin.as_str(),
                tokens: span.pin.tokens,
            };
            let pins = self.pins_in_force(len);
            let path = Path::new(&scene.outline, len, &pins);
            let actions = self.tell(Event::Pinned(wish, path), self.clock.now());
            if actions.contains(&Action::Unpin(id.clone())) {
                self.seen.refused.insert(span.pin.id);
            }
        }
    }

    /// Whether a pin holds for the request with so many turns.
    fn holds(&self, span: &PinSpan, len: usize) -> bool {
        span.holds_at(len) && !self.seen.refused.contains(&span.pin.id)
    }

    fn pins_in_force(&self, len: usize) -> Vec<PinnedAt> {
        if self.built.pins == PinKeeping::Ignored {
            return Vec::new();
        }
        let spans = self.scene.pins.iter();
        spans
            .filter(|span| self.seen.wished.contains(&span.pin.id) && self.holds(span, len))
            .map(PinSpan::place)
            .collect()
    }

    /// Tells the machine what happened and notes what its strategy orders, and where it fails of it.
    fn tell(&mut self, event: Event<'_>, at: Timestamp) -> Vec<Action> {
        let actions = self.machine.on(event, at);
        let before_request = self.ledger.pressure.len();
        for action in &actions {
            let Action::Telemetry(telemetry) = action else {
                continue;
            };
            let conduct = &mut self.seen.conduct;
            if conduct.failed.is_some() {
                // What comes now is ordered by the one in its place.
                break;
            }
            match telemetry {
                Telemetry::Commanded(command, verdict) => conduct.commands.push(Given {
                    before_request,
                    command,
                    refused: match verdict {
                        Verdict::Done => None,
                        Verdict::Refused(refusal) => Some(refusal.word()),
                    },
                }),
                Telemetry::CameToNothing(refusal) => {
                    // Others that it asked for meanwhile were refused at once.
                    let waits =
                        |given: &&mut Given| given.command == COMPRESSOR && given.refused.is_none();
                    if let Some(given) = conduct.commands.iter_mut().rfind(waits) {
                        given.refused = Some(refusal.word());
                    }
                }
                Telemetry::StrategyFailed(failure) => {
                    conduct.failed = Some(Failed {
                        before_request,
                        reason: failure.to_string(),
                    });
                }
                _ => {}
            }
        }
        actions
    }

    /// Carries out what the machine says. `Some` where the request is held: until when.
    fn carry_out(
        &mut self,
        actions: &[Action],
        pending: &mut Pending<'_>,
    ) -> Option<Option<Timestamp>> {
        let mut hold = None;
        for action in actions {
            match *action {
                Action::Prepare(order) => self.prepare(order, pending),
                Action::Abandon(_) => self.abandon(),
                Action::Show(shown) => self.show(shown, pending),
                Action::Hold { until } => hold = Some(until),
                Action::Send(_)
                | Action::Retry
                | Action::PassThrough
                | Action::Unpin(_)
                | Action::Acknowledge(_)
                | Action::Telemetry(_)
                | Action::Stop(_) => {}
            }
        }
        hold
    }

    fn prepare(&mut self, order: Preparation, pending: &Pending<'_>) {
        let path = &pending.path;
        let now = self.clock.now();
        let (reading, time) = if order.route == Route::Extractive {
            let time = Latency::extraction(path.covered(order.cut));
            (Charge::default(), time)
        } else {
            // The model reads what is shown up to the cut, from the cache as far as that holds it.
            let shown = self.machine.shown();
            let behind = path.tail(order.cut);
            let source = shown.tokens(path).saturating_sub(behind);
            let reading = self.cache.read_again(source, now);
            (reading, self.scene.latency.call(reading, order.budget))
        };
        self.job = Some(Job {
            order,
            ends: now.checked_add(time).unwrap_or(Timestamp::MAX),
            len: pending.turn,
            reading,
        });
    }

    /// A preparation that is not wanted any more is paid for all the same.
    fn abandon(&mut self) {
        if let Some(job) = self.job.take()
            && job.order.route != Route::Extractive
        {
            self.ledger.summary(job.reading, job.order.budget);
        }
    }

    fn deliver_finished(&mut self) {
        if self
            .job
            .as_ref()
            .is_some_and(|job| job.ends <= self.clock.now())
        {
            self.deliver();
        }
    }

    /// Writes the summary that is under way and hands it to the machine.
    fn deliver(&mut self) {
        let Some(job) = self.job.take() else { return };
        let turns = &self.scene.session.turns;
        let said = turns.get(..job.len).unwrap_or_default();
        let (old, tail) = said.split_at_checked(job.order.cut).unwrap_or((said, &[]));
        let counter = self.scene.counter;
        let text = self
            .scene
            .summariser
            .summarise(old, tail, job.order.budget, counter);
        let tokens = counter.count(&text) + FRAME;
        if job.order.route != Route::Extractive {
            self.ledger.summary(job.reading, tokens);
        }
        let mark = Mark {
            node: job.order.node,
            made_from: job.order.made_from,
            summary: text,
            tokens,
            route: job.order.route,
            at: job.ends,
        };
        let id = mark.id();
        self.cuts.insert(id, job.order.cut);
        let event = match self.history.add_mark(mark) {
            Ok(_) => Event::Prepared {
                job: job.order.job,
                mark: id,
                tokens,
            },
            Err(_) => Event::Failed { job: job.order.job },
        };
        self.tell(event, job.ends);
    }

    /// Holds the request until the preparation has ended, at `until` at the latest. An extractive
    /// summary is made on the spot.
    fn hold(&mut self, until: Option<Timestamp>) -> SignedDuration {
        let Some(job) = &self.job else {
            return until.map_or(SignedDuration::ZERO, |until| self.clock.wait_until(until));
        };
        let on_the_spot = job.order.route == Route::Extractive;
        let moment = match until {
            Some(until) if !on_the_spot => until.min(job.ends),
            _ => job.ends,
        };
        let waited = self.clock.wait_until(moment);
        self.deliver_finished();
        waited
    }

    /// The view changes: notes what left it.
    fn show(&mut self, shown: Shown, pending: &mut Pending<'_>) {
        let path = &pending.path;
        let was = std::mem::replace(&mut self.seen.shown, shown);
        self.restate(shown, pending.turn);
        let (kind, mark) = if shown.mark != was.mark {
            ("summary", shown.from)
        } else if shown.from != was.from {
            ("drop", shown.from)
        } else {
            ("clear", shown.cleared)
        };
        let recall = self.recall(kind, mark, shown, pending);
        let route = self.route_of(shown).filter(|_| kind == "summary");
        self.compactions.push(Compaction {
            before_turn: pending.turn,
            before_request: self.ledger.pressure.len(),
            simulated_wait_seconds: pending.waited.as_secs_f64(),
            kind,
            route,
            mark,
            tokens_before: was.tokens(path).get(),
            tokens_after: shown.tokens(path).get(),
            summary_tokens: shown.summary.get(),
            tail_tokens: path.tail(mark).get(),
            recall,
        });
        pending.shrunk = true;
    }

    /// How the summary that is shown was made.
    fn route_of(&self, shown: Shown) -> Option<&'static str> {
        let mark = self.history.mark(shown.mark?).ok().flatten()?;
        Some(mark.route.as_str())
    }

    /// Makes the view as it is sent and looks which pins stand in front of its summary.
    fn restate(&mut self, shown: Shown, len: usize) {
        self.seen.restated.clear();
        if self.built.pins == PinKeeping::Ignored {
            return;
        }
        let turns = &self.scene.session.turns;
        let path = turns.get(..len).unwrap_or_default();
        let mark = shown
            .mark
            .and_then(|mark| self.history.mark(mark).ok().flatten());
        let spans = self.scene.pins.iter();
        let in_force: Vec<_> = spans.filter(|span| self.holds(span, len)).collect();
        let pins: Vec<Pinned> = in_force.iter().map(|span| span.pinned(turns)).collect();
        let Ok(view) = view(path, mark.as_ref(), &pins, self.scene.counter) else {
            return;
        };
        let front: Vec<Turn> = view
            .into_iter()
            .filter(|turn| turn.provenance() == Provenance::Pins)
            .collect();
        self.seen.restated = in_force
            .iter()
            .filter(|span| intact(&span.pin.text, &front))
            .map(|span| span.pin.id)
            .collect();
    }

    fn recall(
        &self,
        kind: &str,
        cut: usize,
        shown: Shown,
        pending: &Pending<'_>,
    ) -> Option<RecallFigures> {
        let len = pending.turn;
        let turns = &self.scene.session.turns;
        let (seen, size) = match kind {
            "summary" => {
                let mark = self.history.mark(shown.mark?).ok().flatten()?;
                (mark.summary.to_string(), mark.tokens)
            }
            _ if !self.is_worth_measuring(kind, cut, &pending.path) => return None,
            "drop" => (String::new(), Tokens::ZERO),
            _ => {
                let left = turns.get(shown.from..cut).unwrap_or_default();
                let freed = pending.path.clearable(shown.from, cut);
                let size = super::tokens_of(left).saturating_sub(freed);
                (measure::without_results(left), size)
            }
        };
        let place = Place {
            cut,
            len,
            seen: &seen,
            size,
        };
        measure::recall(self.scene, &place)
    }

    /// Whether enough has left the view since recall was last measured for this kind.
    fn is_worth_measuring(&self, kind: &str, cut: usize, path: &Path<'_>) -> bool {
        let measured = self
            .compactions
            .iter()
            .rev()
            .find(|compaction| compaction.kind == kind && compaction.recall.is_some());
        let since = measured.map_or(0, |compaction| compaction.mark);
        let left = path.tail(since).saturating_sub(path.tail(cut));
        left >= self.built.limits.window.scaled(MEASURE_EVERY)
    }

    /// The request is sent: through the cache, and into the books.
    fn sent(&mut self, pending: &Pending<'_>) {
        let scene = self.scene;
        let path = &pending.path;
        let shown = self.machine.shown();
        let view = shown.tokens(path);
        let request = prefix::request(self.seen.before, shown, path, scene.lead);
        let charge = self.cache.send(&request, self.clock.now());
        let answer = scene.session.turns.get(pending.turn);
        let output = answer.map_or(Tokens::ZERO, Turn::tokens);
        let answering = scene.latency.call(charge, output);
        self.clock.answers_in(answering);
        self.ledger.request(charge, output);
        self.ledger.waited(pending.waited);
        self.ledger.boundaries += usize::from(pending.shrunk);
        self.ledger.sent(view, path, &self.built.limits);
        self.count_pins(shown, pending.turn);
        let reported = Reported {
            output,
            cache_read: charge.read,
            cache_write: charge.written,
        };
        let usage = Event::Usage {
            input: view,
            reported,
        };
        let answered = self.clock.now().checked_add(answering);
        self.tell(usage, answered.unwrap_or(Timestamp::MAX));
        self.seen.before = Some(Before { shown, view });
    }

    fn count_pins(&mut self, shown: Shown, len: usize) {
        let spans = self.scene.pins.iter();
        let refused = &self.seen.refused;
        let holds = |span: &&PinSpan| span.holds_at(len) && !refused.contains(&span.pin.id);
        let mut in_force = spans.filter(holds).peekable();
        if in_force.peek().is_none() {
            return;
        }
        self.ledger.pins.requests += 1;
        let restated = &self.seen.restated;
        if in_force.all(|span| span.is_shown(shown, len) || restated.contains(&span.pin.id)) {
            self.ledger.pins.intact += 1;
        }
    }
}

impl Drive<'_> {
    fn outcome(mut self, name: &Arc<str>) -> Outcome {
        // A preparation that nobody needed was paid for: the price of working ahead.
        self.abandon();
        let shown = self.machine.shown();
        let summarised = shown
            .mark
            .and_then(|mark| self.cuts.get(&mark).copied())
            .unwrap_or(0);
        Outcome {
            strategy: Arc::clone(name),
            thresholds: self.built.thresholds,
            boundaries: self.ledger.boundaries,
            peak_pressure: self.ledger.peak(),
            overflows: self.ledger.overflows,
            pins: self.ledger.pins,
            fate: fate::of(&self.scene.session.turns, shown, summarised),
            stopped: self.machine.stopped().map(|reason| reason.to_string()),
            conduct: self.seen.conduct,
            simulated: self.ledger.simulated,
            compactions: self.compactions,
            pressure: self.ledger.pressure,
        }
    }
}

/// The frame around a summary's turn.
const FRAME: Tokens = Tokens::new(4);
