//! The guards' numbers.

use context::extract::Room;
use context::{Tokens, standing, user_words};
use jiff::SignedDuration;

use crate::homunculus::price::Prices;

/// The smallest summary that is worth having: the template's headings and a line or two.
pub const MINIMUM_SUMMARY: Tokens = Tokens::new(256);

/// Limits that the machine holds every strategy to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The model's window.
    pub window: Tokens,
    /// The share of the window from which on a view has to be made smaller.
    pub hard: f64,
    /// The largest size of a summary.
    pub summary: Tokens,
    /// The room for the user's own words, which stand in front of a summary.
    pub words: Tokens,
    /// The largest tail that may stay behind the mark at a swap below the hard threshold.
    pub tail_cap: Tokens,
    /// The age at which a prepared summary is too old.
    pub staleness: Staleness,
    /// The share of the view that a swap must free.
    pub minimum_gain: f64,
    /// A swap below the hard threshold must pay for itself within this many requests.
    pub horizon: f64,
    /// The number of swaps in a row that may free less than the minimum gain before the machine
    /// stops.
    pub thrash: u32,
    /// The pause after failures.
    pub back_off: BackOff,
    /// The longest time that a request may be held.
    pub patience: SignedDuration,
    /// The provider's prices.
    pub prices: Prices,
}

/// The age at which a prepared summary is too old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// After so many requests since its preparation began.
    pub requests: u32,
    /// After so much time since its preparation began.
    pub age: SignedDuration,
}

/// The pause after failures. Each failure doubles it, up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    /// After the first failure.
    pub first: SignedDuration,
    /// At most.
    pub longest: SignedDuration,
}

impl BackOff {
    /// The pause after this many failures in a row.
    #[must_use]
    pub fn after(&self, failures: u32) -> SignedDuration {
        let factor = 1_i32
            .checked_shl(failures.saturating_sub(1).min(30))
            .unwrap_or(i32::MAX);
        self.first
            .checked_mul(factor)
            .map_or(self.longest, |wait| wait.min(self.longest))
    }
}

impl Limits {
    /// The share of the window from which on a view has to be made smaller, where nothing else is set.
    pub const HARD: f64 = 0.85;

    /// The share of the window that a request which was refused leaves to its answer. Some providers accept a request
    /// that fills the window, and then cut the answer off before its first word.
    const ANSWER: f64 = 0.05;

    /// The largest size at which a request that was refused is sent again.
    #[must_use]
    pub fn room(&self) -> Tokens {
        self.window.saturating_sub(self.window.scaled(Self::ANSWER))
    }

    /// The default guards for a window: hard threshold 0.85, summary a sixteenth of the window
    /// between 1,000 and 8,000 tokens, tail at most three tenths of the window, a gain of a tenth,
    /// three swaps without gain, a horizon of 30 requests, no waiting.
    #[must_use]
    pub fn for_window(window: Tokens, prices: Prices) -> Self {
        let sixteenth = window.get() / 16;
        Self {
            window,
            hard: Self::HARD,
            summary: Tokens::new(sixteenth.clamp(1_000, 8_000).min(window.get() / 4)),
            words: user_words::room(window, user_words::SHARE),
            tail_cap: window.scaled(0.3),
            staleness: Staleness {
                requests: 100,
                age: SignedDuration::from_hours(12),
            },
            minimum_gain: 0.1,
            horizon: 30.0,
            thrash: 3,
            back_off: BackOff {
                first: SignedDuration::from_secs(5),
                longest: SignedDuration::from_mins(10),
            },
            patience: SignedDuration::ZERO,
            prices,
        }
    }

    /// The room for what the client itself put into the conversation. Products that keep no words of the user keep
    /// none of it either.
    #[must_use]
    pub fn standing(&self) -> Tokens {
        match self.words {
            Tokens::ZERO => Tokens::ZERO,
            _ => standing::room(self.window),
        }
    }

    /// The room for a summary where the view leaves enough.
    #[must_use]
    pub fn for_summary(&self) -> Room {
        Room {
            words: self.words,
            standing: self.standing(),
            summary: self.summary,
        }
    }

    /// The same window and prices without guards against long tails, small gains, thrashing and
    /// waiting, and without room for the user's own words and standing matter: what products without such guards
    /// do. The rules about where to cut still hold.
    #[must_use]
    pub fn unguarded(self) -> Self {
        Self {
            tail_cap: self.window,
            words: Tokens::ZERO,
            minimum_gain: 0.0,
            horizon: f64::INFINITY,
            thrash: u32::MAX,
            patience: SignedDuration::MAX,
            ..self
        }
    }

    /// The size of a view at the hard threshold.
    #[must_use]
    pub fn hard_tokens(&self) -> Tokens {
        self.window.scaled(self.hard)
    }

    /// The size up to which a view may grow after an undo has shown it whole: half-way from the hard
    /// threshold to the window. Without guards it is the hard threshold, since requests would be held in vain
    /// above it.
    #[must_use]
    pub fn brim(&self) -> Tokens {
        match self.patience == SignedDuration::MAX {
            true => self.hard_tokens(),
            false => (self.window + self.hard_tokens()).scaled(0.5),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::BackOff;

    #[test]
    fn back_off_doubles_and_ends_at_the_longest() {
        let back_off = BackOff {
            first: SignedDuration::from_secs(5),
            longest: SignedDuration::from_secs(60),
        };
        let seconds: Vec<i64> = [1, 2, 3, 4, 5, 1000]
            .map(|failures| back_off.after(failures).as_secs())
            .to_vec();
        assert_eq!(seconds, [5, 10, 20, 40, 60, 60]);
    }
}
