//! How fast a conversation grows, and how long its summaries take: in requests, which is what counts.

use context::Tokens;

use crate::limits::Limits;
use crate::strategy::{Moment, Situation, Stage};

/// How many requests a summary is expected to take before one was made.
const LEAD: u8 = 2;

/// So many requests a summary is expected to take at most.
const LONGEST_LEAD: u8 = 6;

/// A preparation begins at this share of the window at the earliest: what is freed must be worth it.
const EARLIEST: f64 = 0.4;

/// Tells when a preparation has to begin so that its summary is ready at the hard threshold. In a small
/// window a single turn can be a tenth of it, and the way from the usual soft threshold to the hard one is
/// two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// What was said so far.
    said: Tokens,
    /// What a request brought, of the newest ones that brought most.
    growth: Tokens,
    /// How many requests summaries took.
    lead: u8,
    /// How many requests came since a summary was ordered that is not ready.
    waiting: Option<u8>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            said: Tokens::ZERO,
            growth: Tokens::ZERO,
            lead: LEAD,
            waiting: None,
        }
    }
}

impl Pace {
    /// Takes notice of a request.
    pub(super) fn see(&mut self, situation: &Situation<'_>) {
        if situation.moment != Moment::Request {
            return;
        }
        let path = &situation.path;
        // A guess is no growth.
        let said = path.covered(path.len()).saturating_sub(path.guessed(0));
        if self.said > Tokens::ZERO {
            // The largest of late; what was long ago counts less and less.
            let faded = self.growth.scaled(0.8);
            self.growth = said.saturating_sub(self.said).max(faded);
        }
        self.said = said;
        match (situation.stage, &mut self.waiting) {
            (Stage::Preparing { .. }, Some(waiting)) => {
                *waiting = waiting.saturating_add(1);
                // It takes longer than expected.
                self.lead = self.lead.max(*waiting).min(LONGEST_LEAD);
            }
            (Stage::Ready { .. }, Some(waiting)) => {
                let took = waiting.saturating_add(1).min(LONGEST_LEAD);
                self.lead = took.max(self.lead.saturating_sub(1)).max(1);
                self.waiting = None;
            }
            (Stage::None, waiting) => *waiting = None,
            (_, None) => {}
        }
    }

    /// A summary is ordered.
    pub(super) const fn order(&mut self) {
        self.waiting = Some(0);
    }

    /// The size of a view at which a preparation has to begin at the latest: as many requests before the
    /// hard threshold as a summary takes, and one more, since thresholds are crossed in mid-request.
    pub(super) fn latest_start(&self, limits: &Limits) -> Tokens {
        let ahead = Tokens::new(self.growth.get() * u64::from(self.lead + 1));
        let earliest = limits.window.scaled(EARLIEST);
        limits.hard_tokens().saturating_sub(ahead).max(earliest)
    }
    /// Whether the view is at the hard threshold before a summary that is ordered now is ready.
    pub(super) fn reaches_hard(&self, situation: &Situation<'_>) -> bool {
        let before = u64::from(self.lead.saturating_sub(1));
        let ahead = Tokens::new(self.growth.get() * before);
        situation.view + ahead >= situation.limits.hard_tokens()
    }
}
