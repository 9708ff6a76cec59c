//! Lists of chat messages: OpenAI's and Anthropic's, whose messages do not clash, and with them
//! tau-bench, SWE-agent and LongMemEval, which put such lists into records of their own.

use std::borrow::Cow;

use context::turn::Role;
use jiff::Timestamp;

use super::blocks::{Parts, user_or_tool};
use super::error::code;
use super::fields::object;
use super::recording::Recording;
use crate::api::json::tree::Value;

/// Reads one message.
pub(super) fn message(recording: &mut Recording, text: &[u8], piece: usize, at: Option<Timestamp>) {
    let Some(tree) = object(text) else {
        return recording.problem(piece, code::BROKEN, "not a message");
    };
    let message = tree.root();
    if message.field("role").is_none() && message.field("content").is_none() {
        return recording.problem(piece, code::BROKEN, "not a message: no role and no content");
    }
    let at = message.time("timestamp").or(at);
    let (role, parts) = read(message);
    let role = match role {
        Role::User if recording.acts && is_observation(message) => Role::Tool,
        other => other,
    };
    recording.acts = message.field("action").is_some() && !message.flag("is_demo");
    let turn = recording.say(role, parts, at, piece);
    if role == Role::Assistant {
        recording.credit(turn, message);
    }
}

fn read(message: Value<'_>) -> (Role, Parts) {
    let role = role(&message.word("role"));
    if role == Role::Tool {
        let ids = message.get("tool_call_ids");
        let first = ids.and_then(|ids| ids.text().or_else(|| ids.elements().next()?.text()));
        let id = message.get_text("tool_call_id").or(first);
        // The older function messages have a name and no id.
        let id = id.unwrap_or_else(|| message.word("name"));
        let failed = message.flag("is_error");
        return (role, Parts::answered(&id, message.field("content"), failed));
    }
    let mut parts = Parts::default();
    if let Some(reasoning) = message.get_text("reasoning_content") {
        parts.thinking(&reasoning);
    }
    parts.extend(Parts::of(message.get("content")));
    parts.text(&message.word("refusal"));
    calls(&mut parts, message);
    if let Some(function) = message.field("function_call") {
        add_call(&mut parts, &function.word("name"), Some(function));
    }
    let role = match role {
        Role::User => user_or_tool(&parts.parts),
        other => other,
    };
    (role, parts)
}

/// Returns true for what SWE-agent calls an observation: the task, and the output of each command, which is sent as a
/// message of the user's where the model calls no tools.
fn is_observation(message: Value<'_>) -> bool {
    message.word("message_type") == "observation"
}

/// The role behind a name, in any dialect.
pub(super) fn role(name: &str) -> Role {
    match name {
        "system" | "developer" => Role::System,
        "user" | "human" => Role::User,
        "assistant" | "ai" | "model" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => Role::Other,
    }
}

/// Adds OpenAI's tool calls.
pub(super) fn calls(parts: &mut Parts, message: Value<'_>) {
    for call in message.list("tool_calls") {
        let body = call.field("function").or_else(|| call.field("custom"));
        add_call(parts, &call.word("id"), body);
    }
}

fn add_call(parts: &mut Parts, id: &str, body: Option<Value<'_>>) {
    let name = body.map(|body| body.word("name")).unwrap_or_default();
    let arguments = body.and_then(|body| body.field("arguments").or_else(|| body.field("input")));
    parts.call(id, &name, &unquoted(arguments));
}

/// The text of a JSON string, or the JSON text of any other value.
pub(super) fn unquoted(value: Option<Value<'_>>) -> Cow<'_, str> {
    value.map(Value::unquoted).unwrap_or_default()
}

/// Returns `true` for a message in a shape that only Anthropic uses.
pub(super) fn is_anthropic(text: &[u8]) -> bool {
    const OWN: [&str; 6] = [
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
    ];
    object(text).is_some_and(|tree| {
        let mut blocks = tree.root().list("content");
        blocks.any(|block| OWN.contains(&&*block.word("type")))
    })
}
