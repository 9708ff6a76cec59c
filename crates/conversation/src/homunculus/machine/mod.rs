//! The state machine: events in, actions out.

mod command;
mod fit;
mod orders;

use orders::About;
pub use orders::Orders;

use context::{Pressure, Tokens, TurnId};
use history::{MarkId, Route};
use jiff::{SignedDuration, Timestamp};

use crate::homunculus::event::{
    Acknowledged, Action, Event, JobId, Refusal, Reported, StopReason, Telemetry, Wish,
};
use crate::homunculus::extent::Extent;
use crate::homunculus::gauge::{Gauge, Size};
use crate::homunculus::limits::Limits;
use crate::homunculus::outline::Path;
use crate::homunculus::pace::{Pace, Writing};
use crate::homunculus::price::CacheState;
use crate::homunculus::strategy::{Command, Moment, Situation, Stage, Strategy};

/// The number of times that one refused request is made smaller and sent again.
const MOST_RETRIES: u8 = 4;

/// The number of summaries that are made to make one view fit: the second knows the size of the user's words.
const MOST_FITTED: u8 = 2;

/// The number of times that one request may be held before it is sent regardless of the strategy.
const MOST_HOLDS: u32 = 8;

/// The supervisor of one conversation.
#[derive(Clone, Debug)]
pub struct Homunculus<S> {
    strategy: S,
    machine: Machine,
}

/// A summary that was made before a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The index of the first turn that it does not replace.
    pub cut: usize,
    /// Its mark.
    pub mark: MarkId,
    /// Its size as shown.
    pub tokens: Tokens,
    /// The time at which it was made.
    pub since: Timestamp,
}

/// All that is remembered between events.
#[derive(Clone, Debug)]
struct Machine {
    limits: Limits,
    shown: Extent,
    /// The turns at the edges of what is shown, to notice when a conversation goes on from before
    /// them.
    edges: [TurnId; 2],
    state: State,
    /// A ready summary that is kept while a better one is made.
    standby: Option<Ready>,
    failure: Failure,
    stopped: Option<StopReason>,
    /// The view that was taken back, with its edges.
    undone: Option<Box<(Extent, [TurnId; 2])>>,
    count: Count,
    sending: Sending,
    gauge: Gauge,
    pace: Pace,
}

/// Counts since the machine began.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    requests: u32,
    swaps: u32,
    /// Swaps in a row that freed less than the minimum gain.
    fruitless: u32,
    jobs: u32,
}

/// The state of the next summary. After a failure it is `Idle` until the back-off is over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Idle,
    Preparing(Preparing),
    Ready(Ready),
}

/// A place that a summary stands for, and since when that was decided.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    cut: usize,
    node: TurnId,
    since: Timestamp,
    requests: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Preparing {
    job: JobId,
    point: Point,
    route: Route,
    /// True if it is to replace the summary that is shown.
    remakes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Ready {
    point: Point,
    mark: MarkId,
    tokens: Tokens,
    /// True if it replaces the summary that is shown.
    remakes: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Failure {
    in_a_row: u32,
    not_before: Option<Timestamp>,
}

/// The request that is held or was sent last.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    held_since: Option<Timestamp>,
    holds: u32,
    /// The number of summaries that were ordered without the strategy, to make it fit.
    fitted: u8,
    last: Option<Timestamp>,
    /// The newest turn of a refused request that was sent again, and how often.
    retried: Option<(TurnId, u8)>,
    reported: Reported,
}

/// The question that a strategy is asked.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    path: Path<'a>,
    moment: Moment,
    now: Timestamp,
}

impl<S: Strategy> Homunculus<S> {
    /// A supervisor of a conversation that has not begun.
    #[must_use]
    pub fn new(strategy: S, limits: Limits) -> Self {
        Self {
            strategy,
            machine: Machine {
                limits,
                shown: Extent {
                    from: 0,
                    cleared: 0,
                    mark: None,
                    summary: Tokens::ZERO,
                },
                edges: [TurnId::ROOT; 2],
                state: State::Idle,
                standby: None,
                failure: Failure {
                    in_a_row: 0,
                    not_before: None,
                },
                stopped: None,
                undone: None,
                count: Count::default(),
                sending: Sending::default(),
                gauge: Gauge::default(),
                pace: Pace::default(),
            },
        }
    }

    /// A supervisor of a conversation that was shown like this when it was last seen: after a restart,
    /// or on a branch of another conversation. Where the path is too short for that, all of it is
    /// shown.
    #[must_use]
    pub fn resume(strategy: S, limits: Limits, shown: Extent, path: &Path<'_>) -> Self {
        let mut resumed = Self::new(strategy, limits);
        if shown.edges(path).is_some() {
            resumed.machine.show(shown, path);
        }
        resumed
    }

    /// Numbers its summaries behind those of the supervisor before it, whose last one may still end: its end is not
    /// taken for that of another.
    pub(crate) fn number_behind(&mut self, before: &Self) {
        self.machine.count.jobs = before.machine.count.jobs;
    }

    /// Takes a summary that was made before a restart as the one that is ready, unless there is another
    /// or it does not stand on the path behind what is hidden.
    pub fn restore(&mut self, made: &Restored, path: &Path<'_>) {
        let idle = self.machine.state == State::Idle && self.machine.standby.is_none();
        let node = path.node_before(made.cut);
        if let (true, Some(node)) = (idle && made.cut > self.machine.shown.from, node) {
            self.machine.state = State::Ready(Ready {
                point: Point {
                    cut: made.cut,
                    node,
                    since: made.since,
                    requests: self.machine.count.requests,
                },
                mark: made.mark,
                tokens: made.tokens,
                remakes: false,
            });
        }
    }

    /// The strategy.
    #[must_use]
    pub const fn strategy(&self) -> &S {
        &self.strategy
    }

    /// Lets go of memory that an idle conversation does not need.
    pub fn rest(&mut self) {
        self.strategy.rest();
    }

    /// Changes the strategy.
    pub(crate) fn strategy_mut(&mut self, change: impl FnOnce(&mut S)) {
        change(&mut self.strategy);
    }

    /// The time that summaries take, as learned so far.
    #[must_use]
    pub const fn writing(&self) -> Writing {
        self.machine.pace.writing
    }

    /// Takes over what was learnt elsewhere of how long summaries take.
    pub const fn set_writing(&mut self, writing: Writing) {
        self.machine.pace.writing = writing;
    }

    /// Takes other guards: the model was changed, or its limits.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.machine.limits = limits;
    }

    /// The provider took the view of this path before, at this time, and counted so many tokens. Where the
    /// count is not known, nothing is done about its size until there is more of it, or the provider
    /// reports it. For what comes back after a restart.
    pub fn accepted(&mut self, path: &Path<'_>, counted: Option<Tokens>, at: Timestamp) {
        let machine = &mut self.machine;
        let below = machine.limits.hard_tokens();
        let view = (&machine.shown, path);
        machine.gauge.accept(view, counted, below);
        machine.sending.last = Some(at);
    }

    /// The newest view is sent without a note that was in the one before.
    pub(crate) fn clear_note(&mut self, tokens: Tokens) {
        self.machine.gauge.clear_note(tokens);
    }

    /// Returns true if the newest view does not go on from one whose size is known.
    pub(crate) fn is_estimate(&self) -> bool {
        self.machine.gauge.is_estimate()
    }

    /// The newest view has this size, of which so much is notes.
    pub(crate) fn estimate(&mut self, size: Size, notes: Tokens) {
        self.machine.gauge.estimate(size, notes);
    }

    /// Turns of the newest view were shortened before it went out.
    pub(crate) fn shorten(&mut self, path: &Path<'_>) {
        self.machine.gauge.shorten(path);
    }

    /// The newest view is sent with a note of so many tokens.
    pub(crate) fn add_note(&mut self, tokens: Tokens) {
        self.machine.gauge.add_note(tokens);
    }

    /// The size of a view as the provider counts it, as far as that is known.
    #[must_use]
    pub fn size(&self, shown: &Extent, path: &Path<'_>) -> Size {
        self.machine.gauge.size(shown, path)
    }

    /// The size of the view that was sent last.
    #[must_use]
    pub fn sent(&self) -> Size {
        self.machine.gauge.last()
    }

    /// The guards.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.machine.limits
    }

    /// The summary that is ready, whether or not another is being made.
    #[must_use]
    pub const fn ready(&self) -> Option<MarkId> {
        match (&self.machine.state, &self.machine.standby) {
            (State::Ready(ready), _) | (_, Some(ready)) => Some(ready.mark),
            (State::Idle | State::Preparing(_), None) => None,
        }
    }

    /// Takes other words for the summary that is ready: another mark, of another size, at the same place.
    pub fn reword(&mut self, old: MarkId, (mark, tokens): (MarkId, Tokens)) {
        let machine = &mut self.machine;
        if let (State::Ready(ready), _) | (_, Some(ready)) =
            (&mut machine.state, &mut machine.standby)
            && ready.mark == old
        {
            (ready.mark, ready.tokens) = (mark, tokens);
        }
    }

    /// The summary that was taken back and may be shown again.
    #[must_use]
    pub fn undone(&self) -> Option<MarkId> {
        let undone = self.machine.undone.as_deref();
        undone.and_then(|(shown, _)| shown.mark)
    }

    /// Returns true if something was taken back and may be shown again.
    #[must_use]
    pub const fn may_redo(&self) -> bool {
        self.machine.undone.is_some()
    }

    /// Says if the newest change of the view can be taken back, or a larger summary made.
    ///
    /// # Errors
    /// Where nothing was taken from the view, or there is no room for more.
    pub fn may_undo(&self, path: &Path<'_>) -> Result<(), Refusal> {
        let (machine, whole) = (&self.machine, Extent::default());
        if machine.shown == whole {
            return Err(Refusal::NothingDone);
        }
        match machine.gauge.size(&whole, path).all() < machine.limits.brim() {
            true => Ok(()),
            false => machine.larger(path).map(drop),
        }
    }

    /// Until when no preparation starts, after failures.
    #[must_use]
    pub const fn backing_off(&self) -> Option<Timestamp> {
        self.machine.failure.not_before
    }

    /// The current view.
    #[must_use]
    pub const fn shown(&self) -> Extent {
        self.machine.shown
    }

    /// Why compaction has stopped, where it has.
    #[must_use]
    pub const fn stopped(&self) -> Option<StopReason> {
        self.machine.stopped
    }

    /// The number of times the newest refused request was sent again.
    #[must_use]
    pub fn retries(&self) -> u8 {
        self.machine
            .sending
            .retried
            .map_or(0, |(_, retries)| retries)
    }

    /// The summary that is being made.
    #[must_use]
    pub const fn preparing(&self) -> Option<JobId> {
        match self.machine.state {
            State::Preparing(Preparing { job, .. }) => Some(job),
            State::Idle | State::Ready(_) => None,
        }
    }

    /// Takes an event and says what to do, in order. A request is answered with exactly one of
    /// [`Action::Send`] and [`Action::Hold`]; one request is held a bounded number of times.
    pub fn on(&mut self, event: Event<'_>, now: Timestamp) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Request(path) => self.request(&path, now, &mut actions),
            Event::Idle(path) => {
                self.machine.follow(&path, &mut actions);
                let asked = Asked {
                    path,
                    moment: Moment::Idle,
                    now,
                };
                self.ask(&asked, &mut actions);
            }
            Event::Command(command, path) => {
                self.machine.follow(&path, &mut actions);
                let asked = Asked {
                    path,
                    moment: Moment::Idle,
                    now,
                };
                if command == Command::Swap {
                    // An order to swap withdraws an undo, which would refuse it (`wanted_whole`).
                    self.machine.undone = None;
                }
                // What became of it is among the actions.
                let _ = self.machine.obey(command, &asked, &mut actions);
            }
            Event::Undo(path) => {
                self.machine.follow(&path, &mut actions);
                let done = self.machine.undo(&path, now, &mut actions);
                actions.extend(done.err().map(Action::Refuse));
            }
            Event::Redo(path) => {
                self.machine.follow(&path, &mut actions);
                let done = self.machine.redo(&path, &mut actions);
                actions.extend(done.err().map(Action::Refuse));
            }
            Event::Rescue(path) => self.machine.rescue(&path, now, &mut actions),
            Event::Pinned(wish, path) => self.pinned(&wish, path, now, &mut actions),
            Event::Said(when, turns) => self.strategy.said(when, turns, now),
            Event::Regretted(regret) => self.strategy.regretted(regret),
            Event::Usage { input, reported } => self.machine.used(input, reported, now),
            Event::Overhead { tokens } => self.machine.gauge.overhead(tokens),
            Event::Prepared { job, mark, tokens } => {
                self.machine
                    .prepared((job, now), (mark, tokens), &mut actions);
            }
            Event::Failed { job } => self.machine.failed(job, now, &mut actions),
            Event::Overflowed { input } => self.machine.overflowed(input, &mut actions),
        }
        for action in &actions {
            if let Action::Telemetry(telemetry) = action {
                self.strategy.hear(telemetry);
            }
        }
        actions
    }

    fn request(&mut self, path: &Path<'_>, now: Timestamp, actions: &mut Vec<Action>) {
        self.machine.follow(path, actions);
        self.machine.show_remade(path, actions);
        let moment = self.machine.sending.held_since.map_or_else(
            || Moment::Request,
            |since| Moment::Held(now.duration_since(since)),
        );
        if moment == Moment::Request {
            self.machine.sending.fitted = 0;
            let count = &mut self.machine.count;
            count.requests = count.requests.saturating_add(1);
            let last = self.machine.sending.last;
            let since = last.map(|last| now.duration_since(last));
            self.machine.pace.said(path.covered(path.len()), since);
        }
        if self.machine.sending.holds < MOST_HOLDS {
            let asked = Asked {
                path: *path,
                moment,
                now,
            };
            if let Some(hold) = self.ask(&asked, actions) {
                let sending = &mut self.machine.sending;
                sending.held_since.get_or_insert(now);
                sending.holds += 1;
                actions.push(hold);
                return;
            }
        }
        self.machine.send(path, now, actions);
    }

    /// Asks the strategy whether it keeps a pin. The path may still be on its way to where the conversation
    /// stands, so what is shown is not compared with it.
    fn pinned(
        &mut self,
        wish: &Wish<'_>,
        path: Path<'_>,
        now: Timestamp,
        actions: &mut Vec<Action>,
    ) {
        let asked = Asked {
            path,
            moment: Moment::Idle,
            now,
        };
        let mut orders = Orders::new(&mut self.machine, &asked, actions, About::Pin);
        self.strategy.pinned(wish, &mut orders);
    }

    /// Asks the strategy and carries out what it says. The answer is the hold, if it ordered one.
    fn ask(&mut self, asked: &Asked<'_>, actions: &mut Vec<Action>) -> Option<Action> {
        if self.machine.stopped.is_some() {
            return None;
        }
        let about = About::Conversation;
        let mut orders = Orders::new(&mut self.machine, asked, actions, about);
        self.strategy.decide(&mut orders);
        let hold = orders.hold();
        // A later command may have abandoned what the request would wait for.
        hold.filter(|_| self.preparing().is_some())
    }
}

impl Machine {
    fn situation<'a>(&'a self, asked: &Asked<'a>) -> Situation<'a> {
        let &Asked {
            ref path,
            moment,
            now,
        } = asked;
        let after = |ready: &Ready| {
            self.swap(ready, path, now)
                .map(|shown| self.size(&shown, path))
        };
        Situation {
            moment,
            path: *path,
            shown: self.shown,
            view: self.size(&self.shown, path),
            gauge: self.gauge,
            stage: match &self.state {
                State::Idle => Stage::None,
                State::Preparing(preparing) => Stage::Preparing {
                    cut: preparing.point.cut,
                },
                State::Ready(ready) => Stage::Ready {
                    cut: ready.point.cut,
                    swap: after(ready),
                },
            },
            standby: self.standby.as_ref().map(after),
            cache: self.cache(now),
            compactions: self.count.swaps,
            lead: self.pace.lead(self.limits.summary),
            reported: self.sending.reported,
            limits: &self.limits,
        }
    }

    /// The tokens of a view as the provider will count it, without what is only guessed: nothing is
    /// decided on a guess.
    fn size(&self, shown: &Extent, path: &Path<'_>) -> Tokens {
        self.gauge.size(shown, path).known
    }

    fn cache(&self, now: Timestamp) -> CacheState {
        self.sending.last.map_or(CacheState::Cold, |last| {
            self.limits.prices.cache_after(now.duration_since(last))
        })
    }

    /// Forgets what does not stand on this path: the client may have gone back and on from there.
    fn follow(&mut self, path: &Path<'_>, actions: &mut Vec<Action>) {
        let stands = |point: &Point| path.node_before(point.cut) == Some(point.node);
        if self.shown.edges(path) != Some(self.edges) {
            self.show(Extent::default(), path);
            self.undone = None;
            self.stopped = None;
            self.count.fruitless = 0;
            actions.push(Action::Telemetry(Telemetry::Branched));
            actions.push(Action::Show(self.shown));
        }
        if self
            .standby
            .as_ref()
            .is_some_and(|ready| !stands(&ready.point))
        {
            self.standby = None;
        }
        match self.state {
            State::Preparing(preparing) if !stands(&preparing.point) => {
                actions.push(Action::Abandon(preparing.job));
                self.fall_back();
            }
            State::Ready(ready) if !stands(&ready.point) => self.state = State::Idle,
            State::Idle | State::Preparing(_) | State::Ready(_) => {}
        }
    }

    /// Takes the newest change of the view back: everything is shown, where it fits, or else a larger summary
    /// in the place of the one that is shown.
    fn undo(
        &mut self,
        path: &Path<'_>,
        now: Timestamp,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refusal> {
        if self.shown == Extent::default() {
            return Err(Refusal::NothingDone);
        }
        let (before, whole) = (self.shown, Extent::default());
        let after = self.gauge.size(&whole, path).all();
        if after >= self.limits.brim() {
            return self.remake(path, now, actions);
        }
        self.undone = Some(Box::new((before, self.edges)));
        let before = self.size(&before, path);
        self.show(whole, path);
        actions.push(Action::Telemetry(Telemetry::TakenBack { before, after }));
        actions.push(Action::ShowAll);
        Ok(())
    }

    /// Shows again what was taken back.
    fn redo(&mut self, path: &Path<'_>, actions: &mut Vec<Action>) -> Result<(), Refusal> {
        let (shown, edges) = *self.undone.clone().ok_or(Refusal::NothingDone)?;
        let is_there = shown.edges(path) == Some(edges);
        let is_remade = self.shown.mark.is_some() && self.shown.from == shown.from;
        if !is_there || !(is_remade || self.shown == Extent::default()) {
            return Err(Refusal::NothingDone);
        }
        let before = self.size(&self.shown, path);
        self.undone = None;
        self.show(shown, path);
        self.discard_behind(shown.from, actions);
        actions.push(Action::Telemetry(Telemetry::Swapped {
            before,
            after: self.size(&shown, path),
            tail: path.tail(shown.from),
        }));
        actions.push(Action::Show(shown));
        Ok(())
    }

    /// Refuses to take anything from a view that an undo has shown whole, as long as there is room.
    fn wanted_whole(&self, path: &Path<'_>) -> Result<(), Refusal> {
        let is_whole = self.shown == Extent::default() && self.undone.is_some();
        if is_whole && self.size(&self.shown, path) < self.limits.brim() {
            return Err(Refusal::TakenBack);
        }
        Ok(())
    }

    fn show(&mut self, shown: Extent, path: &Path<'_>) {
        self.shown = shown;
        self.edges = shown.edges(path).unwrap_or([TurnId::ROOT; 2]);
    }

    /// The state after a preparation came to nothing: the summary on standby, if there is one.
    fn fall_back(&mut self) {
        self.state = self.standby.take().map_or(State::Idle, State::Ready);
    }

    fn send(&mut self, path: &Path<'_>, now: Timestamp, actions: &mut Vec<Action>) {
        self.gauge.send(&self.shown, path);
        let view = self.gauge.last().all();
        let sending = &mut self.sending;
        sending.held_since = None;
        sending.holds = 0;
        sending.last = Some(now);
        let pressure = Pressure::of(view, self.limits.window);
        actions.push(Action::Telemetry(Telemetry::Sent(pressure)));
        actions.push(Action::Send(self.shown));
    }

    fn used(&mut self, input: Tokens, reported: Reported, now: Timestamp) {
        self.gauge.report(input);
        self.sending.reported = reported;
        self.sending.retried = None;
        if let Some(sent) = self.sending.last {
            self.pace
                .answered(reported.output, now.duration_since(sent));
        }
    }

    fn prepared(
        &mut self,
        (job, now): (JobId, Timestamp),
        (mark, tokens): (MarkId, Tokens),
        actions: &mut Vec<Action>,
    ) {
        match self.state {
            State::Preparing(preparing) if preparing.job == job => {
                if preparing.route != Route::Extractive {
                    let took = now.duration_since(preparing.point.since);
                    self.pace.writing.learn(took);
                }
                self.failure = Failure::default();
                self.standby = None;
                self.state = State::Ready(Ready {
                    point: preparing.point,
                    mark,
                    tokens,
                    remakes: preparing.remakes,
                });
            }
            _ => actions.push(Action::Telemetry(Telemetry::LateResult(job))),
        }
    }

    fn failed(&mut self, job: JobId, now: Timestamp, actions: &mut Vec<Action>) {
        match self.state {
            State::Preparing(preparing) if preparing.job == job => {
                let failures = self.failure.in_a_row.saturating_add(1);
                let wait = self.limits.back_off.after(failures);
                self.failure = Failure {
                    in_a_row: failures,
                    not_before: Some(later(now, wait).unwrap_or(Timestamp::MAX)),
                };
                self.fall_back();
                let count = Telemetry::PreparationFailed(failures);
                actions.push(Action::Telemetry(count));
            }
            _ => actions.push(Action::Telemetry(Telemetry::LateResult(job))),
        }
    }

    fn overflowed(&mut self, input: Option<Tokens>, actions: &mut Vec<Action>) {
        actions.push(Action::Telemetry(Telemetry::Overflowed));
        let (head, sending) = (self.gauge.head(), &mut self.sending);
        // The provider says that the view is above its window, whatever we count.
        let least = self.limits.window + Tokens::new(1);
        self.gauge
            .report(input.map_or(least, |input| input.max(least)));
        let retries = match sending.retried {
            Some((of, retries)) if Some(of) == head => retries,
            _ => 0,
        };
        match head.filter(|_| retries < MOST_RETRIES) {
            Some(head) => {
                sending.retried = Some((head, retries + 1));
                actions.push(Action::Retry);
            }
            None => {
                // When the client tries again, what is shown may be smaller.
                sending.retried = None;
                actions.push(Action::PassThrough);
            }
        }
    }
}

/// `now` and so much later; `None` beyond the end of time.
fn later(now: Timestamp, wait: SignedDuration) -> Option<Timestamp> {
    now.checked_add(wait).ok()
}

/// Acknowledges a command.
fn acknowledge(command: Command, verdict: crate::homunculus::event::Verdict) -> Action {
    Action::Acknowledge(Acknowledged { command, verdict })
}

#[cfg(test)]
mod tests;
