//! Faults on demand, for the next request or the next summary.

use std::collections::VecDeque;
use std::time::Duration;

use crate::refusal::Refusal;

/// A fault that a test injects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 429 with `retry-after` in seconds.
    RateLimited(u64),
    /// 500.
    Internal,
    /// 529.
    Overloaded,
    /// The connection is closed without an answer.
    Reset,
    /// The stream breaks after this many events; an answer that is no stream is a reset.
    Cut(usize),
    /// The summary is empty: content without text (native: no block at all).
    SummaryEmpty,
    /// The summary is no summary. (A native block is signed all the same.)
    SummaryGarbage,
    /// The summary comes this much later.
    SummaryLate(Duration),
    /// The summary never comes.
    SummaryNever,
    /// 529 with the code `compaction_unavailable`.
    SummaryUnavailable,
}

impl Fault {
    /// Reads the word of the header `x-sim-fault`: `429`, `429:SECONDS`, `500`, `529`, `reset`,
    /// `cut`, `cut:EVENTS`, `summary-empty`, `summary-garbage`, `summary-late:SECONDS`,
    /// `summary-never`, `summary-unavailable`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let (name, number) = match word.trim().split_once(':') {
            Some((name, number)) => (name, Some(number.parse::<u64>().ok()?)),
            None => (word.trim(), None),
        };
        Some(match name {
            "429" => Self::RateLimited(number.unwrap_or(1)),
            "500" => Self::Internal,
            "529" => Self::Overloaded,
            "reset" => Self::Reset,
            "cut" => Self::Cut(usize::try_from(number.unwrap_or(3)).ok()?),
            "summary-empty" => Self::SummaryEmpty,
            "summary-garbage" => Self::SummaryGarbage,
            "summary-late" => Self::SummaryLate(Duration::from_secs(number.unwrap_or(5))),
            "summary-never" => Self::SummaryNever,
            "summary-unavailable" => Self::SummaryUnavailable,
            _ => return None,
        })
    }

    /// Returns `true` for faults that strike summaries only.
    #[must_use]
    pub const fn of_summaries(&self) -> bool {
        matches!(
            self,
            Self::SummaryEmpty
                | Self::SummaryGarbage
                | Self::SummaryLate(_)
                | Self::SummaryNever
                | Self::SummaryUnavailable
        )
    }

    /// The refusal it is, if it is one.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        Some(match self {
            Self::RateLimited(seconds) => Refusal {
                retry_after: Some(*seconds),
                ..Refusal::new(
                    429,
                    "rate_limit_error",
                    "This request would exceed your organization's rate limit.",
                )
            },
            Self::Internal => Refusal::new(500, "api_error", "Internal server error"),
            Self::Overloaded => Refusal::new(529, "overloaded_error", "Overloaded"),
            Self::SummaryUnavailable => Refusal::new(
                529,
                "overloaded_error",
                "Compaction is unavailable for a moment",
            )
            .coded("compaction_unavailable"),
            _ => return None,
        })
    }
}

/// The request that a fault waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The next one, whatever it is.
    Next,
    /// The next one that asks for a summary.
    Summary,
    /// The next one that asks for anything else.
    Turn,
}

/// Faults that wait for their request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    waiting: VecDeque<(When, Fault)>,
}

impl Faults {
    pub fn push(&mut self, when: When, fault: Fault) {
        let when = if fault.of_summaries() {
            When::Summary
        } else {
            when
        };
        self.waiting.push_back((when, fault));
    }

    /// Takes the first fault that waits for such a request.
    pub fn take(&mut self, summary: bool) -> Option<Fault> {
        let at = self.waiting.iter().position(|(when, _)| match when {
            When::Next => true,
            When::Summary => summary,
            When::Turn => !summary,
        })?;
        self.waiting.remove(at).map(|(_, fault)| fault)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Faults, When};

    #[test]
    fn words() {
        let check = |word, expected| assert_eq!(Fault::parse(word), expected, "{word}");
        check("429", Some(Fault::RateLimited(1)));
        check("429:7", Some(Fault::RateLimited(7)));
        check("cut:2", Some(Fault::Cut(2)));
        check(" summary-never ", Some(Fault::SummaryNever));
        check("429:x", None);
        check("flood", None);
    }

    #[test]
    fn a_fault_waits_for_its_request() {
        let mut faults = Faults::default();
        faults.push(When::Next, Fault::SummaryEmpty);
        faults.push(When::Turn, Fault::Internal);
        assert_eq!(faults.take(true), Some(Fault::SummaryEmpty));
        assert_eq!(faults.take(true), None);
        assert_eq!(faults.take(false), Some(Fault::Internal));
    }
}
