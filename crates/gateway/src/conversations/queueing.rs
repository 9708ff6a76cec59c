//! Recognizes a server that handles one request at a time: agents' requests wait while a summary is written.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest wait that says anything.
const LEAST: Duration = Duration::from_secs(1);

/// A wait counts if it is so many times the usual one.
const TIMES: u32 = 3;

/// The waits in a row after which a server is taken to handle one request at a time, and the overlapping answers in a
/// row after which it no longer is.
const CERTAIN: u32 = 2;

/// The time after which a verdict is measured again: a server may have been started anew with other settings.
const LASTS: Duration = Duration::from_hours(6);

/// The measures of one server.
#[derive(Debug, Default)]
pub(super) struct Queueing {
    /// Summaries that are being written.
    writing: usize,
    /// Requests whose answers began in the usual time and have not ended.
    answering: usize,
    /// The usual time until an answer begins: the longest of those seen lately.
    usual: Option<Duration>,
    /// Waits in a row beside summaries.
    waits: u32,
    /// The time of the last of these waits.
    waited: Option<Instant>,
    /// Requests in a row that were answered in the usual time beside another answer.
    overlaps: u32,
}

/// The company that a request had when it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Company {
    /// True if a summary was being written.
    pub(super) summary: bool,
    /// True if another request was being answered.
    pub(super) answer: bool,
}

impl Queueing {
    pub(super) const fn begins(&mut self) {
        self.writing += 1;
    }

    pub(super) const fn ends(&mut self) {
        self.writing = self.writing.saturating_sub(1);
    }

    /// The company of a request that is sent now.
    pub(super) const fn company(&self) -> Company {
        Company {
            summary: self.writing > 0,
            answer: self.answering > 0,
        }
    }

    /// Takes the time until an answer began, and the company of its request. Returns true if that was the usual time:
    /// [`answer_ends`](Self::answer_ends) has to follow.
    pub(super) fn answered(&mut self, took: Duration, beside: Company, now: Instant) -> bool {
        let usual = self.usual;
        let is_wait = usual.is_some_and(|usual| took >= LEAST.max(usual * TIMES));
        if !beside.summary {
            let before = usual.unwrap_or_default().mul_f64(0.8);
            self.usual = Some(before.max(took));
            if beside.answer && usual.is_some() {
                self.overlapped(!is_wait && self.answering > 0);
            }
        } else if usual.is_some() {
            self.waits = if is_wait { self.waits + 1 } else { 0 };
            self.waited = Some(now);
        }
        self.answering += usize::from(!is_wait);
        !is_wait
    }

    /// An answer that began in the usual time has ended.
    pub(super) const fn answer_ends(&mut self) {
        self.answering = self.answering.saturating_sub(1);
    }

    /// Takes a request that was sent beside another answer: it was answered beside it too, or waited. One that was is
    /// no proof, because an answer that a slow client reads seems to last longer than it does at the server.
    const fn overlapped(&mut self, was_answered: bool) {
        self.overlaps = if was_answered { self.overlaps + 1 } else { 0 };
        if self.overlaps >= CERTAIN {
            (self.overlaps, self.waits) = (0, 0);
        }
    }

    /// Returns true if the server is known to handle one request at a time. Summaries give way from then on, so nothing
    /// waits that could be measured; after some hours, they do not until a request has waited once more.
    pub(super) fn is_certain(&mut self, now: Instant) -> bool {
        let is_old = |waited: Instant| now.duration_since(waited) >= LASTS;
        if self.waits >= CERTAIN && self.waited.is_some_and(is_old) {
            self.waits = CERTAIN - 1;
        }
        self.waits >= CERTAIN
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Company, LASTS, Queueing};

    const ALONE: Company = Company {
        summary: false,
        answer: false,
    };

    const BESIDE_A_SUMMARY: Company = Company {
        summary: true,
        answer: false,
    };

    /// A server that answered a request, and then these beside a summary, each after so many seconds.
    fn measured(usual: f64, beside: &[f64], now: Instant) -> Queueing {
        let mut queueing = Queueing::default();
        let mut answered = |took: f64, company: Company| {
            if queueing.answered(Duration::from_secs_f64(took), company, now) {
                queueing.answer_ends();
            }
        };
        answered(usual, ALONE);
        beside
            .iter()
            .for_each(|&took| answered(took, BESIDE_A_SUMMARY));
        queueing
    }

    /// Takes requests that were answered beside a summary, each after so many seconds; alone they take `usual`.
    fn check(usual: f64, beside: &[f64], expected: bool) {
        let now = Instant::now();
        let mut queueing = measured(usual, beside, now);
        assert_eq!(queueing.is_certain(now), expected, "{usual} {beside:?}");
    }

    #[tokio::test]
    async fn two_requests_in_a_row_that_waited_are_certain() {
        check(0.1, &[5.0, 9.0], true);
        check(0.1, &[5.0], false);
        check(0.1, &[5.0, 0.1, 9.0], false);
    }

    #[tokio::test]
    async fn slow_answers_are_no_waits() {
        check(2.0, &[5.0, 5.0], false);
        check(0.1, &[0.9, 0.9], false);
    }

    #[tokio::test]
    async fn an_old_verdict_is_measured_again_by_one_wait() {
        let began = Instant::now();
        let mut queueing = measured(0.1, &[5.0, 5.0], began);
        assert!(queueing.is_certain(began + LASTS / 2));
        let later = began + LASTS;
        assert!(!queueing.is_certain(later));
        queueing.answered(Duration::from_secs(5), BESIDE_A_SUMMARY, later);
        assert!(queueing.is_certain(later));
        // Or the server has more slots by now.
        let mut queueing = measured(0.1, &[5.0, 5.0], began);
        assert!(!queueing.is_certain(later));
        for took in [100, 5_000] {
            queueing.answered(Duration::from_millis(took), BESIDE_A_SUMMARY, later);
        }
        assert!(!queueing.is_certain(later));
    }

    /// Sends requests while another is being answered, which ends before theirs begin where that says so. Returns true
    /// if the server is still taken to handle one request at a time.
    fn overlapping(requests: &[(f64, bool)]) -> bool {
        let now = Instant::now();
        let mut queueing = measured(0.1, &[5.0, 5.0], now);
        for &(took, ends_before) in requests {
            assert!(queueing.answered(Duration::from_millis(100), ALONE, now));
            let company = queueing.company();
            assert!(company.answer);
            if ends_before {
                queueing.answer_ends();
            }
            if queueing.answered(Duration::from_secs_f64(took), company, now) {
                queueing.answer_ends();
            }
            if !ends_before {
                queueing.answer_ends();
            }
        }
        assert!(!queueing.company().answer);
        queueing.is_certain(now)
    }

    #[tokio::test]
    async fn answers_side_by_side_contradict_it() {
        assert!(!overlapping(&[(0.1, false), (0.2, false)]));
        assert!(overlapping(&[(0.1, false)]), "one may be a slow client's");
        // The requests waited for the answer before them.
        assert!(overlapping(&[(5.0, true), (0.1, true), (0.1, true)]));
        assert!(overlapping(&[(0.1, false), (0.1, true), (0.1, false)]));
    }
}
