//! Changes a request that the provider refused so that it takes it: one that is too long is made smaller,
//! whatever the strategy says, and thinking that the provider takes for another conversation's is left out.

use context::shrink::Limits as ShrinkLimits;
use context::{Role, TokenCounter, Tokens, Turn, TurnId};
use history::{Change, Edition, Route};
use jiff::Timestamp;
use wire::api::{Failure, Overflow};

use crate::batch::Batch;
use crate::commons::Found;
use crate::conversation::Conversation;
use crate::decide::{Decided, Ready};
use crate::effect::{Effect, Hold, Lesson, Start, Unmade};
use crate::flight::Flight;
use crate::homunculus::{Action, Event, Extent, Path, Preparation};
use crate::incoming::Incoming;
use crate::join::resized;
use crate::journal::Happened;
use crate::rewrite;
use crate::words::Did;

/// The number of times that the supervisor is asked to make one view fit: first it shows the
/// summary that is ready, then a new one.
const MOST: usize = 4;

/// The share of the window that the newest tool results may take, whatever stands before them: less with each
/// refusal.
const RESULTS: [f64; 4] = [0.25, 0.12, 0.06, 0.03];

/// The least that a shortened result needs: the line that says how to have the whole.
const MARKER: Tokens = Tokens::new(120);

/// The smallest window that is believed.
const LEAST: Tokens = Tokens::new(1_000);

/// A refused request that is being changed.
#[derive(Debug)]
pub struct Rescue {
    why: Refused,
    stage: Stage,
    /// The number of times the request was refused.
    refusals: usize,
    /// The view with which the request was refused.
    shown: Extent,
    is_smaller: bool,
    did: Vec<Did>,
    batch: Batch,
    prepare: Option<Preparation>,
}

/// The reason for which a provider refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    /// The request does not fit the window.
    TooLong,
    /// The provider takes its thinking for another conversation's.
    ForeignThinking,
}

/// The next thing to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Ask the strategy, which may have a summary ready.
    Strategy,
    /// Have the supervisor summarise at once what was said; how often it was asked, and whether the
    /// results were shortened before.
    Summarise { asked: usize, again: bool },
    /// Shorten the newest results.
    Shorten,
    /// Ask the strategy how the smaller conversation is shown.
    Show,
}

impl Rescue {
    fn new(why: Refused, shown: Extent, refusals: u8) -> Self {
        Self {
            why,
            refusals: usize::from(refusals),
            stage: Stage::Strategy,
            shown,
            is_smaller: false,
            did: Vec::new(),
            batch: Batch::default(),
            prepare: None,
        }
    }

    /// Keeps the strategy's decision; the request goes out later.
    fn note(&mut self, ready: Ready, prepare: Option<Preparation>) {
        self.did.extend(ready.sending.did);
        // Its additions are stored whether or not the request is sent again.
        self.batch.add(ready.batch);
        self.prepare = prepare.or(self.prepare);
    }
}

impl Conversation {
    /// The provider refused a request.
    pub(crate) fn refused(
        &mut self,
        flight: &Flight,
        (status, failure): (u16, Option<&Failure>),
        now: Timestamp,
    ) -> Vec<Effect> {
        self.journal.note(now, Happened::Refused(status));
        let overflow = failure.and_then(Failure::overflow);
        let mut effects = Vec::new();
        if let Some(overflow) = &overflow {
            effects.extend(self.learn_window(flight, overflow, now));
        }
        let is_retried = overflow.is_some_and(|overflow| {
            self.terms.is_on()
                && self.flights.newest == flight.turns.number
                && self.is_retried_after_overflow(overflow.input, now)
        });
        let why = match is_retried {
            true => Refused::TooLong,
            false if failure.is_some_and(Failure::is_foreign_thinking) => Refused::ForeignThinking,
            false => return effects,
        };
        let refusals = self.supervisor.machine.retries();
        effects.push(Effect::Retry(Rescue::new(why, flight.shown, refusals)));
        effects
    }

    /// Learns from a refusal: the window that the provider states, or that it is smaller than what was
    /// refused.
    fn learn_window(
        &mut self,
        flight: &Flight,
        overflow: &Overflow,
        now: Timestamp,
    ) -> Option<Effect> {
        let stated = overflow.most.map(|most| {
            // The provider's limit includes the answer, so the request has only the rest.
            let room = most.saturating_sub(overflow.output);
            room.max(most.scaled(0.25)).max(LEAST)
        });
        let machine = &self.supervisor.machine;
        let is_newest = self.flights.newest == flight.turns.number;
        let (tokens, is_stated) = match (stated, overflow.input) {
            (Some(stated), _) => (stated, true),
            (None, Some(input)) => (input.max(LEAST), false),
            (None, None) if is_newest => (machine.sent().all().max(LEAST), false),
            (None, None) => return None,
        };
        if !is_stated && tokens >= machine.limits().window {
            return None;
        }
        self.take_window(Some(tokens), &flight.asked.model, now);
        Some(Effect::Learn(Lesson::Window(Found { tokens, is_stated })))
    }

    /// Tells the supervisor of an overflow; whether it wants another try.
    fn is_retried_after_overflow(&mut self, input: Option<Tokens>, now: Timestamp) -> bool {
        let event = Event::Overflowed { input };
        let actions = self.supervisor.machine.on(event, now);
        self.journal.note(now, Happened::Overflowed);
        actions.iter().any(|action| matches!(action, Action::Retry))
    }

    /// Goes on changing a refused request: ends with [`Effect::Send`], [`Effect::Hold`], or
    /// [`Effect::Overtaken`] where nothing can be changed.
    pub(crate) fn rescue(
        &mut self,
        incoming: &Incoming<'_>,
        (flight, rescue): (&mut Flight, &mut Rescue),
        now: Timestamp,
    ) -> Vec<Effect> {
        if rescue.why == Refused::ForeignThinking {
            return self.without_thinking(incoming, flight, now);
        }
        loop {
            if !self.leads_to(flight.turns.len, flight.turns.head) {
                return self.given_up(flight, rescue, now);
            }
            match rescue.stage {
                Stage::Strategy => match self.decide(incoming, flight, now) {
                    Decided::Overtaken => return self.given_up(flight, rescue, now),
                    Decided::Held(effects) => return effects,
                    Decided::Ready(ready, prepare) => {
                        rescue.is_smaller = flight.shown != rescue.shown;
                        if rescue.is_smaller && self.fits(flight) {
                            return self.rescued(*ready, (flight, rescue), prepare);
                        }
                        rescue.note(*ready, prepare);
                        rescue.stage = Stage::Summarise {
                            asked: 0,
                            again: false,
                        };
                    }
                },
                Stage::Summarise { asked, again } => {
                    let wait = (asked < MOST)
                        .then(|| self.summarise_at_once(flight, rescue, now))
                        .flatten();
                    if let Some(effects) = wait {
                        let asked = asked + 1;
                        rescue.stage = Stage::Summarise { asked, again };
                        return effects;
                    }
                    rescue.stage = match again || self.fits(flight) {
                        true => Stage::Show,
                        false => Stage::Shorten,
                    };
                }
                Stage::Shorten => {
                    let shortened = self.shorten_results(incoming, flight, rescue.refusals);
                    let has_shortened = !shortened.is_empty();
                    rescue.is_smaller |= has_shortened;
                    rescue.batch.editions.extend(shortened);
                    rescue.stage = match has_shortened && !self.fits(flight) {
                        // Now there may be room for a summary of what stands before them.
                        true => Stage::Summarise {
                            asked: 0,
                            again: true,
                        },
                        false => Stage::Show,
                    };
                }
                Stage::Show if !rescue.is_smaller => return self.given_up(flight, rescue, now),
                Stage::Show => match self.decide(incoming, flight, now) {
                    Decided::Overtaken => return self.given_up(flight, rescue, now),
                    Decided::Held(mut effects) => {
                        let noted = self.noted(rescue);
                        effects.extend(noted.map(|order| Effect::Prepare(order, Start::Now)));
                        return effects;
                    }
                    Decided::Ready(ready, prepare) => {
                        self.journal.note(now, Happened::Rescued);
                        rescue.did.extend(flight.swapped.then_some(Did::Swapped));
                        return self.rescued(*ready, (flight, rescue), prepare);
                    }
                },
            }
        }
    }

    /// Takes the summary that the strategy ordered before, if it is still wanted. It was to begin with the answer; a
    /// request that waits for it needs it begun now.
    fn noted(&self, rescue: &mut Rescue) -> Option<Preparation> {
        let noted = rescue.prepare.take();
        noted.filter(|order| self.is_preparing(order.job))
    }

    fn given_up(
        &mut self,
        flight: &mut Flight,
        rescue: &mut Rescue,
        now: Timestamp,
    ) -> Vec<Effect> {
        if let Some(order) = self.noted(rescue) {
            // It was to begin with the answer, which does not come.
            self.unprepared(&order, &Unmade::Abandoned, now);
        }
        flight.add_pending(std::mem::take(&mut rescue.batch));
        vec![Effect::Overtaken]
    }

    /// The request goes out once more.
    fn rescued(
        &mut self,
        mut ready: Ready,
        (flight, rescue): (&mut Flight, &mut Rescue),
        prepare: Option<Preparation>,
    ) -> Vec<Effect> {
        let did = &mut ready.sending.did;
        did.append(&mut rescue.did);
        let swapped = did.contains(&Did::Swapped);
        did.retain(|&did| did != Did::Kept && !(swapped && did == Did::Compacted));
        did.push(Did::Rescued);
        did.sort_unstable();
        did.dedup();
        flight.add_pending(std::mem::take(&mut rescue.batch));
        self.departing(ready, flight, prepare.or(rescue.prepare))
    }

    /// Leaves out the thinking that the provider takes for another conversation's: the conversation was
    /// shown something else before, through a gateway that knew it by another key, or not through one.
    /// Thinking may be taken out as a whole and is never put back.
    fn without_thinking(
        &mut self,
        incoming: &Incoming<'_>,
        flight: &mut Flight,
        now: Timestamp,
    ) -> Vec<Effect> {
        let (len, head) = (flight.turns.len, flight.turns.head);
        let is_out = self.record.standing.stripped == head;
        if !self.terms.is_on() || is_out || !self.leads_to(len, head) {
            return vec![Effect::Overtaken];
        }
        self.record.standing.stripped = head;
        self.journal.note(now, Happened::ThinkingRefused);
        let view = self.view(flight.shown, len);
        let tokens = self.view_size(&flight.shown, len);
        vec![Effect::Send(self.sending(
            incoming,
            (view, flight.shown),
            (tokens, vec![Did::Rescued]),
        ))]
    }

    /// Has the supervisor make the view fit. `Some`: it is to be asked again when what it makes for that
    /// is there.
    fn summarise_at_once(
        &mut self,
        flight: &mut Flight,
        rescue: &mut Rescue,
        now: Timestamp,
    ) -> Option<Vec<Effect>> {
        let decision = self.fit(flight.turns.len, now);
        if decision.swapped {
            self.tell_of_swap();
        }
        rescue.is_smaller |= decision.swapped || decision.reduced;
        flight.swapped |= rescue.is_smaller;
        let noted = self.noted(rescue);
        // A model may take minutes, or never answer.
        let running = self.supervisor.job.or(noted);
        let is_made_at_once = running.is_some_and(|order| order.route == Route::Extractive);
        if decision.prepare.is_none() && (self.fits(flight) || !is_made_at_once) {
            rescue.prepare = noted;
            return None;
        }
        flight.waited = true;
        let begun = decision.prepare.or(noted);
        let mut effects = Vec::new();
        effects.extend(begun.map(|order| Effect::Prepare(order, Start::Now)));
        effects.push(Effect::Hold(Hold::OnTheSpot));
        Some(effects)
    }

    /// Shortens the new tool results of a view that fits the window but leaves no room for an answer: the provider
    /// would take the request and cut the answer off.
    pub(crate) fn leave_room(&mut self, incoming: &Incoming<'_>, flight: &Flight) -> Vec<Edition> {
        let machine = &self.supervisor.machine;
        let is_first = flight.turns.new > 0 && machine.retries() == 0;
        let limits = machine.limits();
        let view = self.view_of(flight);
        // What exceeds the window is refused, and then made smaller; our count may be wrong.
        if !self.terms.is_on() || !is_first || view <= limits.room() || view > limits.window {
            return Vec::new();
        }
        let turns = incoming.turns();
        let first = answered(turns).max(turns.len().saturating_sub(flight.turns.new));
        let counter = incoming.model.counter();
        let newest = turns.get(first..).unwrap_or_default();
        let turns = newest.iter().enumerate();
        let sizes: Vec<Tokens> = turns
            .flat_map(|(offset, turn)| self.result_sizes(first + offset, turn, &counter))
            .collect();
        let rest = view.saturating_sub(sizes.iter().copied().sum());
        let Some(each) = share(sizes, limits.room().saturating_sub(rest)) else {
            return Vec::new();
        };
        let editions = self.shorten(incoming, flight, (first, &ShrinkLimits::new(each)));
        let path = Path::new(&self.said.outline, flight.turns.len, self.pins.places());
        self.supervisor.machine.shorten(&path);
        editions
    }

    /// Shortens the tool results behind the model's last answer, which no provider accepted yet, to what
    /// there is room for. Results that were shortened to that size already stay.
    fn shorten_results(
        &mut self,
        incoming: &Incoming<'_>,
        flight: &Flight,
        refusals: usize,
    ) -> Vec<Edition> {
        let turns = incoming.turns();
        let first = answered(turns);
        let newest = turns.get(first..).unwrap_or_default();
        let Some(limits) = self.room_for_results(flight, (first, newest), refusals) else {
            return Vec::new();
        };
        self.shorten(incoming, flight, (first, &limits))
    }

    /// The sizes of the results in a turn, as they are shown.
    fn result_sizes(&self, at: usize, turn: &Turn, counter: &dyn TokenCounter) -> Vec<Tokens> {
        let mut sizes: Vec<Tokens> = turn.results().map(|it| counter.count(&it.text)).collect();
        let changes = self.overlay.iter().flat_map(|it| it.changes_of(at));
        for change in changes {
            if let Change::Shrunk { result, text } = change
                && let Some(size) = sizes.get_mut(*result as usize)
            {
                *size = counter.count(text);
            }
        }
        sizes
    }

    /// Shortens the tool results from a turn on.
    fn shorten(
        &mut self,
        incoming: &Incoming<'_>,
        flight: &Flight,
        (first, limits): (usize, &ShrinkLimits),
    ) -> Vec<Edition> {
        let newest = incoming.turns().get(first..).unwrap_or_default();
        let ids: Vec<TurnId> = newest.iter().map(Turn::id).collect();
        if ids.is_empty() || self.len() != flight.turns.len {
            return Vec::new();
        }
        let counter = incoming.model.counter();
        let overlay = self.overlay.get_or_insert_default();
        let is_done = |at: usize, nth: u32| {
            overlay.changes_of(at).any(|change| match change {
                Change::Shrunk { result, text } => {
                    *result == nth && counter.count(text) <= limits.max()
                }
                Change::Appended(_) | Change::Followed(_) => false,
            })
        };
        let shrunk = rewrite::shrink_new(incoming.request, &ids, (limits, Tokens::ZERO), &counter)
            .into_iter();
        let shrunk: Vec<_> = shrunk
            .filter(|(at, change)| match change {
                Change::Shrunk { result, .. } => !is_done(*at, *result),
                Change::Appended(_) | Change::Followed(_) => false,
            })
            .collect();
        let mut editions = Vec::new();
        for (index, change) in shrunk {
            overlay.add(index, change.clone());
            let turn = index.checked_sub(first).and_then(|offset| ids.get(offset));
            editions.push(Edition {
                turn: turn.copied().unwrap_or(TurnId::ROOT),
                change,
                at: incoming.now,
            });
        }
        let tokens = newest.iter().enumerate().map(|(offset, turn)| {
            let changes = overlay.changes_of(first + offset);
            let tokens = changes.fold(turn.tokens(), |tokens, change| {
                resized(turn, tokens, change, &counter)
            });
            (turn, tokens)
        });
        self.said.outline.resize(first, tokens);
        editions
    }

    /// The view of a request, as far as it is not guessed.
    fn view_of(&self, flight: &Flight) -> Tokens {
        let machine = &self.supervisor.machine;
        let path = self.path(flight.turns.len);
        machine.size(&machine.shown(), &path).known
    }

    /// Returns true if the view of a refused request fits by now, and leaves room for an answer.
    fn fits(&self, flight: &Flight) -> bool {
        self.view_of(flight) <= self.supervisor.machine.limits().room()
    }

    /// The size that each result in these turns may have so that the view fits. `None` if there are
    /// no results.
    fn room_for_results(
        &self,
        flight: &Flight,
        (first, newest): (usize, &[Turn]),
        refusals: usize,
    ) -> Option<ShrinkLimits> {
        let results = newest.iter().flat_map(Turn::results).count();
        let results = u64::try_from(results).ok().filter(|&results| results > 0)?;
        let limits = self.supervisor.machine.limits();
        let taken = self.path(flight.turns.len).tail(first);
        let rest = self.view_of(flight).saturating_sub(taken);
        let room = limits.hard_tokens().saturating_sub(rest);
        let [.., last] = RESULTS;
        let least = RESULTS.get(refusals.saturating_sub(1)).copied();
        let room = room.max(limits.window.scaled(least.unwrap_or(last)));
        let each = Tokens::new(room.get() / results).max(MARKER);
        Some(ShrinkLimits::new(each))
    }
}

/// The number of turns up to the model's last answer, with it.
fn answered(turns: &[Turn]) -> usize {
    let is_answer = |turn: &Turn| turn.role() == Role::Assistant;
    turns.iter().rposition(is_answer).map_or(0, |last| last + 1)
}

/// The size that the larger of several results may have so that all fit the room. `None` if they do not fit, however
/// short each is.
fn share(mut sizes: Vec<Tokens>, mut room: Tokens) -> Option<Tokens> {
    sizes.sort_unstable();
    let mut open = sizes.len() as u64;
    for size in sizes {
        let each = Tokens::new(room.get() / open);
        if size > each {
            return Some(each).filter(|&each| each >= MARKER);
        }
        room = room.saturating_sub(size);
        open -= 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use context::Tokens;

    use super::share;

    #[test]
    fn the_larger_results_share_what_the_smaller_ones_leave() {
        let share = |sizes: &[u64], room| {
            let sizes = sizes.iter().copied().map(Tokens::new).collect();
            share(sizes, Tokens::new(room)).map(Tokens::get)
        };
        assert_eq!(share(&[5_000, 100, 3_000], 6_100), Some(3_000));
        assert_eq!(share(&[100, 9_000], 5_000), Some(4_900));
        assert_eq!(share(&[9_000, 9_000], 200), None, "too little for two");
        assert_eq!(share(&[100, 200], 5_000), None, "all fit");
        assert_eq!(share(&[], 5_000), None);
    }
}
