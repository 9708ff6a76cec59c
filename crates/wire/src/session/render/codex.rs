//! New records of Codex's.

use context::Turn;
use context::turn::{Part, Role};
use serde_json::{Value, json};

use super::voice::{self, Object, is_summary, object, timestamp, words};

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

    fn say(&mut self, turn: &Turn) -> Vec<Object> {
        let items = items(turn);
        self.history.extend(items.iter().cloned());
        if is_summary(turn) {
            let payload = json!({"message": words(turn), "replacement_history": self.history});
            return vec![record(turn, "compacted", &payload)];
        }
        items
            .iter()
            .map(|item| record(turn, "response_item", item))
            .collect()
    }
}

fn record(turn: &Turn, kind: &str, payload: &Value) -> Object {
    let mut record = Object::new();
    if let Some(time) = timestamp(turn) {
        record.insert("timestamp".to_owned(), Value::from(time));
    }
    record.extend(object(json!({"type": kind, "payload": payload})));
    record
}

/// A turn as items of the Responses API.
fn items(turn: &Turn) -> Vec<Value> {
    let mut items = Vec::new();
    let words = words(turn);
    let (role, block) = match turn.role() {
        Role::Assistant => ("assistant", "output_text"),
        _ => ("user", "input_text"),
    };
    let nothing_else = turn.calls().next().is_none() && turn.results().next().is_none();
    if !words.is_empty() || nothing_else {
        let content = json!([{"type": block, "text": words}]);
        items.push(json!({"type": "message", "role": role, "content": content}));
    }
    for part in turn.parts() {
        match part {
            Part::Call(call) => items.push(json!({
                "type": "function_call",
                "name": call.name.as_str(),
                "arguments": call.arguments.as_str(),
                "call_id": call.id.as_str(),
            })),
            Part::Result(result) => items.push(json!({
                "type": "function_call_output",
                "call_id": result.call.as_str(),
                "output": result.text.as_str(),
            })),
            _ => {}
        }
    }
    items
}
