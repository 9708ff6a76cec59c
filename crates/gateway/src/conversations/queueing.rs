//! Recognizes a server that handles one request at a time: agents' requests wait while a summary is written.

use std::time::Duration;

/// The shortest wait that says anything.
const LEAST: Duration = Duration::from_secs(1);

/// A wait counts if it is so many times the usual one.
const TIMES: u32 = 3;

/// The waits in a row after which a server is taken to handle one request at a time.
const CERTAIN: u32 = 2;

/// The measures of one server.
#[derive(Debug, Default)]
pub(super) struct Queueing {
    /// Summaries that are being written.
    writing: usize,
    /// The usual time until an answer begins: the longest of those seen lately.
    usual: Option<Duration>,
    /// Waits in a row beside summaries.
    waits: u32,
}

impl Queueing {
    pub(super) const fn begins(&mut self) {
        self.writing += 1;
    }

    pub(super) const fn ends(&mut self) {
        self.writing = self.writing.saturating_sub(1);
    }

    pub(super) const fn is_writing(&self) -> bool {
        self.writing > 0
    }

    /// Takes the time until an answer began, and whether a summary was being written when the request was sent.
    pub(super) fn answered(&mut self, took: Duration, is_beside: bool) {
        if !is_beside {
            let before = self.usual.unwrap_or_default().mul_f64(0.8);
            self.usual = Some(before.max(took));
        } else if let Some(usual) = self.usual {
            self.waits = match took >= LEAST.max(usual * TIMES) {
                true => self.waits + 1,
                false => 0,
            };
        }
    }

    /// Returns true if the server is known to handle one request at a time. It stays known: summaries give way
    /// from then on, so nothing waits that could be measured.
    pub(super) const fn is_certain(&self) -> bool {
        self.waits >= CERTAIN
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Queueing;

    /// Takes requests that were answered beside a summary, each after so many seconds; alone they take `usual`.
    fn check(usual: f64, beside: &[f64], expected: bool) {
        let mut queueing = Queueing::default();
        queueing.answered(Duration::from_secs_f64(usual), false);
        for &took in beside {
            queueing.answered(Duration::from_secs_f64(took), true);
        }
        assert_eq!(queueing.is_certain(), expected, "{usual} {beside:?}");
    }

    #[test]
    fn two_requests_in_a_row_that_waited_are_certain() {
        check(0.1, &[5.0, 9.0], true);
        check(0.1, &[5.0], false);
        check(0.1, &[5.0, 0.1, 9.0], false);
    }

    #[test]
    fn slow_answers_are_no_waits() {
        check(2.0, &[5.0, 5.0], false);
        check(0.1, &[0.9, 0.9], false);
    }
}
