//! Memories as messages: `Memory` of the module `mem`.
//!
//! A turn is `{ "role": "user"|"assistant"|"tool", "text": string }`, with tools also
//! `"calls": [{ "id", "name", "arguments" }]` and `"results": [{ "call", "text", "failed" }]`.

use std::sync::Arc;

use context::turn::{Outcome, ToolCall, ToolResult};
use context::{CallId, Part, Role, Text, TurnDraft};
use plumb::value::Value;

/// A record; one that is too large for a message is null.
pub(crate) fn record(fields: Vec<(&str, Value)>) -> Value {
    let fields: Vec<(Arc<str>, Value)> = fields
        .into_iter()
        .map(|(name, value)| (Arc::from(name), value))
        .collect();
    Value::record(fields).unwrap_or(Value::Null)
}

fn list(items: Vec<Value>) -> Value {
    Value::list(items).unwrap_or(Value::Null)
}

/// A memory as a message.
pub(super) fn memory(
    mark: usize,
    turns: impl Iterator<Item = TurnDraft>,
    pinned: Vec<Value>,
    summary: Option<&str>,
) -> Value {
    let turns = turns.map(|draft| turn(&draft)).collect();
    let mut fields = vec![
        ("mark", Value::from(mark.to_string())),
        ("turns", list(turns)),
        ("pinned", list(pinned)),
    ];
    fields.extend(summary.map(|text| ("summary", Value::from(text))));
    record(fields)
}

/// A memory with other values in some of its fields. `None` if it is no record, or becomes too large.
pub(super) fn with<'a>(
    memory: &Value,
    values: impl IntoIterator<Item = (&'a str, Value)>,
) -> Option<Value> {
    let mut fields = memory.fields()?.to_vec();
    for (name, value) in values {
        match fields.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, old)) => *old = value,
            None => fields.push((name.into(), value)),
        }
    }
    Value::record(fields).ok()
}

/// A memory without a field. `None` if it is no record.
pub(super) fn without(memory: &Value, name: &str) -> Option<Value> {
    let fields = memory.fields()?.iter();
    let others = fields.filter(|(known, _)| **known != *name).cloned();
    Value::record(others.collect::<Vec<_>>()).ok()
}

/// A turn as it stands in a message.
pub(super) fn turn(draft: &TurnDraft) -> Value {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for part in &draft.parts {
        match part {
            Part::Text(text) => texts.push(text.as_str()),
            Part::Call(call) => calls.push(record(vec![
                ("id", Value::from(call.id.as_str())),
                ("name", Value::from(call.name.as_str())),
                ("arguments", Value::from(call.arguments.as_str())),
            ])),
            Part::Result(result) => results.push(record(vec![
                ("call", Value::from(result.call.as_str())),
                ("text", Value::from(result.text.as_str())),
                ("failed", Value::Bool(result.outcome == Outcome::Failed)),
            ])),
            Part::Thinking(_) | Part::Attachment(_) | Part::Opaque(_) => {}
        }
    }
    let mut fields = vec![
        ("role", Value::from(draft.role.as_str())),
        ("text", Value::from(texts.join("\n"))),
    ];
    if !calls.is_empty() {
        fields.push(("calls", list(calls)));
    }
    if !results.is_empty() {
        fields.push(("results", list(results)));
    }
    record(fields)
}

/// The mark of a memory, or `None` if it is not a number.
pub(super) fn mark(memory: &Value) -> Option<usize> {
    memory.get("mark")?.as_text()?.parse().ok()
}

/// The pins of a memory.
pub(super) fn pinned(memory: &Value) -> Vec<Value> {
    let pinned = memory.get("pinned").and_then(Value::items);
    pinned.unwrap_or_default().to_vec()
}

/// The summary of a memory.
pub(super) fn summary(memory: &Value) -> Option<Arc<str>> {
    let text = memory.get("summary")?.as_text()?;
    (!text.trim().is_empty()).then(|| text.into())
}

/// The turns of a memory.
pub(super) fn turns(memory: &Value) -> Vec<Value> {
    let turns = memory.get("turns").and_then(Value::items);
    turns.unwrap_or_default().to_vec()
}

/// Reads the turns of a memory.
///
/// # Errors
/// If one cannot be read, as a phrase.
pub(super) fn drafts(turns: &[Value]) -> Result<Vec<TurnDraft>, String> {
    let numbered = turns.iter().zip(1..);
    numbered
        .map(|(turn, number)| {
            draft(turn).ok_or_else(|| format!("turn {number} is not a turn with a role and a text"))
        })
        .collect()
}

fn draft(turn: &Value) -> Option<TurnDraft> {
    let role = match turn.get("role")?.as_text()? {
        // A model may have written the memory, and no text of a model becomes part of the instructions.
        "user" | "system" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => return None,
    };
    let text = turn.get("text")?.as_text()?;
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(Part::Text(Text::from(text)));
    }
    let items = |name: &str| turn.get(name).and_then(Value::items).unwrap_or_default();
    for call in items("calls") {
        let field = |name: &str| call.get(name)?.as_text();
        parts.push(Part::Call(ToolCall {
            id: CallId::from(field("id")?),
            name: Text::from(field("name")?),
            arguments: Text::from(field("arguments")?),
        }));
    }
    for result in items("results") {
        parts.push(Part::Result(ToolResult {
            call: CallId::from(result.get("call")?.as_text()?),
            text: Text::from(result.get("text")?.as_text()?),
            outcome: match result.get("failed") {
                Some(Value::Bool(true)) => Outcome::Failed,
                _ => Outcome::Succeeded,
            },
        }));
    }
    Some(TurnDraft::said(role, parts))
}
