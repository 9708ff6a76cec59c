//! Wait times: the provider's part is simulated on a faster clock, the gateway's part is measured.

use std::time::Duration;

use context::Tokens;
use conversation::homunculus::hosted::{Guards, StrategyProgram};
use sim::Latency;

use super::agent::Exchange;

/// The provider's latency and its speed-up. Seconds are seconds at real speed, unless noted.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// At real speed.
    pub latency: Latency,
    /// The speed of the simulated provider, relative to a real one.
    pub speed: f64,
    /// True if held requests wait for a model's summary. Otherwise they wait for an extractive one,
    /// which takes only the gateway's own time.
    pub holds: bool,
}

impl Timing {
    pub fn new(speed: f64) -> Self {
        Self {
            latency: Latency::default(),
            speed,
            holds: false,
        }
    }

    /// Adapts the timing to a strategy.
    pub fn under(self, strategy: &StrategyProgram) -> Self {
        // The demo sets the patience to zero; strategies without guards ignore it and wait.
        let holds = strategy.terms().guards == Guards::Off;
        Self { holds, ..self }
    }

    /// Says if the gateway held a request until a model had written a summary.
    pub fn was_held(&self, sent: &Exchange) -> bool {
        self.holds && sent.did("waited")
    }

    /// The latency of the running, sped-up provider.
    pub fn running(&self) -> Latency {
        Latency {
            base: self.latency.base.div_f64(self.speed),
            prefill: self.latency.prefill * self.speed,
            prefill_cached: self.latency.prefill_cached * self.speed,
            decode: self.latency.decode * self.speed,
        }
    }

    /// The provider's simulated time to the first event.
    pub fn simulated(&self, sent: &Exchange) -> f64 {
        let cached = sent.usage.cache_read.get();
        seconds(self.latency.first(fresh(sent).get(), cached))
    }

    /// The measured time beyond the simulated one, in wall-clock seconds: connections, the gateway, and
    /// the simulated provider's own work.
    pub fn own(&self, sent: &Exchange) -> f64 {
        (seconds(sent.first) - self.simulated(sent) / self.speed).max(0.0)
    }

    /// Like [`Timing::own`], but a hold for a model's summary counts at the provider's real speed.
    pub fn own_or_held(&self, sent: &Exchange) -> f64 {
        let scale = if self.was_held(sent) { self.speed } else { 1.0 };
        self.own(sent) * scale
    }

    /// The wait that the user experiences: to the first event of an answer, or to the end of a summary.
    pub fn felt(&self, sent: &Exchange) -> f64 {
        let written = if sent.summary {
            seconds(self.latency.writing(sent.usage.output.get()))
        } else {
            0.0
        };
        self.simulated(sent) + written + self.own_or_held(sent)
    }

    /// The provider's extra time, compared to a request with only `usual_fresh` uncached tokens.
    pub fn beyond(&self, sent: &Exchange, usual_fresh: u64) -> f64 {
        let all = sent.usage.all_input().get();
        let fresh = usual_fresh.min(all);
        self.simulated(sent) - seconds(self.latency.first(fresh, all - fresh))
    }
}

/// The input tokens that were not in the provider's cache.
pub fn fresh(sent: &Exchange) -> Tokens {
    sent.usage.input + sent.usage.cache_write
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
