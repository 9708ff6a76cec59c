//! How a format says what was not in the file.

use context::turn::{Outcome, Part};
use context::{Provenance, Turn};
use serde_json::{Map, Value};

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

/// How a log's format says what was not in the file.
pub(super) trait Voice {
    /// The fields that chain its records, where they do.
    fn links(&self) -> Option<Links> {
        None
    }

    /// A record that begins the file, before all turns.
    fn opening(&mut self, _summary: Option<&Turn>) -> Option<Object> {
        None
    }

    /// A record of the file is about to be written as it stands.
    fn heard(&mut self, _line: &[u8]) {}

    /// The records that say a turn, without the fields that chain them.
    fn say(&mut self, turn: &Turn) -> Vec<Object>;

    /// A record that says nothing and only carries the chain on.
    fn bridge(&self) -> Object {
        Object::new()
    }

    /// The id of the `number`th new record, where no other record asks for a certain one.
    fn id(&self, seed: &[u8; 16], number: usize) -> String {
        let mut hex: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
        hex.truncate(24);
        format!("{hex}{number:08x}")
    }
}

/// Whether a turn is a summary that stands for others.
pub(super) fn is_summary(turn: &Turn) -> bool {
    turn.provenance() == Provenance::Summary
}

/// What a turn says in words, apart from calls and results. Binaries are named, since new records
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

/// The arguments of a call as JSON: what they are, or a text where they are none.
pub(super) fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Whether a result is a failure.
pub(super) fn failed(outcome: Outcome) -> bool {
    outcome == Outcome::Failed
}

/// The time of a turn as text.
pub(super) fn timestamp(turn: &Turn) -> Option<String> {
    turn.at().map(|at| at.to_string())
}
