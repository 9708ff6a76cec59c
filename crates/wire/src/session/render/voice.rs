//! The way in which a format writes turns that were not in the file.

use context::turn::{Outcome, Part};
use context::{Provenance, Turn};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::api::{Dialect, render_turn};

/// A JSON object with its members in order.
pub(super) type Object = Map<String, Value>;

/// The object of a `json!` literal.
pub(super) fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => Object::from_iter([("value".to_owned(), other)]),
    }
}

/// The names of the fields by which the records of a log form a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub(super) id: &'static str,
    pub(super) parent: &'static str,
}

/// Writes new records of a log format.
pub(super) trait Voice {
    /// The fields that chain the records; `None` for a format without chains.
    fn links(&self) -> Option<Links> {
        None
    }

    /// A record that begins the file, before all turns.
    fn opening(&mut self, _summary: Option<&Turn>, _at: Option<Timestamp>) -> Option<Object> {
        None
    }

    /// Called before a record of the file is written unchanged.
    fn heard(&mut self, _line: &[u8]) {}

    /// The records of a turn at this time, without the fields that chain them.
    fn say(&mut self, turn: &Turn, at: Option<Timestamp>) -> Vec<Object>;

    /// An empty record that only continues the chain.
    fn bridge(&self, _at: Option<Timestamp>) -> Object {
        Object::new()
    }

    /// The id of the `number`th new record, unless another record already names an id for it.
    fn id(&self, seed: &[u8; 16], number: usize) -> String {
        let mut hex: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
        hex.truncate(24);
        format!("{hex}{number:08x}")
    }
}

/// Returns `true` for a summary that stands for other turns.
pub(super) fn is_summary(turn: &Turn) -> bool {
    turn.provenance() == Provenance::Summary
}

/// The words of a turn, without calls and results. Binaries are named, since new records
/// cannot carry them.
pub(super) fn words(turn: &Turn) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in turn.parts() {
        match part {
            Part::Text(text) => words.push(text.as_str().to_owned()),
            Part::Attachment(attachment) => words.push(format!("[{}]", attachment.kind)),
            Part::Thinking(_) | Part::Call(_) | Part::Result(_) | Part::Opaque(_) => {}
        }
    }
    words.join("\n\n")
}

/// The arguments of a call as JSON, or as a text where they are not JSON.
pub(super) fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// A turn as messages or items of a dialect.
pub(super) fn written(dialect: Dialect, turn: &Turn) -> Vec<Object> {
    serde_json::from_str(&format!("[{}]", render_turn(dialect, turn))).unwrap_or_default()
}

/// A record: its fields, behind its time where that is known.
pub(super) fn stamped(at: Option<Timestamp>, fields: Value) -> Object {
    let time = at.map(|at| ("timestamp".to_owned(), Value::from(at.to_string())));
    time.into_iter().chain(object(fields)).collect()
}

/// Returns `true` for a failed result.
pub(super) fn failed(outcome: Outcome) -> bool {
    outcome == Outcome::Failed
}
