//! The cost of editing a cached prefix, and the time until it pays back.
//!
//! All amounts are in *base input tokens*: tokens times their price relative to an uncached input
//! token. Source of the formulas: the project's research on providers, section "Economics".

use crate::units::Tokens;

/// Prices relative to an uncached input token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Writing a token to the cache: 1.25 for five minutes, 2 for an hour.
    pub write: f64,
    /// Reading a token from the cache: 0.1, on some models 0.05 or 0.025.
    pub read: f64,
    /// A token of output.
    pub output: f64,
}

/// The state of the prefix in the provider's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Still cached.
    Warm,
    /// Expired, or never cached.
    Cold,
}

/// A change of what the model is shown: some tokens come in, some stay behind them, some go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edit {
    /// New tokens: a summary, restated pins. Zero where something is only taken out.
    pub written: Tokens,
    /// The tokens behind the change (T). They are written again once instead of read.
    pub kept: Tokens,
    /// The tokens that the view loses on balance (D). Every later turn reads that much less.
    pub freed: Tokens,
}

impl Edit {
    /// After how many turns it pays back: `k = (N·w + T·(w − r)) ÷ (D·r)`, with N the tokens
    /// written; without them the formula of the source. Where the prefix is not cached any more,
    /// everything must be written anyway and a smaller view pays at once. Infinite where nothing is
    /// freed.
    #[must_use]
    pub fn pays_after(self, cache: Cache, rates: Rates) -> f64 {
        if self.freed == Tokens::ZERO {
            return f64::INFINITY;
        }
        if cache == Cache::Cold {
            return 0.0;
        }
        let rewritten = self.kept.as_f64() * (rates.write - rates.read);
        let once = self.written.as_f64() * rates.write + rewritten;
        let each = self.freed.as_f64() * rates.read;
        if once <= 0.0 {
            0.0
        } else if each <= 0.0 {
            f64::INFINITY
        } else {
            once / each
        }
    }
}
