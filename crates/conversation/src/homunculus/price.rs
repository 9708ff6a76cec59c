//! The cost of a compaction, and when it pays, for a provider that caches prefixes.
//!
//! The formulas stand in [`context::cache_plan::price`]; here they get a model's prices and the time.

use context::Tokens;
use context::cache_plan::price::{Edit, Rates};
use jiff::SignedDuration;

/// The provider's prices in USD a million tokens, and the lifetime of a cached prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Input that is neither read from nor written to the cache.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input read from the cache.
    pub cache_read: f64,
    /// Input written to the cache.
    pub cache_write: f64,
    /// The lifetime of a cached prefix after its last use.
    pub ttl: SignedDuration,
    /// Prefixes shorter than this are not cached.
    pub cache_minimum: Tokens,
}

/// The state of the provider's cache.
pub use context::cache_plan::price::Cache as CacheState;

impl From<&tokens::Model> for Prices {
    /// The prices and cache rules of a model, with the cache's normal lifetime.
    fn from(model: &tokens::Model) -> Self {
        let price = model.price;
        Self {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
            ttl: SignedDuration::try_from(model.cache.lifetime).unwrap_or(SignedDuration::MAX),
            cache_minimum: model.cache.minimum,
        }
    }
}

impl Prices {
    /// The state of the cache `idle` after the last request.
    #[must_use]
    pub fn cache_after(&self, idle: SignedDuration) -> CacheState {
        if idle < self.ttl {
            CacheState::Warm
        } else {
            CacheState::Cold
        }
    }

    /// After how many requests a swap has paid for itself; infinite where it never does.
    ///
    /// `written` are the new tokens (summary and restated pins), `kept` the tokens behind them that
    /// must be written again, `freed` what the view loses on balance.
    #[must_use]
    pub fn break_even(
        &self,
        written: Tokens,
        kept: Tokens,
        freed: Tokens,
        cache: CacheState,
    ) -> f64 {
        let edit = Edit {
            written,
            kept,
            freed,
        };
        // Only the ratio of the two prices counts, so they need not be taken relative to plain input.
        let rates = Rates {
            write: self.cache_write,
            read: self.cache_read,
            output: self.output,
        };
        edit.pays_after(cache, rates)
    }
}

#[cfg(test)]
mod tests {
    use context::Tokens;
    use jiff::SignedDuration;

    use super::{CacheState, Prices};

    /// A price list with plain input as the unit: output 5, writing 1.25.
    fn unit(cache_read: f64) -> Prices {
        Prices {
            input: 1.0,
            output: 5.0,
            cache_read,
            cache_write: 1.25,
            ttl: SignedDuration::from_mins(5),
            cache_minimum: Tokens::new(512),
        }
    }

    fn thousand(count: u64) -> Tokens {
        Tokens::new(count * 1000)
    }

    #[test]
    fn editing_cached_text_pays_late_where_reading_is_cheap() {
        for (read, factor) in [(0.1, 11.5), (0.05, 24.0), (0.025, 49.0)] {
            let turns =
                unit(read).break_even(Tokens::ZERO, thousand(10), thousand(10), CacheState::Warm);
            assert!((turns - factor).abs() < 1e-9, "{turns} instead of {factor}");
        }
    }

    #[test]
    fn with_a_cold_cache_a_smaller_view_pays_at_once() {
        let prices = unit(0.1);
        let cold = prices.break_even(thousand(5), thousand(9), thousand(1), CacheState::Cold);
        assert_eq!(cold, 0.0);
        let nothing = prices.break_even(thousand(5), thousand(9), Tokens::ZERO, CacheState::Cold);
        assert_eq!(
            nothing,
            f64::INFINITY,
            "and one that is not smaller never does"
        );
    }
}
