//! The speed of a model, for virtual time.
//!
//! The rates are those of a large hosted model in 2026. They are checked against one published
//! measurement: Claude Code took 104.7 s to compact 987,000 tokens, cached, into about 9,300; the
//! model here says 104.

use context::Tokens;
use jiff::SignedDuration;

use crate::cache::Charge;

/// The speed at which a model reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Tokens read a second that are not in the cache.
    pub prefill: f64,
    /// Tokens read a second from the cache.
    pub cached_prefill: f64,
    /// Tokens written a second.
    pub decode: f64,
    /// Seconds that any call takes besides.
    pub overhead: f64,
    /// Seconds that a summary without a model takes for each token of its source.
    pub extracting: f64,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            prefill: 10_000.0,
            cached_prefill: 100_000.0,
            decode: 100.0,
            overhead: 1.0,
            extracting: EXTRACTING,
        }
    }
}

/// Seconds that the extractive summary takes for each token of its source: 50 ms for 150,000 tokens,
/// the budget that its bench holds it to.
const EXTRACTING: f64 = 0.05 / 150_000.0;

impl Latency {
    /// Everything takes no time: summaries are there with the next request.
    pub const NONE: Self = Self {
        prefill: f64::INFINITY,
        cached_prefill: f64::INFINITY,
        decode: f64::INFINITY,
        overhead: 0.0,
        extracting: 0.0,
    };

    /// The time of a call with this input and so much output.
    #[must_use]
    pub fn call(&self, input: Charge, output: Tokens) -> SignedDuration {
        let fresh = input.fresh + input.written;
        seconds(
            self.overhead
                + fresh.as_f64() / self.prefill
                + input.read.as_f64() / self.cached_prefill
                + output.as_f64() / self.decode,
        )
    }

    /// The time of an extractive summary of so much.
    #[must_use]
    pub fn extraction(&self, source: Tokens) -> SignedDuration {
        seconds(source.as_f64() * self.extracting)
    }
}

fn seconds(seconds: f64) -> SignedDuration {
    SignedDuration::try_from_secs_f64(seconds).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use context::Tokens;

    use super::Latency;
    use crate::cache::Charge;

    #[test]
    fn the_published_compaction_takes_as_long_as_published() {
        let input = Charge {
            read: Tokens::new(987_000),
            ..Charge::default()
        };
        let time = Latency::default().call(input, Tokens::new(9_300));
        assert_eq!(time.as_secs(), 103);
        assert!(
            Latency::default()
                .extraction(Tokens::new(150_000))
                .as_millis()
                <= 50
        );
    }
}
