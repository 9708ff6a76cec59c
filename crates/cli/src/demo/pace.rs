//! How long things take: the provider's part simulated, on a clock that runs faster, ours measured.

use std::time::Duration;

use context::Tokens;
use conversation::homunculus::hosted::{Guards, StrategyProgram};
use sim::Latency;

use super::agent::Sent;

/// The provider's times at real speed, and how many times as fast it answers.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// At real speed.
    pub latency: Latency,
    /// How many times as fast.
    pub speed: f64,
    /// Whether requests that the gateway holds wait for a model's summary. Else they wait for one that takes
    /// no model, and that time is the gateway's own.
    pub holds: bool,
}

impl Pace {
    /// A usual provider, so many times as fast.
    pub fn new(speed: f64) -> Self {
        Self {
            latency: Latency::default(),
            speed,
            holds: false,
        }
    }

    /// The same under this strategy.
    pub fn under(self, strategy: &StrategyProgram) -> Self {
        // In a demo only those without guards have patience.
        let holds = strategy.terms().guards == Guards::Off;
        Self { holds, ..self }
    }

    /// Whether the gateway held a request until a model's summary was there.
    pub fn was_held(&self, sent: &Sent) -> bool {
        self.holds && sent.did("waited")
    }

    /// The latency of the provider that runs.
    pub fn running(&self) -> Latency {
        Latency {
            base: self.latency.base.div_f64(self.speed),
            prefill: self.latency.prefill * self.speed,
            prefill_cached: self.latency.prefill_cached * self.speed,
            decode: self.latency.decode * self.speed,
        }
    }

    /// The provider's time until the answer begins, in seconds at real speed.
    pub fn simulated(&self, sent: &Sent) -> f64 {
        let cached = sent.usage.cache_read.get();
        seconds(self.latency.first(fresh(sent).get(), cached))
    }

    /// What was measured beyond it, in seconds of the clock on the wall: connections, the gateway, the
    /// simulated provider's own work.
    pub fn own(&self, sent: &Sent) -> f64 {
        (seconds(sent.first) - self.simulated(sent) / self.speed).max(0.0)
    }

    /// The same in seconds at real speed: what a request was held is the provider's time.
    pub fn own_or_held(&self, sent: &Sent) -> f64 {
        let scale = if self.was_held(sent) { self.speed } else { 1.0 };
        self.own(sent) * scale
    }

    /// How long whoever waits for the answer waits, in seconds at real speed: until it begins; until it
    /// is all there if it is a summary.
    pub fn felt(&self, sent: &Sent) -> f64 {
        let written = if sent.summary {
            seconds(self.latency.writing(sent.usage.output.get()))
        } else {
            0.0
        };
        self.simulated(sent) + written + self.own_or_held(sent)
    }

    /// How much longer the provider takes than if only so many tokens were new to it.
    pub fn beyond(&self, sent: &Sent, usual_fresh: u64) -> f64 {
        let all = sent.usage.all_input().get();
        let fresh = usual_fresh.min(all);
        self.simulated(sent) - seconds(self.latency.first(fresh, all - fresh))
    }
}

/// What the provider had to read anew.
pub fn fresh(sent: &Sent) -> Tokens {
    sent.usage.input + sent.usage.cache_write
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
