//! The records that agents send on `telemetry`.

use context::vitality::{Phase, Status};
use context::{Pressure, Tokens};
use plumb::value::Value;

use crate::memory;
use crate::provider::TokenUsage;

fn record(kind: &str, mut fields: Vec<(&str, Value)>) -> Value {
    fields.insert(0, ("kind", Value::from(kind)));
    memory::record(fields)
}

fn count(number: impl TryInto<i64>) -> Value {
    Value::Int(number.try_into().unwrap_or(i64::MAX))
}

/// The usage of one model call: `input_tokens` is all of the input, whether it was read from a cache or not;
/// `pressure` is input and output as a share of the window.
pub(crate) fn usage(spent: &TokenUsage, window: Tokens, compactions: u32) -> Value {
    let pressure = Pressure::of(spent.input + spent.output, window);
    record(
        "usage",
        vec![
            ("input_tokens", count(spent.input.get())),
            ("output_tokens", count(spent.output.get())),
            ("cache_read", count(spent.cache_read.get())),
            ("cache_write", count(spent.cache_write.get())),
            ("window", count(window.get())),
            ("pressure", Value::Number(pressure.get())),
            ("compactions", Value::Int(compactions.into())),
        ],
    )
}

/// The estimated pressure of the memory, reported when it changes without a model call.
pub(crate) fn pressure(tokens: Tokens, window: Tokens) -> Value {
    let pressure = Pressure::of(tokens, window);
    record(
        "pressure",
        vec![
            ("tokens", count(tokens.get())),
            ("window", count(window.get())),
            ("pressure", Value::Number(pressure.get())),
        ],
    )
}

/// The vitals of an agent after a step: its phase, the number of repetitions (0 if none) and the severity.
pub(crate) fn pulse(phase: Phase, status: &Status, turns: usize) -> Value {
    let repeats = status.looping.map_or(0, |found| found.count);
    record(
        "pulse",
        vec![
            ("phase", Value::from(phase.as_str())),
            ("severity", Value::from(status.severity().as_str())),
            ("repeats", count(repeats)),
            ("turns", count(turns)),
        ],
    )
}

/// A memory was replaced: how many turns it had, and how many it has.
pub(crate) fn swap(before: usize, after: usize, compactions: u32) -> Value {
    record(
        "swap",
        vec![
            ("turns_before", count(before)),
            ("turns_after", count(after)),
            ("compactions", Value::Int(compactions.into())),
        ],
    )
}

/// Something was pinned or unpinned: how many pins there are.
pub(crate) fn pin(pins: usize) -> Value {
    record("pin", vec![("pins", count(pins))])
}

/// A message was not answered, or an answer was not of the type that was asked for.
pub(crate) fn error(word: &str, attempt: u32) -> Value {
    record(
        "error",
        vec![
            ("error", Value::from(word)),
            ("attempt", Value::Int(attempt.into())),
        ],
    )
}
