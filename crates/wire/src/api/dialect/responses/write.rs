//! Turns as Responses items.

use context::{Part, Role};

use crate::api::Dialect::Responses;
use crate::api::json::write::{Object, list};
use crate::api::render::{as_text, text_block, tool_name, wire_id};

pub(super) fn write(role: Role, parts: &[Part]) -> Vec<String> {
    let mut out = Vec::new();
    let mut texts = Vec::new();
    let name = match role {
        Role::Assistant => "assistant",
        Role::System => "developer",
        Role::User | Role::Tool | Role::Other => "user",
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
                .text("call_id", &wire_id(Responses, result.call.as_str()))
                .text("output", &result.text)
                .end(),
            Part::Call(call) if role == Role::Assistant => Object::new()
                .text("type", "function_call")
                .text("call_id", &wire_id(Responses, call.id.as_str()))
                .text("name", &tool_name(&call.name))
                .text("arguments", &call.arguments)
                .end(),
            other => {
                let kind = super::text_type(role);
                texts.extend(as_text(other).map(|text| text_block(kind, &text)));
                continue;
            }
        };
        flush(&mut texts, &mut out);
        out.push(item);
    }
    flush(&mut texts, &mut out);
    out
}
