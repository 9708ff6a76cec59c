//! The growth of a conversation and the time that its summaries take, which give the number of
//! tokens that arrive while a summary is made.

use context::Tokens;
use jiff::SignedDuration;

/// The weight of an observation when the next one comes.
const MEMORY: f32 = 0.95;

/// A longer pause between two requests counts as one of so many seconds: it is a break,
/// not slow work.
const LONGEST_GAP: f32 = 60.0;

/// The weight of the newest duration against all earlier ones.
const NEWEST: f32 = 0.25;

/// The time in seconds that summaries take, learned from those that were made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Writing(Option<f32>);

impl Writing {
    /// Learns from a summary that took this long.
    pub fn learn(&mut self, took: SignedDuration) {
        let took = took.as_secs_f32().max(0.0);
        let known = self.0.unwrap_or(took);
        self.0 = Some(known + NEWEST * (took - known));
    }

    /// Learns from a summary that took longer than this; its full duration is unknown.
    pub fn exceeds(&mut self, elapsed: SignedDuration) {
        if elapsed.as_secs_f32() > self.0.unwrap_or(0.0) {
            self.learn(elapsed);
        }
    }

    /// The expected duration of the next one in seconds. `None` before the first.
    #[must_use]
    pub const fn expected(&self) -> Option<f32> {
        self.0
    }
}

/// The pace of one conversation, in few bytes: there may be many conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    /// Requests; the newest of these and of what follows weigh most.
    requests: f32,
    /// Between them.
    seconds: f32,
    /// Said between them.
    tokens: f32,
    /// The tokens that were said altogether.
    all: u32,
    answers: Answers,
    /// Of its summaries.
    pub writing: Writing,
}

/// The tokens that the model wrote, and the time that it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Answers {
    tokens: f32,
    seconds: f32,
}

impl Pace {
    /// A request came, so long after the one before, with so much said altogether.
    pub(crate) fn said(&mut self, all: Tokens, since: Option<SignedDuration>) {
        let all = u32::try_from(all.get()).unwrap_or(u32::MAX);
        let before = std::mem::replace(&mut self.all, all);
        let Some(gap) = since.filter(|_| before <= all) else {
            return;
        };
        let gap = gap.as_secs_f32().clamp(0.0, LONGEST_GAP);
        self.requests = self.requests * MEMORY + 1.0;
        self.seconds = self.seconds * MEMORY + gap;
        self.tokens = self.tokens * MEMORY + tokens(all.saturating_sub(before).into());
    }

    /// An answer of so many tokens took so long.
    pub(crate) fn answered(&mut self, output: Tokens, took: SignedDuration) {
        let (tokens, seconds) = (tokens(output.get()), took.as_secs_f32());
        if tokens > 0.0 && seconds > 0.0 {
            self.answers.tokens = self.answers.tokens * MEMORY + tokens;
            self.answers.seconds = self.answers.seconds * MEMORY + seconds;
        }
    }

    /// The number of tokens, by our counter, that arrive while a summary of this size is made: the
    /// growth during that time, and the size of one request, since a summary is begun and shown
    /// with requests only. Before the first summary, the speed of earlier answers is taken, their
    /// start-up included, which overestimates. `None` while too little is known.
    pub(crate) fn lead(&self, summary: Tokens) -> Option<Tokens> {
        if self.seconds <= 0.0 {
            return None;
        }
        let answers = &self.answers;
        let as_answers = || {
            let known = answers.tokens > 0.0;
            known.then(|| tokens(summary.get()) * answers.seconds / answers.tokens)
        };
        let seconds = self.writing.expected().or_else(as_answers)?;
        let lead = self.tokens * (seconds / self.seconds + 1.0 / self.requests);
        Some(Tokens::new(1_000).scaled(f64::from(lead) / 1_000.0))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "what is measured is not known to seven digits"
)]
const fn tokens(count: u64) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use context::Tokens;
    use jiff::SignedDuration;

    use super::{Pace, Writing};

    fn seconds(seconds: i64) -> SignedDuration {
        SignedDuration::from_secs(seconds)
    }

    /// A conversation that grows by 500 tokens every 10 s.
    fn steady() -> Pace {
        let mut pace = Pace::default();
        for step in 0..20 {
            let since = (step > 0).then(|| seconds(10));
            pace.said(Tokens::new(step * 500), since);
        }
        pace
    }

    #[track_caller]
    fn check(pace: &Pace, expected: Option<u64>) {
        let lead = pace.lead(Tokens::new(2_000)).map(Tokens::get);
        let near = lead
            .zip(expected)
            .is_some_and(|(is, due)| is.abs_diff(due) <= 1);
        assert!(near || lead == expected, "{lead:?}: {pace:?}");
    }

    #[test]
    fn nothing_is_expected_before_anything_is_known() {
        check(&Pace::default(), None);
        check(&steady(), None);
    }

    #[test]
    fn answers_tell_how_long_the_first_summary_will_take() {
        let mut pace = steady();
        for tokens in [100, 300, 200] {
            pace.answered(Tokens::new(tokens), seconds(2));
        }
        let tokens = pace.lead(Tokens::new(2_000)).unwrap().get();
        // 20 s at about 100 tokens a second, in which 1,000 are said, and one request.
        assert!((1_400..1_600).contains(&tokens), "{tokens}");
        let mut alike = steady();
        for _ in 0..3 {
            alike.answered(Tokens::new(100), seconds(1));
        }
        check(&alike, Some(1_000 + 500));
    }

    #[test]
    fn summaries_that_were_made_tell_better() {
        let mut pace = steady();
        pace.answered(Tokens::new(100), seconds(1));
        pace.writing.learn(seconds(40));
        check(&pace, Some(2_000 + 500));
        pace.writing.learn(seconds(80));
        check(&pace, Some(2_500 + 500));
    }

    #[test]
    fn one_that_was_not_waited_for_took_longer_than_expected() {
        let mut writing = Writing::default();
        writing.learn(seconds(8));
        let known = writing;
        writing.exceeds(seconds(7));
        assert_eq!(writing, known);
        writing.exceeds(seconds(30));
        assert!(writing.expected() > known.expected());
    }

    #[test]
    fn a_pause_of_hours_does_not_make_work_slow() {
        let mut pace = steady();
        pace.writing.learn(seconds(40));
        pace.said(Tokens::new(9_500), Some(seconds(86_400)));
        let tokens = pace.lead(Tokens::new(2_000)).unwrap().get();
        assert!((1_500..2_500).contains(&tokens), "{tokens}");
    }

    #[test]
    fn a_conversation_that_went_back_has_not_grown() {
        let mut pace = steady();
        pace.writing.learn(seconds(40));
        pace.said(Tokens::new(10), Some(seconds(10)));
        check(&pace, Some(2_500));
    }
}
