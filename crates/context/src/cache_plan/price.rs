//! What editing a cached prefix costs, and when it pays back.
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

/// Whether the prefix is still in the provider's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// It is.
    Warm,
    /// It has expired, or never was.
    Cold,
}

/// A change of what the model is shown: some tokens come in, some stay behind them, some go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edit {
    /// New tokens: a summary, restated pins. Zero where something is only taken out.
    pub written: Tokens,
    /// The tokens behind the change (T). They are written again once instead of read.
    pub kept: Tokens,
    /// What the view loses on balance (D). Every later turn reads so much less.
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

/// A compaction by a model: a context, the summary that replaces it, and the tail that is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compaction {
    /// The tokens that are summarised (C).
    pub context: Tokens,
    /// The tokens of the summary (S).
    pub summary: Tokens,
    /// The tokens behind the summary that stay as they are (K).
    pub tail: Tokens,
}

impl Compaction {
    /// What it costs once: `C·r` to read the context (`C` where the cache is cold), `S·output` to
    /// write the summary, and `(S + K)·w` to put it and the tail into the cache again.
    #[must_use]
    pub fn cost(&self, cache: Cache, rates: Rates) -> f64 {
        let reading = match cache {
            Cache::Warm => rates.read,
            Cache::Cold => 1.0,
        };
        let rewritten = (self.summary + self.tail).as_f64() * rates.write;
        self.context.as_f64() * reading + self.summary.as_f64() * rates.output + rewritten
    }

    /// What every later turn saves: `(C − S)·r`.
    #[must_use]
    pub fn saved_per_turn(&self, rates: Rates) -> f64 {
        self.context.saturating_sub(self.summary).as_f64() * rates.read
    }

    /// After how many turns it pays back; infinite where it saves nothing.
    #[must_use]
    pub fn pays_after(&self, cache: Cache, rates: Rates) -> f64 {
        let saved = self.saved_per_turn(rates);
        if saved > 0.0 {
            self.cost(cache, rates) / saved
        } else {
            f64::INFINITY
        }
    }

    /// Whether to compact while the agent idles and its cache is about to expire: yes where
    /// `P(return after expiry)·C·w` is more than the compaction costs now. `returns` is that
    /// probability; outside `0..=1` or NaN it is taken as the nearest end, or as never.
    #[must_use]
    pub fn worth_while_idle(&self, returns: f64, rates: Rates) -> bool {
        let returns = if returns.is_nan() {
            0.0
        } else {
            returns.clamp(0.0, 1.0)
        };
        let refill = self.context.as_f64() * rates.write;
        returns * refill > self.cost(Cache::Warm, rates)
    }
}
