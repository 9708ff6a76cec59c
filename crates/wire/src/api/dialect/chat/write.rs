//! Turns as Chat messages.

use context::turn::ToolCall;
use context::{Part, Role};

use crate::api::Dialect::Chat;
use crate::api::json::write::{Object, list, quoted};
use crate::api::render::{as_text, text_block, tool_name, wire_id};

pub(super) fn write(role: Role, parts: &[Part]) -> Vec<String> {
    let mut out = Vec::new();
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for part in parts {
        match part {
            Part::Result(result) if role != Role::Assistant => out.push(
                Object::new()
                    .text("role", "tool")
                    .text("tool_call_id", &wire_id(Chat, result.call.as_str()))
                    .text("content", &result.text)
                    .end(),
            ),
            Part::Call(call) if role == Role::Assistant => calls.push(written_call(call)),
            other => texts.extend(as_text(other)),
        }
    }
    if texts.is_empty() && calls.is_empty() {
        return out;
    }
    let content = match texts.as_slice() {
        [] => "null".to_owned(),
        [text] => quoted(text),
        several => list(several.iter().map(|text| text_block("text", text))),
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

fn written_call(call: &ToolCall) -> String {
    let function = Object::new()
        .text("name", &tool_name(&call.name))
        .text("arguments", &call.arguments)
        .end();
    Object::new()
        .text("id", &wire_id(Chat, call.id.as_str()))
        .text("type", "function")
        .raw("function", &function)
        .end()
}
