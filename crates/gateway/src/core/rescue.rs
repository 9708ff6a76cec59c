//! Changes a request that the provider refused so that it takes it: what is too long is made smaller,
//! whatever the strategy is, and thinking that it takes for another conversation's is left out.

use std::sync::Arc;

use context::shrink::Limits as ShrinkLimits;
use context::{Role, Tokens, Turn, TurnId};
use conversation::homunculus::{Action, Event};
use history::{Change, Edition};
use jiff::Timestamp;
use tokio::time::timeout;

use super::Inner;
use super::call::Call;
use super::decide::{Decided, ON_THE_SPOT};
use super::exchange::Outgoing;
use super::join::resized;
use super::journal::Happened;
use super::keep::Keep;
use super::live::Live;
use super::prepare::Source;
use super::ticket::Flight;
use crate::config::Mode;
use crate::rewrite;
use crate::words::Did;

/// So often the machine is asked for one request: it shows what is ready, and once more what it then makes.
const MOST: usize = 4;

/// The newest tool results may take this share of the window, whatever stands before them.
const RESULTS: f64 = 0.25;

/// What the provider refused a request for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It does not fit the window.
    TooLong,
    /// Its thinking is taken for another conversation's.
    ForeignThinking,
}

impl Inner {
    /// A refused request, changed so that the provider takes it. `None` where there is nothing to change.
    pub(super) async fn rescue(
        self: &Arc<Self>,
        flight: &mut Flight,
        why: Refused,
        now: Timestamp,
    ) -> Option<Outgoing> {
        let arrival = flight.arrival.clone();
        let (request, elements) = self.read(&arrival, flight.dialect, &arrival.body)?;
        let call = self.call(&arrival, &request, elements, now);
        let decided = match why {
            Refused::TooLong => self.smaller(&call, flight).await?,
            Refused::ForeignThinking => self.without_thinking(flight, now)?,
        };
        self.outgoing(&call, flight, decided, &arrival.body)
            .await
            .ok()
    }

    /// What is shown of a request that was too long. `None` where it did not get smaller.
    async fn smaller(self: &Arc<Self>, call: &Call<'_>, flight: &mut Flight) -> Option<Decided> {
        let shown = flight.shown;
        let mut decided = self.decided(call, flight).await;
        let mut is_smaller = flight.shown != shown;
        if !is_smaller || !flight.joined.shared.lock().fits(flight) {
            // What it said is said, and kept whether or not it is sent again.
            let mut keep = std::mem::take(&mut decided.keep);
            if self.make_fit(call, flight, &mut keep).await {
                is_smaller = true;
                let again = self.decided(call, flight).await;
                let did = std::mem::replace(&mut decided, again).did;
                decided.did.extend(did);
                let live = &mut flight.joined.shared.lock();
                live.journal.note(call.now, Happened::Rescued);
                decided.did.extend(flight.swapped.then_some(Did::Swapped));
            }
            if !keep.is_empty() {
                let pending = &mut flight.joined.pending;
                pending.get_or_insert_default().add(keep);
            }
        }
        if !is_smaller {
            return None;
        }
        let swapped = decided.did.contains(&Did::Swapped);
        let stale = |did: Did| did == Did::Kept || (swapped && did == Did::Compacted);
        decided.did.retain(|&did| !stale(did));
        decided.did.push(Did::Rescued);
        decided.did.sort_unstable();
        decided.did.dedup();
        Some(decided)
    }

    /// A request whose thinking the provider takes for another conversation's, without it: the
    /// conversation was shown something else before, through a gateway that knew it by another key, or
    /// not through one. Thinking may be taken out as a whole and is never put back. `None` where it is out
    /// already.
    fn without_thinking(&self, flight: &Flight, now: Timestamp) -> Option<Decided> {
        let mut live = flight.joined.shared.lock();
        let (len, head) = (flight.joined.len, flight.joined.head);
        let is_on = self.parts.config.mode == Mode::On;
        let is_out = live.record.standing.stripped == head;
        if !is_on || is_out || !live.leads_to(len, head) {
            return None;
        }
        live.record.standing.stripped = head;
        live.journal.note(now, Happened::ThinkingRefused);
        Some(Decided {
            look: live.look(flight.shown, len),
            tokens: live.sizes(flight.shown, len).1,
            did: vec![Did::Rescued],
            keep: Keep::default(),
            prepare: None,
        })
    }

    /// Summarises at once what was said, and shortens the newest tool results where they alone are too
    /// much. Whether anything got smaller.
    async fn make_fit(
        self: &Arc<Self>,
        call: &Call<'_>,
        flight: &mut Flight,
        keep: &mut Keep,
    ) -> bool {
        let summarised = self.summarise_at_once(flight).await;
        if flight.joined.shared.lock().fits(flight) {
            return summarised;
        }
        let shortened = self.shorten_results(call, flight);
        let has_shortened = !shortened.is_empty();
        keep.editions.extend(shortened);
        if has_shortened && !flight.joined.shared.lock().fits(flight) {
            // Now there may be room for a summary of what stands before them.
            self.summarise_at_once(flight).await;
        }
        summarised || has_shortened
    }

    /// Has the machine make the view fit, and waits for what it makes for it. Whether it shows less.
    async fn summarise_at_once(self: &Arc<Self>, flight: &mut Flight) -> bool {
        let shared = Arc::clone(&flight.joined.shared);
        let mut is_smaller = false;
        for _ in 0..MOST {
            let settled = shared.settled.notified();
            tokio::pin!(settled);
            // From here on no end of a preparation is missed.
            settled.as_mut().enable();
            let order = {
                let mut live = shared.lock();
                let joined = &flight.joined;
                if !live.leads_to(joined.len, joined.head) {
                    return false;
                }
                let decision = live.fit(joined.len, (self.parts.clock)());
                if decision.swapped {
                    self.count_swap(&live);
                }
                is_smaller |= decision.swapped || decision.reduced;
                flight.swapped |= is_smaller;
                match decision.prepare {
                    None if live.fits(flight) => return is_smaller,
                    None if live.supervisor.machine.preparing().is_none() => return is_smaller,
                    order => order,
                }
            };
            if let Some(order) = order {
                self.hand_over(&mut flight.joined);
                self.prepare(&shared, order, Source::of(flight, None));
            }
            flight.waited = true;
            drop(timeout(ON_THE_SPOT, settled).await);
        }
        is_smaller
    }

    /// Shortens the tool results behind the model's last answer, which no provider took yet, to what there
    /// is room for. What was shortened before stays.
    fn shorten_results(&self, call: &Call<'_>, flight: &Flight) -> Vec<Edition> {
        let turns = call.turns();
        let answered = |turn: &Turn| turn.role() == Role::Assistant;
        let first = turns.iter().rposition(answered).map_or(0, |last| last + 1);
        let newest = turns.get(first..).unwrap_or_default();
        let ids: Vec<TurnId> = newest.iter().map(Turn::id).collect();
        let counter = call.model.counter();
        let mut live = flight.joined.shared.lock();
        let joined = &flight.joined;
        if ids.is_empty() || !live.leads_to(joined.len, joined.head) || live.len() != joined.len {
            return Vec::new();
        }
        let Some(limits) = live.room_for_results(flight, (first, newest)) else {
            return Vec::new();
        };
        let dress = live.dress.get_or_insert_default();
        let is_done = |at: usize, nth: u32| {
            let same =
                |change: &Change| matches!(change, Change::Shrunk { result, .. } if *result == nth);
            let editions = dress.editions.iter();
            let mut editions = editions.filter(|&&(index, _)| index == at);
            editions.any(|(_, change)| same(change))
        };
        let shrunk = rewrite::shrink_new(call.request, &ids, &limits, &counter);
        let shrunk: Vec<_> = shrunk
            .into_iter()
            .filter(|(at, change)| match change {
                Change::Shrunk { result, .. } => !is_done(*at, *result),
                Change::Appended(_) | Change::Followed(_) => false,
            })
            .collect();
        let mut editions = Vec::new();
        for (index, change) in shrunk {
            dress.add(index, change.clone());
            editions.push(Edition {
                turn: live_id(&ids, index, first),
                change,
                at: call.now,
            });
        }
        let changes = dress.editions.clone();
        let tokens = newest.iter().enumerate().map(|(offset, turn)| {
            let own = changes.iter().filter(|&&(at, _)| at == first + offset);
            let tokens = own.fold(turn.tokens(), |tokens, (_, change)| {
                resized(turn, tokens, change, &counter)
            });
            (turn, tokens)
        });
        live.said.outline.resize(first, tokens);
        editions
    }
}

/// The turn at an index, of those from `first` on.
fn live_id(ids: &[TurnId], index: usize, first: usize) -> TurnId {
    let offset = index.checked_sub(first);
    let id = offset.and_then(|offset| ids.get(offset));
    id.copied().unwrap_or(TurnId::ROOT)
}

impl Live {
    /// Tells the supervisor of an overflow; whether it wants another try.
    pub(super) fn is_retried_after_overflow(
        &mut self,
        input: Option<Tokens>,
        now: Timestamp,
    ) -> bool {
        let overflowed = Event::Overflowed { input };
        let actions = self.supervisor.machine.on(overflowed, now);
        self.journal.note(now, Happened::Overflowed);
        actions.iter().any(|action| matches!(action, Action::Retry))
    }

    /// The view of a request that was refused, as far as it is not guessed.
    fn view_of(&self, flight: &Flight) -> Tokens {
        let machine = &self.supervisor.machine;
        let path = self.path(flight.joined.len);
        machine.size(&machine.shown(), &path).known
    }

    /// Whether the view of a request that was refused fits by now.
    fn fits(&self, flight: &Flight) -> bool {
        self.view_of(flight) <= self.supervisor.machine.limits().window
    }

    /// How long each of the results in these turns may be, so that the view fits. `None` where there are
    /// none.
    fn room_for_results(
        &self,
        flight: &Flight,
        (first, newest): (usize, &[Turn]),
    ) -> Option<ShrinkLimits> {
        let results = newest.iter().flat_map(Turn::results).count();
        let results = u64::try_from(results).ok().filter(|&results| results > 0)?;
        let limits = self.supervisor.machine.limits();
        let taken = self.path(flight.joined.len).tail(first);
        let rest = self.view_of(flight).saturating_sub(taken);
        let room = limits.hard_tokens().saturating_sub(rest);
        let room = room.max(limits.window.scaled(RESULTS));
        Some(ShrinkLimits::new(Tokens::new(room.get() / results)))
    }
}
