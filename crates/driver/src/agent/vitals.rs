//! The vitals of an agent: last usage, last message and the pulse after each step.

use context::turn::Outcome;
use context::vitality::{Phase, Pulse, VitalityAnalyzer};
use context::{Part, Pressure, Tokens, TurnDraft};
use jiff::Timestamp;
use plumb::value::Value;

use crate::provider::ModelAnswer;
use crate::telemetry;

/// The vitals of an agent.
#[derive(Debug, Default)]
pub(super) struct Vitals {
    /// The tokens of the last request and its answer.
    pub used: Option<Tokens>,
    /// The time of the last message.
    pub last: Option<Timestamp>,
    analyzer: VitalityAnalyzer,
}

/// A step: one answer of the model, with the results of its calls.
#[derive(Debug)]
pub(super) struct Step {
    phase: Phase,
    done: String,
    got: Option<(String, Outcome)>,
}

impl Step {
    /// The step of an answer: its calls, or its text if it has none.
    pub fn of(said: &ModelAnswer) -> Self {
        let calls = said.calls.iter();
        let called: String = calls
            .map(|call| format!("{}\n{}\n", call.name, call.arguments))
            .collect();
        let (phase, done) = match called.is_empty() {
            true => (Phase::Yielding, said.text.clone()),
            false => (Phase::Acting, called),
        };
        Self {
            phase,
            done,
            got: None,
        }
    }

    /// Adds the results of its calls.
    pub fn got(self, results: &TurnDraft) -> Self {
        let results = results.parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            _ => None,
        });
        let all: Vec<_> = results.collect();
        let failed = |outcome: Outcome| outcome == Outcome::Failed;
        let outcome = match all.iter().all(|result| failed(result.outcome)) {
            true => Outcome::Failed,
            false => Outcome::Succeeded,
        };
        let texts: Vec<&str> = all.iter().map(|result| result.text.as_str()).collect();
        Self {
            got: Some((texts.join("\n"), outcome)),
            ..self
        }
    }
}

impl Vitals {
    /// The pulse of a step, in a window of this size with so many turns, as a record.
    pub fn pulse(&mut self, step: &Step, now: Timestamp, window: Tokens, turns: usize) -> Value {
        let used = self.used.unwrap_or_default();
        let pulse = Pulse::new("", now, step.phase, &step.done)
            .with_pressure(Pressure::of(used, window))
            .with_turns(turns as u64);
        let pulse = match &step.got {
            Some((text, outcome)) => pulse.with_answer(text, *outcome),
            None => pulse,
        };
        let status = self.analyzer.ingest(pulse);
        telemetry::pulse(step.phase, &status, turns)
    }
}
