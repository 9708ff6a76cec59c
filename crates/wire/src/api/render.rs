//! Turns written as messages of a dialect.
//!
//! What a turn does not hold cannot be written: thinking has lost its signature and is left out
//! (providers allow taking all of it out), binaries and unknown blocks become a line that says what
//! stood there. Messages that the client sent are therefore never written by this module, but kept
//! by [`Piece::Kept`](super::Piece::Kept).

use context::turn::{Outcome, ToolCall, ToolResult};
use context::{Part, Role, Turn};

use super::Dialect;
use super::json::scan::Kind;
use super::json::tree::Tree;
use super::json::write::{Object, list, quoted};
use super::limits::DEEPEST;

/// `turn` as one or more messages, separated by commas: JSON in `dialect`, fit for
/// [`Piece::Written`](super::Piece::Written). A turn without anything to write is an empty string.
///
/// Calls and results are written as such, so a turn with calls is only valid before its results.
#[must_use]
pub fn render_turn(dialect: Dialect, turn: &Turn) -> String {
    messages(dialect, turn.role(), turn.parts()).join(",")
}

/// The messages that a turn of `role` with `parts` is.
pub(super) fn messages(dialect: Dialect, role: Role, parts: &[Part]) -> Vec<String> {
    match dialect {
        Dialect::Anthropic => anthropic(role, parts).into_iter().collect(),
        Dialect::Chat => chat(role, parts),
        Dialect::Responses => responses(role, parts),
    }
}

fn anthropic(role: Role, parts: &[Part]) -> Option<String> {
    let mut blocks: Vec<String> = Vec::new();
    // Results stand first: the provider refuses them after text.
    let (results, others): (Vec<_>, Vec<_>) = parts
        .iter()
        .partition(|part| matches!(part, Part::Result(_)) && role != Role::Assistant);
    for part in results.into_iter().chain(others) {
        match part {
            Part::Result(result) if role != Role::Assistant => {
                blocks.push(anthropic_result(result));
            }
            Part::Call(call) if role == Role::Assistant => blocks.push(anthropic_call(call)),
            other => blocks.extend(
                as_text(other)
                    .map(|text| Object::new().text("type", "text").text("text", &text).end()),
            ),
        }
    }
    let name = match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::User | Role::Tool | Role::Other => "user",
    };
    (!blocks.is_empty()).then(|| {
        Object::new()
            .text("role", name)
            .raw("content", &list(blocks))
            .end()
    })
}

fn anthropic_call(call: &ToolCall) -> String {
    Object::new()
        .text("type", "tool_use")
        .text("id", &wire_id(Dialect::Anthropic, call.id.as_str()))
        .text("name", &tool_name(&call.name))
        .raw("input", &arguments_object(&call.arguments))
        .end()
}

fn anthropic_result(result: &ToolResult) -> String {
    let id = wire_id(Dialect::Anthropic, result.call.as_str());
    let object = Object::new()
        .text("type", "tool_result")
        .text("tool_use_id", &id)
        .text("content", &result.text);
    match result.outcome {
        Outcome::Succeeded => object.end(),
        Outcome::Failed => object.raw("is_error", "true").end(),
    }
}

fn chat(role: Role, parts: &[Part]) -> Vec<String> {
    let mut out = Vec::new();
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            Part::Result(result) if role != Role::Assistant => out.push(
                Object::new()
                    .text("role", "tool")
                    .text(
                        "tool_call_id",
                        &wire_id(Dialect::Chat, result.call.as_str()),
                    )
                    .text("content", &result.text)
                    .end(),
            ),
            Part::Call(call) if role == Role::Assistant => calls.push(chat_call(call)),
            other => texts.extend(as_text(other)),
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return out;
    }
    let content = match texts.as_slice() {
        [] => "null".to_owned(),
        [text] => quoted(text),
        several => list(
            several
                .iter()
                .map(|text| Object::new().text("type", "text").text("text", text).end()),
        ),
    };
    let name = match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::User | Role::Tool | Role::Other => "user",
    };
    let mut message = Object::new().text("role", name).raw("content", &content);
    if !calls.is_empty() {
        message = message.raw("tool_calls", &list(calls));
    }
    out.push(message.end());
    out
}

fn chat_call(call: &ToolCall) -> String {
    let function = Object::new()
        .text("name", &tool_name(&call.name))
        .text("arguments", &call.arguments)
        .end();
    Object::new()
        .text("id", &wire_id(Dialect::Chat, call.id.as_str()))
        .text("type", "function")
        .raw("function", &function)
        .end()
}

fn responses(role: Role, parts: &[Part]) -> Vec<String> {
    let mut out = Vec::new();
    let mut texts = Vec::new();
    let (name, kind) = match role {
        Role::Assistant => ("assistant", "output_text"),
        Role::System => ("developer", "input_text"),
        Role::User | Role::Tool | Role::Other => ("user", "input_text"),
    };
    let flush = |texts: &mut Vec<String>, out: &mut Vec<String>| {
        if !texts.is_empty() {
            let message = Object::new().text("type", "message").text("role", name);
            out.push(message.raw("content", &list(texts.drain(..))).end());
        }
    };
    for part in parts {
        let item = match part {
            Part::Result(result) if role != Role::Assistant => Object::new()
                .text("type", "function_call_output")
                .text(
                    "call_id",
                    &wire_id(Dialect::Responses, result.call.as_str()),
                )
                .text("output", &result.text)
                .end(),
            Part::Call(call) if role == Role::Assistant => Object::new()
                .text("type", "function_call")
                .text("call_id", &wire_id(Dialect::Responses, call.id.as_str()))
                .text("name", &tool_name(&call.name))
                .text("arguments", &call.arguments)
                .end(),
            other => {
                texts.extend(
                    as_text(other)
                        .map(|text| Object::new().text("type", kind).text("text", &text).end()),
                );
                continue;
            }
        };
        flush(&mut texts, &mut out);
        out.push(item);
    }
    flush(&mut texts, &mut out);
    out
}

/// A part as plain text, where it is shown at all.
pub(super) fn as_text(part: &Part) -> Option<String> {
    let text = match part {
        Part::Text(text) => text.to_string(),
        Part::Thinking(_) => return None,
        Part::Call(call) => format!("[call {} of {}: {}]", call.id, call.name, call.arguments),
        Part::Result(result) => format!("[result of call {}] {}", result.call, result.text),
        Part::Attachment(attachment) => {
            format!(
                "[{}, {} bytes, left out]",
                attachment.kind, attachment.bytes
            )
        }
        Part::Opaque(opaque) => format!("[{}, {} bytes, left out]", opaque.kind, opaque.bytes),
    };
    (!text.is_empty()).then_some(text)
}

/// `id` in the form that `dialect` takes. Anthropic allows letters, digits, `_` and `-` only; Chat
/// takes 40 bytes and Responses 64. What is too long becomes a hash, so that a call and its result
/// still agree.
pub(super) fn wire_id(dialect: Dialect, id: &str) -> String {
    let longest = match dialect {
        Dialect::Chat => 40,
        Dialect::Anthropic | Dialect::Responses => 64,
    };
    if id.is_empty() {
        return "call".to_owned();
    }
    if id.len() > longest {
        let hash = blake3::hash(id.as_bytes()).to_hex();
        return format!("call_{}", hash.get(..24).unwrap_or_default());
    }
    match dialect {
        Dialect::Anthropic => plain_name(id),
        Dialect::Chat | Dialect::Responses => id.to_owned(),
    }
}

/// A tool's name with the letters that all providers take, 64 at most.
fn tool_name(name: &str) -> String {
    let mut name = plain_name(name);
    name.truncate(64);
    if name.is_empty() {
        name.push_str("tool");
    }
    name
}

fn plain_name(name: &str) -> String {
    let plain = |character: char| {
        let keep = character.is_ascii_alphanumeric() || character == '_' || character == '-';
        if keep { character } else { '_' }
    };
    name.chars().map(plain).collect()
}

/// Arguments as the JSON object that Anthropic asks for: as they are where they are one, else under
/// the key `input`.
fn arguments_object(arguments: &str) -> String {
    let is_object =
        Tree::parse(arguments, DEEPEST).is_ok_and(|tree| tree.root().kind() == Kind::Object);
    if is_object {
        arguments.trim().to_owned()
    } else if arguments.trim().is_empty() {
        "{}".to_owned()
    } else {
        Object::new().text("input", arguments).end()
    }
}
