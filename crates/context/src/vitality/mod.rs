//! Vitality: pulses of an agent and what they say about its health. No model calls.
//!
//! A [`Pulse`] is one health signal: how full the window is, what the agent is doing, and a
//! fingerprint of what it did and what it got for it. It is logged as one line. A
//! [`VitalityAnalyzer`] reads pulses and says whether the agent goes in circles, fills up, or has
//! fallen silent. It reads no clock and keeps no text.

mod analyzer;
mod fingerprint;
mod log;
mod loops;
mod observe;
mod pulse;
mod status;
mod stream;

pub use analyzer::{Options, Statistics, VitalityAnalyzer};
pub use fingerprint::{ContentHash, Shape};
pub use log::PulseError;
pub use observe::{newest_pulses, pulses};
pub use pulse::{Answer, Phase, Pulse};
pub use status::{Level, Loop, LoopKind, Rhythm, Severity, Silence, Status};

/// The error codes of this module.
pub const CODES: &[crate::coded::CodeEntry] = &PulseError::ENTRIES;

#[cfg(test)]
mod labelled;
#[cfg(test)]
mod tests;
