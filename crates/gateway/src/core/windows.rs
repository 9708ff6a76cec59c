//! The windows that providers turn out to have, where they are smaller than believed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use context::Tokens;
use jiff::{SignedDuration, Timestamp};
use tokens::Model;
use wire::api::Overflow;

use super::Inner;
use super::choice::limits;
use super::identity::Key;
use super::journal::Happened;
use super::live::Live;
use super::ticket::Flight;
use crate::config::Policy;

/// How long a window holds that the provider told.
const TOLD: SignedDuration = SignedDuration::from_hours(24);

/// How long one holds that is only known to be smaller than what was refused.
const CONCLUDED: SignedDuration = SignedDuration::from_hours(1);

/// So many are remembered.
const MOST: usize = 1_024;

/// Nothing smaller is taken for a window.
const LEAST: Tokens = Tokens::new(1_000);

/// What was found, by tenant, upstream and model.
#[derive(Debug, Default)]
pub(super) struct Windows(Mutex<HashMap<Key, Found>>);

#[derive(Clone, Copy, Debug)]
struct Found {
    window: Tokens,
    until: Timestamp,
}

impl Windows {
    fn of(&self, key: Key, now: Timestamp) -> Option<Tokens> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&key).filter(|found| now < found.until);
        found.map(|found| found.window)
    }

    fn learn(&self, key: Key, window: Tokens, (now, holds): (Timestamp, SignedDuration)) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST && !known.contains_key(&key) {
            known.retain(|_, found| now < found.until);
            let oldest = known.iter().min_by_key(|(_, found)| found.until);
            if let Some(oldest) = oldest.map(|(&key, _)| key).filter(|_| known.len() >= MOST) {
                known.remove(&oldest);
            }
        }
        let until = now.checked_add(holds).unwrap_or(Timestamp::MAX);
        known.insert(key, Found { window, until });
    }

    /// So much was taken.
    fn rise(&self, key: Key, input: Tokens) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get_mut(&key) {
            found.window = found.window.max(input);
        }
    }
}

impl Inner {
    /// What tells one model of one upstream from others. What one tenant is refused says nothing of what
    /// another may send.
    pub(super) fn window_key(&self, tenant: history::Tenant, url: &str, model: &str) -> Key {
        let url = url.split('?').next().unwrap_or_default();
        let parts = [&tenant.as_bytes()[..], url.as_bytes(), model.as_bytes()];
        let keyed = |key, part: &[u8]| self.keyed.of(key, part);
        parts.into_iter().fold(0, keyed)
    }

    /// Takes the window that was found as that of a conversation, or again the one that is believed in.
    pub(super) fn take_window(
        &self,
        live: &mut Live,
        key: Key,
        model: &Arc<Model>,
        now: Timestamp,
    ) {
        let policy = &self.parts.config.policy;
        let believed = policy.window.unwrap_or(model.window).max(Tokens::new(1));
        let found = self.windows.of(key, now);
        let window = found.map_or(believed, |found| found.min(believed));
        let supervisor = &mut live.supervisor;
        if supervisor.machine.limits().window == window {
            return;
        }
        let policy = Policy {
            window: Some(window),
            ..policy.clone()
        };
        supervisor.machine.set_limits(limits(&policy, model));
        live.journal.note(now, Happened::Window(window));
    }

    /// Learns from a refusal: the window that the provider tells, or that it is smaller than what was
    /// refused.
    pub(super) fn learn_window(
        &self,
        live: &mut Live,
        flight: &Flight,
        overflow: &Overflow,
        now: Timestamp,
    ) {
        let key = flight.window_key();
        let told = overflow.most.map(|most| {
            // What the answer may take is no room for the request.
            let room = most.saturating_sub(overflow.output);
            room.max(most.scaled(0.25)).max(LEAST)
        });
        let machine = &live.supervisor.machine;
        let is_newest = live.flights.newest == flight.joined.number;
        let (window, holds) = match (told, overflow.input) {
            (Some(told), _) => (told, TOLD),
            (None, Some(input)) => (input.max(LEAST), CONCLUDED),
            (None, None) if is_newest => (machine.sent().all().max(LEAST), CONCLUDED),
            (None, None) => return,
        };
        if told.is_none() && window >= machine.limits().window {
            return;
        }
        self.windows.learn(key, window, (now, holds));
        self.take_window(live, key, &flight.model, now);
    }

    /// Learns from an answer that ended where the window did.
    pub(super) fn learn_end(&self, flight: &Flight, window: Tokens, now: Timestamp) {
        let (key, window) = (flight.window_key(), window.max(LEAST));
        self.windows.learn(key, window, (now, TOLD));
    }

    /// A request of this size was taken.
    pub(super) fn was_taken(&self, flight: &Flight, input: Tokens) {
        self.windows.rise(flight.window_key(), input);
    }
}

impl Flight {
    fn window_key(&self) -> Key {
        let arrival = &self.arrival;
        self.inner
            .window_key(arrival.tenant, &arrival.url, &self.name)
    }
}

#[cfg(test)]
mod tests {
    use context::Tokens;
    use jiff::{SignedDuration, Timestamp};

    use super::{CONCLUDED, MOST, Windows};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn a_window_holds_for_a_while_and_rises_with_what_is_taken() {
        let windows = Windows::default();
        windows.learn(1, Tokens::new(8_000), (at(0), CONCLUDED));
        windows.rise(1, Tokens::new(5_000));
        assert_eq!(windows.of(1, at(10)), Some(Tokens::new(8_000)));
        windows.rise(1, Tokens::new(9_000));
        assert_eq!(windows.of(1, at(10)), Some(Tokens::new(9_000)));
        assert_eq!(windows.of(1, at(3_600)), None);
        assert_eq!(windows.of(2, at(10)), None);
    }

    #[test]
    fn no_more_are_remembered_than_there_is_room_for() {
        let windows = Windows::default();
        for key in 0..2_000 {
            let holds = SignedDuration::from_secs(1_000 + i64::try_from(key).expect("small"));
            windows.learn(key, Tokens::new(8_000), (at(0), holds));
        }
        assert_eq!(windows.0.lock().expect("a lock").len(), MOST);
        assert!(windows.of(1_999, at(1)).is_some());
        assert!(windows.of(1, at(1)).is_none());
    }
}
