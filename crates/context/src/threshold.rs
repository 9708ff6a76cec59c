//! When to compact: the adaptive threshold, its signals, and a trigger with hysteresis.
//!
//! Three numbers that are easily confused are kept apart here. The *trigger* is the pressure at which
//! a compaction starts; it moves with the signals. The *target* is the pressure that the compaction
//! aims at; it is always at least [`Trigger::MIN_GAP`] below the trigger, so that a compaction is
//! worth what it costs. And after it has fired, a [`Trigger`] stays quiet until the pressure has been
//! below the target plus half the gap, so that a compaction that freed too little is not started
//! again at once.

mod signals;

pub use signals::{LoopSignal, Signals, TaskList};

use crate::units::Pressure;

/// The pressure at which to compact, moved by what the agent is doing.
///
/// `t = base`; `+ 0.10` while progress is below 0.2 (keep context early in a task); `- 0.10` above
/// 0.8 (near the end little of it is needed); `+ 0.15 × error rate` (keep what debugging needs);
/// `- 0.15` in a loop (compacting breaks the pattern); clamped to `0.5..=0.95`. The formula of ACON-style
/// adaptive compression as the project's design states it. Where the progress is not known, its two
/// terms are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveThreshold {
    base: f64,
}

impl AdaptiveThreshold {
    /// The lowest threshold there is.
    pub const MIN: f64 = 0.5;
    /// The highest threshold there is.
    pub const MAX: f64 = 0.95;

    /// A threshold with this base.
    #[must_use]
    pub const fn new(base: Pressure) -> Self {
        Self { base: base.get() }
    }

    /// The threshold under these signals.
    #[must_use]
    pub fn effective(&self, signals: &Signals) -> Pressure {
        let mut threshold = self.base;
        match signals.progress() {
            Some(progress) if progress < 0.2 => threshold += 0.1,
            Some(progress) if progress > 0.8 => threshold -= 0.1,
            _ => {}
        }
        threshold += signals.error_rate() * 0.15;
        if signals.looping() == LoopSignal::Detected {
            threshold -= 0.15;
        }
        Pressure::new(threshold.clamp(Self::MIN, Self::MAX)).unwrap_or_default()
    }
}

impl Default for AdaptiveThreshold {
    /// Base 0.7.
    fn default() -> Self {
        Self { base: 0.7 }
    }
}

/// What a [`Trigger`] says to a pressure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Nothing to do.
    Wait,
    /// Compact down to this pressure.
    Compact {
        /// The pressure to reach.
        target: Pressure,
    },
}

/// Fires once when the pressure reaches the threshold, and again only after it has fallen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trigger {
    threshold: AdaptiveThreshold,
    target: f64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Armed,
    Fired,
}

impl Trigger {
    /// The least distance between the trigger and the target.
    pub const MIN_GAP: f64 = 0.1;

    /// A trigger on `threshold` that aims at `target`.
    #[must_use]
    pub const fn new(threshold: AdaptiveThreshold, target: Pressure) -> Self {
        Self {
            threshold,
            target: target.get(),
            state: State::Armed,
        }
    }

    /// The pressure that a compaction under these signals aims at: the configured target, or
    /// [`Self::MIN_GAP`] below the threshold where that is lower.
    #[must_use]
    pub fn target(&self, signals: &Signals) -> Pressure {
        let highest = self.threshold.effective(signals).get() - Self::MIN_GAP;
        Pressure::new(self.target.min(highest)).unwrap_or_default()
    }

    /// Takes note of the pressure and says whether to compact now.
    pub fn observe(&mut self, pressure: Pressure, signals: &Signals) -> Decision {
        let threshold = self.threshold.effective(signals).get();
        let target = self.target(signals);
        let rearm = f64::midpoint(target.get(), threshold);
        match self.state {
            State::Armed if pressure.get() >= threshold => {
                self.state = State::Fired;
                Decision::Compact { target }
            }
            State::Fired if pressure.get() < rearm => {
                self.state = State::Armed;
                Decision::Wait
            }
            State::Armed | State::Fired => Decision::Wait,
        }
    }
}

impl Default for Trigger {
    /// The default threshold, aiming at half a window.
    fn default() -> Self {
        Self {
            threshold: AdaptiveThreshold::default(),
            target: 0.5,
            state: State::Armed,
        }
    }
}

#[cfg(test)]
mod tests;
