//! The tokens of requests, told apart by what they cost.

use std::ops::Add;

use super::Tokens;

/// The tokens of one request, by what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumption {
    /// Input tokens that were neither read from nor written to the cache.
    pub fresh: Tokens,
    /// Input tokens read from the cache.
    pub cache_read: Tokens,
    /// Input tokens written to the cache for its normal lifetime.
    pub cache_write: Tokens,
    /// Input tokens written to the cache for its longer lifetime.
    pub cache_write_long: Tokens,
    /// Output tokens, reasoning included.
    pub output: Tokens,
}

impl Consumption {
    /// All input tokens.
    #[must_use]
    pub fn input(&self) -> Tokens {
        self.fresh + self.cache_read + self.cache_write + self.cache_write_long
    }
}

impl Add for Consumption {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            fresh: self.fresh + other.fresh,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            cache_write_long: self.cache_write_long + other.cache_write_long,
            output: self.output + other.output,
        }
    }
}
