//! New records of Codex's.

use context::Turn;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::voice::{self, Object, is_summary, stamped, words, written};
use crate::api::Dialect;

/// The history written so far, which a `compacted` record repeats because it replaces it.
#[derive(Default)]
pub(super) struct Voice {
    history: Vec<Value>,
}

impl voice::Voice for Voice {
    fn heard(&mut self, line: &[u8]) {
        let mut record: Object = serde_json::from_slice(line).unwrap_or_default();
        if record.get("type").and_then(Value::as_str) == Some("response_item") {
            self.history.extend(record.remove("payload"));
        }
    }

    fn say(&mut self, turn: &Turn, at: Option<Timestamp>) -> Vec<Object> {
        let items = written(Dialect::Responses, turn).into_iter();
        let items: Vec<Value> = items.map(Value::Object).collect();
        self.history.extend(items.iter().cloned());
        if is_summary(turn) {
            let payload = json!({"message": words(turn), "replacement_history": self.history});
            return vec![record(at, "compacted", &payload)];
        }
        items
            .iter()
            .map(|item| record(at, "response_item", item))
            .collect()
    }
}

/// A record with its time: without one, Codex skips the line.
fn record(at: Option<Timestamp>, kind: &str, payload: &Value) -> Object {
    stamped(at, json!({"type": kind, "payload": payload}))
}
