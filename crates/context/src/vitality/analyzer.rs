//! Detects loops, pressure and silence from an agent's pulses, one for each step.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::loops;
use super::pulse::Pulse;
use super::status::{Level, Silence, Status};
use super::stream::Stream;
use crate::threshold::LoopSignal;

/// The settings of an analyzer. Values out of range are clamped, see each field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// From how many repetitions on it is a loop; 2 at least.
    pub loop_threshold: usize,
    /// The pressure from which on it warns.
    pub pressure_warning: f64,
    /// The pressure from which on it is critical.
    pub pressure_critical: f64,
    /// The number of pulses kept per agent, at least 1. A cycle of period 5 needs 5 × the loop threshold.
    pub window: usize,
    /// No agent is silent before this much time has passed.
    pub silence_floor: SignedDuration,
    /// The longest normal silence, as a multiple of the agent's usual interval.
    pub silence_factor: f64,
    /// The number of agents kept, at least 1; the one silent for longest goes first.
    pub max_agents: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            loop_threshold: 3,
            pressure_warning: 0.7,
            pressure_critical: 0.9,
            window: 50,
            silence_floor: SignedDuration::from_secs(60),
            silence_factor: 4.0,
            max_agents: 1_024,
        }
    }
}

/// Figures about what an analyser holds of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Pulses in the window.
    pub pulses: usize,
    /// Different contents among them.
    pub different: usize,
    /// The count of the most frequent one.
    pub most_repeated: usize,
    /// The mean distance between two pulses in seconds; 0 with fewer than two.
    pub average_interval: f64,
}

/// Reads pulses of any number of agents and says how each of them is. The work per pulse grows with
/// the window only, and so does what it holds of an agent.
#[derive(Clone, Debug, Default)]
pub struct VitalityAnalyzer {
    options: Options,
    agents: BTreeMap<String, Stream>,
}

impl VitalityAnalyzer {
    /// An analyser that looks for this.
    #[must_use]
    pub fn new(mut options: Options) -> Self {
        options.loop_threshold = options.loop_threshold.max(2);
        options.window = options.window.max(1);
        options.max_agents = options.max_agents.max(1);
        Self {
            options,
            agents: BTreeMap::new(),
        }
    }

    /// The settings.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Takes a pulse in and says how its agent is. A pulse that is older than the newest one is put
    /// in its place; the status is that of the newest.
    pub fn ingest(&mut self, pulse: Pulse) -> Status {
        self.make_room(&pulse.agent);
        let agent = pulse.agent.clone();
        let stream = self.agents.entry(agent).or_default();
        let late = stream.insert(pulse, self.options.window);
        status(stream, &self.options, late)
    }

    /// The status of an agent as of its newest pulse; `None` for an unknown agent.
    #[must_use]
    pub fn status(&self, agent: &str) -> Option<Status> {
        let stream = self.agents.get(agent)?;
        Some(status(stream, &self.options, false))
    }

    /// The loop signal for the adaptive threshold.
    #[must_use]
    pub fn loop_signal(&self, agent: &str) -> LoopSignal {
        match self.status(agent).and_then(|status| status.looping) {
            Some(_) => LoopSignal::Detected,
            None => LoopSignal::Clear,
        }
    }

    /// The agents that should have been heard of by `now`, by name.
    #[must_use]
    pub fn silent(&self, now: Timestamp) -> Vec<(&str, Silence)> {
        let Options {
            silence_floor,
            silence_factor,
            ..
        } = self.options;
        self.agents
            .iter()
            .filter_map(|(agent, stream)| {
                let silence = stream.silence(now, silence_floor, silence_factor)?;
                Some((agent.as_str(), silence))
            })
            .collect()
    }

    /// The pulses of an agent in the window, oldest first.
    pub fn history(&self, agent: &str) -> impl Iterator<Item = &Pulse> {
        self.agents.get(agent).into_iter().flat_map(Stream::iter)
    }

    /// Figures about the pulses of an agent in the window; zeros for one that is not known.
    #[must_use]
    pub fn statistics(&self, agent: &str) -> Statistics {
        let Some(stream) = self.agents.get(agent) else {
            return Statistics::default();
        };
        let counts = stream.counts();
        let intervals = stream.intervals();
        let seconds: f64 = intervals.iter().sum();
        let number: f64 = intervals.iter().map(|_| 1.0).sum();
        Statistics {
            pulses: stream.iter().len(),
            different: counts.len(),
            most_repeated: counts.values().copied().max().unwrap_or(0),
            average_interval: if number > 0.0 { seconds / number } else { 0.0 },
        }
    }

    /// The bytes it holds besides its own, apart from names and what else was said of a pulse.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let streams = self.agents.values();
        let held: usize = streams.map(Stream::bytes).sum();
        // A node of the map has room for eleven.
        held + self.agents.len().next_multiple_of(11) * size_of::<(String, Stream)>()
    }

    /// Gives back memory that is held for pulses to come.
    pub fn shrink_to_fit(&mut self) {
        self.agents.values_mut().for_each(Stream::shrink_to_fit);
    }

    /// Forgets an agent.
    pub fn forget(&mut self, agent: &str) {
        self.agents.remove(agent);
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.agents.clear();
    }

    fn make_room(&mut self, agent: &str) {
        if self.agents.len() < self.options.max_agents || self.agents.contains_key(agent) {
            return;
        }
        let stalest = self
            .agents
            .iter()
            .min_by_key(|(_, stream)| stream.newest().map(|pulse| pulse.at))
            .map(|(agent, _)| agent.clone());
        if let Some(stalest) = stalest {
            self.agents.remove(&stalest);
        }
    }
}

fn status(stream: &Stream, options: &Options, late: bool) -> Status {
    let pulses: Vec<&Pulse> = stream.iter().collect();
    let pressure = stream.newest().map_or(0.0, |pulse| pulse.pressure.get());
    let level = if pressure >= options.pressure_critical {
        Level::Critical
    } else if pressure >= options.pressure_warning {
        Level::Warning
    } else {
        Level::Calm
    };
    let slope = stream.slope();
    Status {
        looping: loops::find(&pulses, options.loop_threshold),
        level,
        pressure,
        slope,
        critical_in: critical_in(options.pressure_critical - pressure, slope),
        rhythm: stream.rhythm(),
        late,
        critical_count: options.loop_threshold.saturating_add(2),
    }
}

/// The number of pulses that growing by `distance` takes. Slopes below a thousandth of the window per pulse
/// are noise.
fn critical_in(distance: f64, slope: f64) -> Option<u32> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and at most 1,000 windows; the cast saturates"
    )]
    let pulses = (distance / slope).ceil() as u32;
    (distance > 0.0 && slope > 0.001).then_some(pulses)
}
