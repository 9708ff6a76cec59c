//! Carrying out commands: every guard is here.

use context::extract::Room;
use context::{Tokens, TurnId};
use history::{MarkId, Route};
use jiff::Timestamp;

use super::{Asked, Machine, Point, Preparing, Ready, State, acknowledge, later};
use crate::homunculus::event::{
    Action, JobId, Preparation, Refusal, StopReason, Telemetry, Verdict,
};
use crate::homunculus::extent::Extent;
use crate::homunculus::outline::Path;
use crate::homunculus::strategy::{Command, Moment};

/// The size of a summary that is made again because it left too much out, in sizes of the old one.
const LARGER: f64 = 2.0;
/// The least size that is worth it.
const LEAST: f64 = 1.25;
/// The share of the room up to the hard threshold that the view with it may take.
const FILLED: f64 = 0.95;

impl Machine {
    /// Carries out a command or refuses it, and acknowledges it. The answer is the hold, where one
    /// was ordered and granted.
    ///
    /// # Errors
    /// Where the command would break a rule; then nothing has changed.
    pub(super) fn obey(
        &mut self,
        command: Command,
        asked: &Asked<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<Option<Action>, Refusal> {
        let &Asked {
            ref path,
            moment,
            now,
        } = asked;
        let mut hold = None;
        let outcome = match command {
            Command::Prepare { cut, room, route } => {
                let order = Order { cut, room, route };
                self.prepare(&order, path, now, actions)
            }
            Command::Swap => self.swap_in(path, now, actions),
            Command::Drop { cut } => self.drop_before(cut, path, actions),
            Command::Clear { upto } => self.clear_before(upto, path, actions),
            Command::Pause => self.pause(moment, now).map(|until| {
                hold = Some(Action::Hold { until });
            }),
            Command::Abandon => {
                self.abandon(actions);
                Ok(())
            }
            Command::Resume => {
                self.stopped = None;
                self.count.fruitless = 0;
                Ok(())
            }
        };
        let verdict = outcome.map_or_else(Verdict::Refused, |()| Verdict::Done);
        actions.push(acknowledge(command, verdict));
        outcome.map(|()| hold)
    }

    fn prepare(
        &mut self,
        order: &Order,
        path: &Path<'_>,
        now: Timestamp,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refusal> {
        let node = self.may_prepare(order, path, now)?;
        self.begin(order, (path, node), now, actions);
        Ok(())
    }

    /// Orders a larger summary for the place of the one that is shown.
    pub(super) fn remake(
        &mut self,
        path: &Path<'_>,
        now: Timestamp,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refusal> {
        let (shown, budget) = (self.shown, self.larger(path)?);
        let order = Order {
            cut: shown.from,
            room: Room {
                summary: budget,
                ..self.limits.for_summary()
            },
            route: Route::Extractive,
        };
        let node = path.node_before(shown.from).ok_or(Refusal::IllegalCut)?;
        self.begin(&order, (path, node), now, actions);
        if let State::Preparing(preparing) = &mut self.state {
            preparing.remakes = true;
        }
        Ok(())
    }

    /// The budget of a larger summary for the place of the one that is shown.
    pub(super) fn larger(&self, path: &Path<'_>) -> Result<Tokens, Refusal> {
        if let State::Preparing(running) = &self.state
            && running.remakes
        {
            return Err(Refusal::AlreadyPreparing);
        }
        let (shown, limits) = (self.shown, &self.limits);
        let beside = self.size(&shown, path).saturating_sub(shown.summary);
        // The conversation grows before the summary is shown.
        let room = limits.hard_tokens().scaled(FILLED).saturating_sub(beside);
        let budget = shown.summary.scaled(LARGER).min(room);
        if shown.mark.is_none() || budget < shown.summary.scaled(LEAST) {
            let whole = self.gauge.size(&Extent::default(), path).all();
            return Err(Refusal::DoesNotFit(whole));
        }
        Ok(budget)
    }

    /// Shows a larger summary in the place of the one that is shown, once it is there.
    pub(super) fn show_remade(&mut self, path: &Path<'_>, actions: &mut Vec<Action>) {
        let State::Ready(ready) = self.state else {
            return;
        };
        if !ready.remakes {
            return;
        }
        self.state = State::Idle;
        let old = self.shown;
        let shown = old.swapped(ready.point.cut, ready.mark, ready.tokens);
        let (before, after) = (self.size(&old, path), self.size(&shown, path));
        if ready.point.cut != old.from {
            return;
        }
        if after >= self.limits.hard_tokens() {
            actions.push(Action::Telemetry(Telemetry::NotShown(after)));
            return;
        }
        self.undone = Some(Box::new((old, self.edges)));
        self.show(shown, path);
        let tail = path.tail(shown.from);
        actions.push(Action::Telemetry(Telemetry::Swapped {
            before,
            after,
            tail,
        }));
        actions.push(Action::Show(shown));
    }

    /// Begins to make a summary.
    fn begin(
        &mut self,
        order: &Order,
        (path, node): (&Path<'_>, TurnId),
        now: Timestamp,
        actions: &mut Vec<Action>,
    ) {
        match self.state {
            State::Preparing(old) => {
                // The new summary is there at once.
                let elapsed = now.duration_since(old.point.since);
                self.pace.writing.exceeds(elapsed);
                actions.push(Action::Abandon(old.job));
            }
            State::Ready(ready) => self.standby = Some(ready),
            State::Idle => {}
        }
        let job = JobId(self.count.jobs.into());
        self.count.jobs = self.count.jobs.saturating_add(1);
        self.state = State::Preparing(Preparing {
            job,
            route: order.route,
            remakes: false,
            point: Point {
                cut: order.cut,
                node,
                since: now,
                requests: self.count.requests,
            },
        });
        actions.push(Action::Prepare(Preparation {
            job,
            cut: order.cut,
            node,
            made_from: path.head(),
            route: order.route,
            budget: order.room.summary,
            words: order.room.words,
            standing: order.room.standing,
        }));
    }

    fn may_prepare(
        &self,
        order: &Order,
        path: &Path<'_>,
        now: Timestamp,
    ) -> Result<TurnId, Refusal> {
        self.not_stopped()?;
        let at_once = order.route == Route::Extractive;
        if let State::Ready(ready) = &self.state
            && ready.remakes
        {
            // The next request shows it first.
            return Err(Refusal::AlreadyPreparing);
        }
        // A larger summary that somebody would like gives way to one that is needed.
        if let State::Preparing(running) = &self.state
            && !running.remakes
            && (!at_once || running.route == Route::Extractive)
        {
            return Err(Refusal::AlreadyPreparing);
        }
        if let Some(until) = self.failure.not_before
            && now < until
            && !at_once
        {
            return Err(Refusal::BackingOff(until));
        }
        // The provider's own summary stands for all of a request; its answer is kept.
        let whole = order.route == Route::Native && order.cut == path.len() && path.ends_whole();
        let node = if whole && order.cut > self.shown.from {
            path.head()
        } else {
            self.may_cut(order.cut, path)?
        };
        let before = self.size(&self.shown, path);
        let to_come = MarkId::from_bytes([0; 16]);
        let after = self.shown.swapped(order.cut, to_come, order.room.summary);
        let after = self.size(&after, path);
        if before <= self.limits.window {
            self.gains(before, after)?;
        }
        Ok(node)
    }

    /// The view after a swap to this summary, or the reason why it is refused.
    pub(super) fn swap(
        &self,
        ready: &Ready,
        path: &Path<'_>,
        now: Timestamp,
    ) -> Result<Extent, Refusal> {
        self.not_stopped()?;
        let cut = ready.point.cut;
        if self.may_cut(cut, path)? != ready.point.node {
            return Err(Refusal::IllegalCut);
        }
        let cap = self.limits.staleness;
        let requests = self.count.requests.saturating_sub(ready.point.requests);
        if requests > cap.requests || now.duration_since(ready.point.since) > cap.age {
            return Err(Refusal::Stale);
        }
        let shown = self.shown.swapped(cut, ready.mark, ready.tokens);
        let before = self.size(&self.shown, path);
        let after = self.size(&shown, path);
        if shown.tokens(path) >= self.shown.tokens(path) {
            // However the provider counts.
            return Err(Refusal::TooLittleGain(Tokens::ZERO));
        }
        if before > self.limits.window && after < before {
            // To fit, anything that helps is right.
            return Ok(shown);
        }
        // From the hard threshold on, a summary that is there is worth more than a better one that
        // may not be ready in time.
        let is_early = before < self.limits.hard_tokens();
        self.wanted_whole(path)?;
        let tail = path.tail(cut);
        if is_early && tail > self.limits.tail_cap {
            return Err(Refusal::TailTooLong(tail));
        }
        self.gains(before, after)?;
        if is_early {
            self.pays(&shown, path, now)?;
        }
        Ok(shown)
    }

    /// Checks that a swap below the hard threshold pays for itself soon enough.
    fn pays(&self, shown: &Extent, path: &Path<'_>, now: Timestamp) -> Result<(), Refusal> {
        let before = self.size(&self.shown, path);
        let freed = before.saturating_sub(self.size(shown, path));
        let kept = path.tail(shown.from);
        let restated = path.front(shown.from);
        let restated = restated.saturating_sub(path.front(self.shown.from));
        let written = shown.summary + restated;
        let prices = &self.limits.prices;
        let requests = prices.break_even(written, kept, freed, self.cache(now));
        if requests > self.limits.horizon {
            return Err(Refusal::LosesMoney(requests));
        }
        Ok(())
    }

    fn swap_in(
        &mut self,
        path: &Path<'_>,
        now: Timestamp,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refusal> {
        let ready = match self.state {
            State::Ready(ready) => Some(ready),
            State::Idle | State::Preparing(_) => self.standby,
        };
        let ready = ready.ok_or(Refusal::NothingReady)?;
        let shown = self.swap(&ready, path, now)?;
        let before = self.size(&self.shown, path);
        let after = self.size(&shown, path);
        self.show(shown, path);
        self.undone = None;
        self.standby = None;
        if matches!(self.state, State::Ready(_)) {
            self.state = State::Idle;
        }
        let tail = path.tail(shown.from);
        self.count.swaps = self.count.swaps.saturating_add(1);
        actions.push(Action::Telemetry(Telemetry::Swapped {
            before,
            after,
            tail,
        }));
        actions.push(Action::Show(shown));
        self.count_gain(before, after, actions);
        Ok(())
    }

    fn count_gain(&mut self, before: Tokens, after: Tokens, actions: &mut Vec<Action>) {
        if self.gains(before, after).is_ok() {
            self.count.fruitless = 0;
            return;
        }
        self.count.fruitless += 1;
        if self.count.fruitless >= self.limits.thrash {
            let reason = StopReason::Thrashing(self.count.fruitless);
            self.stopped = Some(reason);
            self.abandon(actions);
            actions.push(Action::Stop(reason));
        }
    }

    fn drop_before(
        &mut self,
        cut: usize,
        path: &Path<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refusal> {
        self.not_stopped()?;
        self.wanted_whole(path)?;
        self.may_cut(cut, path)?;
        self.show(self.shown.dropped(cut), path);
        self.undone = None;
        self.discard_behind(cut, actions);
        actions.push(Action::Show(self.shown));
        Ok(())
    }

    /// Forgets summaries that do not reach beyond what is hidden anyway.
    pub(super) fn discard_behind(&mut self, cut: usize, actions: &mut Vec<Action>) {
        self.standby = self.standby.filter(|ready| ready.point.cut > cut);
        match self.state {
            State::Preparing(preparing) if preparing.point.cut <= cut => {
                actions.push(Action::Abandon(preparing.job));
                self.fall_back();
            }
            State::Ready(ready) if ready.point.cut <= cut => self.state = State::Idle,
            State::Idle | State::Preparing(_) | State::Ready(_) => {}
        }
    }

    fn clear_before(
        &mut self,
        upto: usize,
        path: &Path<'_>,
        actions: &mut Vec<Action>,
    ) -> Result<(), Refusal> {
        self.not_stopped()?;
        if upto <= self.shown.cleared {
            return Err(Refusal::NoProgress);
        }
        if upto > path.len() {
            return Err(Refusal::IllegalCut);
        }
        self.wanted_whole(path)?;
        self.show(self.shown.cleared(upto), path);
        actions.push(Action::Show(self.shown));
        Ok(())
    }

    /// Until when the request is held; `None`: as long as the preparation takes.
    fn pause(&self, moment: Moment, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
        let State::Preparing(preparing) = &self.state else {
            return Err(Refusal::CanNotHold);
        };
        if moment == Moment::Idle {
            return Err(Refusal::CanNotHold);
        }
        if preparing.route == Route::Extractive {
            return Ok(Some(now));
        }
        let since = self.sending.held_since.unwrap_or(now);
        match later(since, self.limits.patience) {
            Some(until) if until <= now => Err(Refusal::CanNotHold),
            until => Ok(until),
        }
    }

    fn abandon(&mut self, actions: &mut Vec<Action>) {
        if let State::Preparing(preparing) = &self.state {
            actions.push(Action::Abandon(preparing.job));
        }
        self.state = State::Idle;
        self.standby = None;
    }

    fn not_stopped(&self) -> Result<(), Refusal> {
        match self.stopped {
            Some(_) => Err(Refusal::Stopped),
            None => Ok(()),
        }
    }

    /// The node before a legal cut that lies behind what is hidden already.
    fn may_cut(&self, cut: usize, path: &Path<'_>) -> Result<TurnId, Refusal> {
        if !path.is_cut(cut) {
            return Err(Refusal::IllegalCut);
        }
        if cut <= self.shown.from {
            return Err(Refusal::NoProgress);
        }
        path.node_before(cut).ok_or(Refusal::IllegalCut)
    }

    fn gains(&self, before: Tokens, after: Tokens) -> Result<(), Refusal> {
        let freed = before.saturating_sub(after);
        if freed == Tokens::ZERO || freed < before.scaled(self.limits.minimum_gain) {
            return Err(Refusal::TooLittleGain(freed));
        }
        Ok(())
    }
}

/// A command to make a summary.
struct Order {
    cut: usize,
    room: Room,
    route: Route,
}
