//! New records of Claude Code's.

use context::turn::Role;
use context::{Tokens, Turn};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::script::Lines;
use super::voice::{self, Links, Object, is_summary, object, words, written};
use crate::api::Dialect;
use crate::session::Session;

/// Fields that every record of a session repeats.
const ENVELOPE: &[&str] = &[
    "isSidechain",
    "userType",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "slug",
    "agentId",
];

pub(super) struct Voice {
    envelope: Object,
    model: String,
    tokens: Tokens,
}

impl Voice {
    /// Takes the fields that every record repeats from the session's last record.
    pub(super) fn of(session: &Session, lines: &Lines<'_>) -> Self {
        let last = lines.pieces.iter().rev().flatten().next();
        let record = last.map_or(&b"{}"[..], |line| lines.text(*line));
        let record: Object = serde_json::from_slice(record).unwrap_or_default();
        let repeated = |key: &str| Some((key.to_owned(), record.get(key)?.clone()));
        Self {
            envelope: ENVELOPE.iter().copied().filter_map(repeated).collect(),
            model: session.model.clone().unwrap_or_default(),
            tokens: session.turns.iter().map(Turn::tokens).sum(),
        }
    }

    fn record(&self, kind: &str, at: Option<Timestamp>) -> Object {
        // The chain's own fields are put in later; this one comes first, as the product has it.
        let mut record = Object::from_iter([("parentUuid".to_owned(), Value::Null)]);
        record.extend(self.envelope.clone());
        record.insert("type".to_owned(), Value::from(kind));
        if let Some(at) = at {
            record.insert("timestamp".to_owned(), Value::from(at.to_string()));
        }
        record
    }
}

impl voice::Voice for Voice {
    fn links(&self) -> Option<Links> {
        Some(Links {
            id: "uuid",
            parent: "parentUuid",
        })
    }

    /// The boundary stands first, whatever is shown before the summary: the product shows the model
    /// nothing that stands before the last boundary.
    fn opening(&mut self, summary: Option<&Turn>, at: Option<Timestamp>) -> Option<Object> {
        summary?;
        let mut record = self.record("system", at);
        record.extend(object(json!({
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": false,
            "level": "info",
            "compactMetadata": {"trigger": "manual", "preTokens": self.tokens.get()},
        })));
        Some(record)
    }

    fn say(&mut self, turn: &Turn, at: Option<Timestamp>) -> Vec<Object> {
        let assistant = turn.role() == Role::Assistant;
        let kind = if assistant { "assistant" } else { "user" };
        let mut record = self.record(kind, at);
        if assistant {
            let message = json!({
                "id": format!("msg_{}", turn.id()),
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": blocks(turn),
                "stop_reason": null,
                "stop_sequence": null,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            });
            record.insert("message".to_owned(), message);
            return vec![record];
        }
        let results = turn.results().next().is_some();
        let content = if results {
            blocks(turn)
        } else {
            Value::from(words(turn))
        };
        record.insert(
            "message".to_owned(),
            json!({"role": "user", "content": content}),
        );
        if is_summary(turn) {
            record.insert("isVisibleInTranscriptOnly".to_owned(), Value::from(true));
            record.insert("isCompactSummary".to_owned(), Value::from(true));
        }
        vec![record]
    }

    fn bridge(&self, at: Option<Timestamp>) -> Object {
        let mut record = self.record("system", at);
        record.extend(object(json!({
            "subtype": "informational",
            "content": "",
            "isMeta": true,
            "level": "info",
        })));
        record
    }

    fn id(&self, seed: &[u8; 16], number: usize) -> String {
        // A UUID of version 8: 122 bits of the maker's choice.
        let hex: Vec<String> = seed.iter().map(|byte| format!("{byte:02x}")).collect();
        let join = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default().concat();
        let number = number & 0xfff;
        format!(
            "{}-{}-8{number:03x}-8{}-{}",
            join(0..4),
            join(4..6),
            join(7..9).get(1..).unwrap_or_default(),
            join(10..16)
        )
    }
}

/// The parts of a turn as Anthropic's content blocks.
fn blocks(turn: &Turn) -> Value {
    let message = written(Dialect::Anthropic, turn).pop();
    let content = message.and_then(|mut message| message.remove("content"));
    content.unwrap_or_else(|| json!([]))
}
