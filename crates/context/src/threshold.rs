//! The soft threshold, moved by what the agent is doing.
//!
//! [`Watch`] reads the signals off the turns as they are pushed; [`AdaptiveThreshold::under`] turns
//! them into a pressure, with the reasons in words for the journal.

mod signals;

use std::fmt;

pub use signals::{LoopSignal, Signals, TaskList, Watch};

use crate::units::Pressure;

/// The rule that moves the soft threshold.
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
    pub fn under(&self, signals: &Signals) -> Moved {
        let progress = match signals.progress() {
            Some(progress) if progress < 0.2 => 0.1,
            Some(progress) if progress > 0.8 => -0.1,
            _ => 0.0,
        };
        let errors = signals.error_rate() * 0.15;
        let looping = match signals.looping() {
            LoopSignal::Clear => 0.0,
            LoopSignal::Detected => -0.15,
        };
        let moved = self.base + progress + errors + looping;
        Moved {
            signals: *signals,
            threshold: Pressure::new(moved.clamp(Self::MIN, Self::MAX)).unwrap_or_default(),
            progress,
            errors,
            looping,
        }
    }
}

/// A threshold and the reasons why it is not where the configuration put it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    signals: Signals,
    threshold: Pressure,
    progress: f64,
    errors: f64,
    looping: f64,
}

impl Moved {
    /// The pressure at which to compact.
    #[must_use]
    pub const fn threshold(&self) -> Pressure {
        self.threshold
    }
}

impl fmt::Display for Moved {
    /// The signals behind it, like `the agent repeats itself, 4 of the last 10 results failed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A move of less than half a percent is none.
        let moves = |by: f64| by.abs() >= 0.005;
        let mut before = "";
        if moves(self.looping) {
            f.write_str("the agent repeats itself")?;
            before = ", ";
        }
        if moves(self.progress) {
            let place = if self.progress > 0.0 {
                "early in the task"
            } else {
                "near the end of the task"
            };
            write!(f, "{before}{place}")?;
            if let Some(TaskList { done, all }) = self.signals.tasks() {
                write!(f, " ({done} of {all} done)")?;
            }
            before = ", ";
        }
        if moves(self.errors) {
            match self.signals.results() {
                Some((failed, all)) => {
                    write!(f, "{before}{failed} of the last {all} results failed")?;
                }
                None => write!(f, "{before}tools are failing")?,
            }
            before = ", ";
        }
        if before.is_empty() {
            f.write_str("no signal moves it")?;
        }
        Ok(())
    }
}

impl Default for AdaptiveThreshold {
    /// Base 0.7.
    fn default() -> Self {
        Self { base: 0.7 }
    }
}

#[cfg(test)]
mod tests;
