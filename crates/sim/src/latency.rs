//! The time that answers take.

use std::time::Duration;

/// A latency model: a fixed part, then reading the prompt, then writing token by token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The time that every request takes.
    pub base: Duration,
    /// Tokens read in a second that are not in the cache.
    pub prefill: f64,
    /// Tokens read in a second that are in the cache.
    pub prefill_cached: f64,
    /// Tokens written in a second.
    pub decode: f64,
}

impl Default for Latency {
    /// Rates in the range that large hosted models show: 400 ms, 20,000 tokens a second fresh,
    /// 400,000 cached, 80 written.
    fn default() -> Self {
        Self {
            base: Duration::from_millis(400),
            prefill: 20_000.0,
            prefill_cached: 400_000.0,
            decode: 80.0,
        }
    }
}

impl Latency {
    /// Until the first token.
    #[must_use]
    pub fn first(&self, fresh: u64, cached: u64) -> Duration {
        self.base + time(fresh, self.prefill) + time(cached, self.prefill_cached)
    }

    /// For writing `tokens`.
    #[must_use]
    pub fn writing(&self, tokens: u64) -> Duration {
        time(tokens, self.decode)
    }
}

fn time(tokens: u64, rate: f64) -> Duration {
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^52"
    )]
    let seconds = tokens as f64 / rate;
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::Latency;
    use std::time::Duration;

    #[test]
    fn what_is_cached_is_read_faster() {
        let latency = Latency::default();
        let cold = latency.first(100_000, 0);
        let warm = latency.first(0, 100_000);
        assert_eq!(cold, Duration::from_millis(5_400));
        assert_eq!(warm, Duration::from_millis(650));
        assert_eq!(latency.writing(80), Duration::from_secs(1));
    }

    #[test]
    fn a_rate_of_zero_takes_no_time() {
        let still = Latency {
            decode: 0.0,
            ..Latency::default()
        };
        assert_eq!(still.writing(10), Duration::ZERO);
    }
}
