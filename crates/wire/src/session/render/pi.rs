//! New records of pi's.

use context::turn::{Part, Role};
use context::{Tokens, Turn};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::script::Lines;
use super::voice::{self, Links, Object, arguments, failed, is_summary, object, stamped, words};
use crate::session::Session;

pub(super) struct Voice {
    /// `true` where records name the record before them; those of the first version do not.
    chained: bool,
    headers: usize,
    model: String,
    tokens: Tokens,
    /// The first record that was written of the conversation.
    first: Option<String>,
}

impl Voice {
    pub(super) fn of(session: &Session, lines: &Lines<'_>) -> Self {
        let mut of_turns = lines.pieces.iter().flatten();
        let chained = of_turns.any(|line| id(lines.text(*line)).is_some());
        Self {
            chained,
            headers: lines.headers.len(),
            model: session.model.clone().unwrap_or_default(),
            tokens: session.turns.iter().map(Turn::tokens).sum(),
            first: None,
        }
    }

    fn message(at: Option<Timestamp>, message: Value) -> Object {
        let mut message = object(message);
        if let Some(at) = at {
            message.insert("timestamp".to_owned(), Value::from(at.as_millisecond()));
        }
        stamped(at, json!({"type": "message", "message": message}))
    }

    fn summary(&self, turn: &Turn, at: Option<Timestamp>) -> Object {
        let mut record = stamped(at, json!({"type": "compaction", "summary": words(turn)}));
        // All that is in the written file is kept; what is not kept is not in it.
        let (key, first) = if self.chained {
            let first = self.first.as_deref().map_or(Value::Null, Value::from);
            ("firstKeptEntryId", first)
        } else {
            ("firstKeptEntryIndex", Value::from(self.headers))
        };
        record.insert(key.to_owned(), first);
        record.insert("tokensBefore".to_owned(), Value::from(self.tokens.get()));
        record
    }

    fn assistant(&self, turn: &Turn, at: Option<Timestamp>) -> Object {
        let content: Vec<Value> = turn
            .parts()
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(json!({"type": "text", "text": text.as_str()})),
                Part::Call(call) => Some(json!({
                    "type": "toolCall",
                    "id": call.id.as_str(),
                    "name": call.name.as_str(),
                    "arguments": arguments(&call.arguments),
                })),
                _ => None,
            })
            .collect();
        let nothing = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0});
        let message = json!({
            "role": "assistant",
            "content": content,
            "model": self.model,
            "usage": nothing,
            "stopReason": "stop",
        });
        Self::message(at, message)
    }
}

impl voice::Voice for Voice {
    fn links(&self) -> Option<Links> {
        self.chained.then_some(Links {
            id: "id",
            parent: "parentId",
        })
    }

    fn heard(&mut self, line: &[u8]) {
        let header = self.headers > 0 && line.starts_with(b"{\"type\":\"session\"");
        if self.first.is_none() && !header {
            self.first = id(line);
        }
    }

    fn say(&mut self, turn: &Turn, at: Option<Timestamp>) -> Vec<Object> {
        if is_summary(turn) {
            return vec![self.summary(turn, at)];
        }
        if turn.role() == Role::Assistant {
            return vec![self.assistant(turn, at)];
        }
        let results = turn.results().map(|result| {
            let content = json!([{"type": "text", "text": result.text.as_str()}]);
            let message = json!({
                "role": "toolResult",
                "toolCallId": result.call.as_str(),
                "content": content,
                "isError": failed(result.outcome),
            });
            Self::message(at, message)
        });
        let mut records: Vec<Object> = results.collect();
        let words = words(turn);
        if !words.is_empty() || records.is_empty() {
            let content = json!([{"type": "text", "text": words}]);
            records.push(Self::message(
                at,
                json!({"role": "user", "content": content}),
            ));
        }
        records
    }

    fn bridge(&self, at: Option<Timestamp>) -> Object {
        stamped(at, json!({"type": "custom", "customType": "ebbtide"}))
    }
}

/// The id of a record.
fn id(line: &[u8]) -> Option<String> {
    let record: Object = serde_json::from_slice(line).ok()?;
    record.get("id")?.as_str().map(str::to_owned)
}
