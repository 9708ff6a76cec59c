//! The condition of the agent, for strategies that ask: a pulse for each of its steps, read from
//! the turns that are new.
//!
//! A step is looked at once, when the request comes that brings it; what is kept of it are fingerprints. A
//! program that reads no pulses has none of this.

use std::sync::Arc;

use context::Turn;
use context::vitality::{Options, Pulse, VitalityAnalyzer, newest_pulses};
use jiff::Timestamp;
use plumb::graph::Op;
use plumb::value::Value;

use super::reads;
use crate::homunculus::strategy::Situation;

/// The number of pulses told at once; older ones only count.
const MOST: usize = 8;

/// The number of an agent's steps that are kept: enough for six rounds of the longest cycle. More
/// would dominate the size of an idle conversation.
const WINDOW: usize = 32;

/// The kind of the records.
const KIND: &str = "pulse";

/// The fields that only pulses have.
const OWN: [&str; 3] = ["phase", "severity", "repeats"];

/// A field of pulses that parts of other messages have too.
const TURNS: &str = "turns";

/// The condition of a conversation's agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Vitals(Option<Box<Known>>);

/// Apart, since most conversations never have any.
#[derive(Clone, Debug)]
struct Known {
    analyzer: VitalityAnalyzer,
    /// Pulses that the strategy has not been told yet.
    new: Vec<Pulse>,
}

impl Default for Known {
    fn default() -> Self {
        let options = Options {
            window: WINDOW,
            ..Options::default()
        };
        Self {
            analyzer: VitalityAnalyzer::new(options),
            new: Vec::new(),
        }
    }
}

impl Vitals {
    /// Takes turns that are new, all of which were said by `now`.
    pub(super) fn take(&mut self, turns: &[Turn], now: Timestamp) {
        let pulses = newest_pulses("", turns, WINDOW, now);
        if pulses.is_empty() {
            return;
        }
        let new = &mut self.0.get_or_insert_default().new;
        new.extend(pulses);
        new.drain(..new.len().saturating_sub(WINDOW));
    }

    /// Forgets everything and takes turns that were told before: a conversation that came back, or that goes
    /// on from an earlier turn.
    pub(super) fn recall(&mut self, turns: &[Turn], now: Timestamp) {
        self.0 = None;
        self.take(turns, now);
        if let Some(known) = &mut self.0 {
            for pulse in std::mem::take(&mut known.new) {
                known.analyzer.ingest(pulse);
            }
        }
    }

    /// Returns true if there is something to tell.
    pub(super) fn has_news(&self) -> bool {
        self.0.as_ref().is_some_and(|known| !known.new.is_empty())
    }

    /// The records of what is new, in order; there are none then.
    pub(super) fn told(&mut self, situation: &Situation<'_>) -> Vec<Option<Value>> {
        let Some(known) = &mut self.0 else {
            return Vec::new();
        };
        let pressure = situation.pressure();
        let shown = situation.path.len().saturating_sub(situation.shown.from);
        let new = std::mem::take(&mut known.new);
        let untold = new.len().saturating_sub(MOST);
        let mut records = Vec::with_capacity(new.len().min(MOST));
        for (index, pulse) in new.into_iter().enumerate() {
            let phase = pulse.phase.as_str();
            let status = known.analyzer.ingest(pulse.with_pressure(pressure));
            if index < untold {
                continue;
            }
            let repeats = status.looping.map_or(0, |found| found.count);
            let fields = [
                ("kind", Value::from(KIND)),
                ("phase", Value::from(phase)),
                ("severity", Value::from(status.severity().as_str())),
                ("repeats", count(repeats)),
                (TURNS, count(shown)),
            ];
            let fields = fields.map(|(name, value)| (Arc::from(name), value));
            records.push(Value::record(fields).ok());
        }
        records
    }

    /// Lets go of memory that is held for pulses to come.
    pub(super) fn rest(&mut self) {
        if let Some(known) = &mut self.0 {
            known.analyzer.shrink_to_fit();
            known.new.shrink_to_fit();
        }
    }

    /// The bytes that it holds besides its own.
    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |known| {
            size_of::<Known>() + known.analyzer.bytes() + known.new.capacity() * size_of::<Pulse>()
        })
    }
}

fn count(number: usize) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns true if an expression reads pulses: it names their kind, or a field that only they have.
pub(super) fn is_read_by(op: &Op) -> bool {
    match op {
        Op::Constant(value) => reads::says(value, KIND),
        Op::Field(of, name) => OWN.contains(&&**name) || (&**name == TURNS && **of == Op::Message),
        _ => false,
    }
}
