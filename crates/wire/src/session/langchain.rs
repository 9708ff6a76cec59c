//! LangChain's message dumps: `{"type":"human","data":{…}}`, the constructor form
//! `{"lc":1,"type":"constructor","id":[…,"HumanMessage"],"kwargs":{…}}`, and messages with their
//! fields at the top, `{"type":"human","content":…}`.

use context::turn::{Part, Role};
use jiff::Timestamp;

use super::ReportedUsage;
use super::blocks::Parts;
use super::chat;
use super::error::code;
use super::fields::object;
use super::recording::Recording;
use crate::api::json::scan::Kind;
use crate::api::json::tree::Value;

/// The name of a message's class in lower case without `Message`: `human`, `ai`, `tool`, …
fn kind(envelope: Value<'_>) -> String {
    let class = envelope.list("id").last().map(Value::unquoted);
    let name = match (envelope.get_text("type"), class) {
        (Some(kind), Some(class)) if kind == "constructor" => class,
        (Some(kind), _) => kind,
        (None, class) => class.unwrap_or_default(),
    };
    let name = name.trim_end_matches("Chunk").trim_end_matches("Message");
    name.to_ascii_lowercase()
}

/// Returns `true` for a LangChain message.
pub(super) fn is_message(text: &[u8]) -> bool {
    const KNOWN: [&str; 8] = [
        "human",
        "ai",
        "system",
        "tool",
        "function",
        "chat",
        "developer",
        "remove",
    ];
    object(text).is_some_and(|tree| {
        let message = tree.root();
        let dumped = message.field("lc").is_some() || message.field("role").is_none();
        dumped && KNOWN.contains(&kind(message).as_str())
    })
}

/// Reads one message.
pub(super) fn message(recording: &mut Recording, text: &[u8], piece: usize, at: Option<Timestamp>) {
    let tree = object(text);
    let envelope = tree.as_ref().map(|tree| tree.root());
    let inner = envelope.map(|it| {
        it.field("data")
            .or_else(|| it.field("kwargs"))
            .unwrap_or(it)
    });
    let Some((envelope, body)) = envelope
        .zip(inner)
        .filter(|(_, body)| body.kind() == Kind::Object)
    else {
        return recording.problem(piece, code::BROKEN, "not a message");
    };
    let role = match kind(envelope).as_str() {
        "chat" => chat::role(&body.word("role")),
        kind => chat::role(kind),
    };
    let parts = if role == Role::Tool {
        let id = body.get_text("tool_call_id");
        let id = id.unwrap_or_else(|| body.word("name"));
        Parts::answered(&id, body.field("content"), body.word("status") == "error")
    } else {
        let mut parts = Parts::of(body.get("content"));
        calls(&mut parts, body);
        parts
    };
    let turn = recording.say(role, parts, at, piece);
    if role == Role::Assistant {
        metadata(recording, body, turn);
    }
}

/// Adds the calls that are not in the content already: LangChain's own list, else the provider's.
fn calls(parts: &mut Parts, body: Value<'_>) {
    let mut added = Parts::default();
    for call in body.list("tool_calls") {
        let arguments = call.field("args").map_or("", Value::raw);
        added.call(&call.word("id"), &call.word("name"), arguments);
    }
    if added.parts.is_empty()
        && let Some(additional) = body.get("additional_kwargs")
    {
        chat::calls(&mut added, additional);
    }
    for part in added.parts {
        let known = parts.parts.iter().any(|other| match (other, &part) {
            (Part::Call(known), Part::Call(call)) => known.id == call.id,
            _ => false,
        });
        if !known {
            parts.parts.push(part);
        }
    }
}

/// Takes the model and the usage from a message of the model.
fn metadata(recording: &mut Recording, body: Value<'_>, turn: usize) {
    let response = body.get("response_metadata");
    let model = response.and_then(|it| it.get_text("model_name").or_else(|| it.get_text("model")));
    recording.model = model.map(String::from).or(recording.model.take());
    let Some(reported) = body.inner("usage_metadata") else {
        return;
    };
    let details = reported.get("input_token_details");
    let detail = |key| details.map(|it| it.tokens(key)).unwrap_or_default();
    let long = detail("ephemeral_1h_input_tokens");
    let read = detail("cache_read");
    // Where LangChain tells the lifetimes, it may leave the sum at zero.
    let written = detail("cache_creation").max(detail("ephemeral_5m_input_tokens") + long);
    let usage = ReportedUsage {
        // LangChain's total includes what was read from and written to the cache.
        input: reported
            .tokens("input_tokens")
            .saturating_sub(read + written),
        output: reported.tokens("output_tokens"),
        cache_read: read,
        cache_write: written,
        cache_write_hour: long,
        ..ReportedUsage::default()
    };
    recording.report(turn, usage);
}
