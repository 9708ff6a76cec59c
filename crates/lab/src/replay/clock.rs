//! Virtual time.

use context::{Role, Turn};
use jiff::{SignedDuration, Timestamp};

/// The duration of a tool call if the session does not record it.
const TOOLS: SignedDuration = SignedDuration::from_secs(2);

/// The time that a person takes to answer if the session does not record it.
const PERSON: SignedDuration = SignedDuration::from_secs(60);

/// The time of a replay. It never goes back.
pub(super) struct Clock {
    now: Timestamp,
    /// The time of the previous request, as the session recorded it.
    recorded: Option<Timestamp>,
    /// The duration of its answer, by the latency model.
    answering: SignedDuration,
    started: Started,
}

#[derive(PartialEq, Eq)]
enum Started {
    No,
    Yes,
}

impl Clock {
    pub(super) const fn new() -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH,
            recorded: None,
            answering: SignedDuration::ZERO,
            started: Started::No,
        }
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Moves to the moment of the request before `turns[at]`: by as much as the session recorded
    /// between the two requests, else by the modelled answer and a tool's or a person's time.
    pub(super) fn advance(&mut self, turns: &[Turn], at: usize) {
        let last = at.checked_sub(1).and_then(|last| turns.get(last));
        let recorded = last
            .and_then(Turn::at)
            .or_else(|| turns.get(at).and_then(Turn::at));
        let gap = match (self.recorded, recorded) {
            (Some(before), Some(now)) => now.duration_since(before).max(SignedDuration::ZERO),
            _ => match last.map(Turn::role) {
                Some(Role::User) => self.answering + PERSON,
                _ => self.answering + TOOLS,
            },
        };
        if self.started == Started::No {
            self.started = Started::Yes;
            self.now = recorded.unwrap_or(Timestamp::UNIX_EPOCH);
        } else {
            self.pass(gap);
        }
        self.recorded = recorded.or(self.recorded);
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, time: SignedDuration) {
        self.now = self.now.checked_add(time).unwrap_or(Timestamp::MAX);
    }

    /// Waits until a moment; one that is over takes no time. The answer is how long it took.
    pub(super) fn wait_until(&mut self, moment: Timestamp) -> SignedDuration {
        let wait = moment.duration_since(self.now).max(SignedDuration::ZERO);
        self.now = self.now.max(moment);
        wait
    }

    /// Notes how long the answer to the request that is sent now takes.
    pub(super) const fn answers_in(&mut self, time: SignedDuration) {
        self.answering = time;
    }
}

#[cfg(test)]
mod tests {
    use context::{Heuristic, Role, Turn, TurnDraft, TurnId};
    use jiff::{SignedDuration, Timestamp};

    use super::Clock;

    fn turns(said: &[(Role, Option<i64>)]) -> Vec<Turn> {
        said.iter()
            .map(|&(role, second)| {
                let mut draft = TurnDraft::text(role, "x");
                draft.at = second.map(|second| Timestamp::from_second(second).unwrap());
                draft.after(TurnId::ROOT, &Heuristic)
            })
            .collect()
    }

    #[test]
    fn time_passes_as_recorded_and_waits_come_on_top() {
        let said = turns(&[
            (Role::User, Some(100)),
            (Role::Assistant, Some(110)),
            (Role::User, Some(500)),
            (Role::Assistant, Some(510)),
        ]);
        let mut clock = Clock::new();
        clock.advance(&said, 1);
        assert_eq!(clock.now().as_second(), 100);
        let wait = clock.wait_until(Timestamp::from_second(130).unwrap());
        assert_eq!(wait, SignedDuration::from_secs(30));
        clock.advance(&said, 3);
        assert_eq!(clock.now().as_second(), 530);
    }

    #[test]
    fn without_times_the_model_answers_and_somebody_acts() {
        let said = turns(&[
            (Role::User, None),
            (Role::Assistant, None),
            (Role::Tool, None),
            (Role::Assistant, None),
            (Role::User, None),
            (Role::Assistant, None),
        ]);
        let mut clock = Clock::new();
        let mut seconds = Vec::new();
        for at in [1, 3, 5] {
            clock.advance(&said, at);
            clock.answers_in(SignedDuration::from_secs(8));
            seconds.push(clock.now().as_second());
        }
        assert_eq!(seconds, [0, 10, 78]);
    }
}
