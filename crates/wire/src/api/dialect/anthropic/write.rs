//! Turns as Anthropic messages.

use context::turn::{Outcome, ToolCall, ToolResult};
use context::{Part, Role};

use crate::api::Dialect::Anthropic;
use crate::api::json::scan::Kind;
use crate::api::json::tree::Tree;
use crate::api::json::write::{Object, list};
use crate::api::limits::DEEPEST;
use crate::api::render::{as_text, text_block, tool_name, wire_id};

pub(super) fn write(role: Role, parts: &[Part]) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    // Results stand first: the provider refuses them after text.
    let (results, others): (Vec<_>, Vec<_>) = parts
        .iter()
        .partition(|part| matches!(part, Part::Result(_)) && role != Role::Assistant);
    for part in results.into_iter().chain(others) {
        match part {
            Part::Result(result) if role != Role::Assistant => blocks.push(written_result(result)),
            Part::Call(call) if role == Role::Assistant => blocks.push(written_call(call)),
            other => blocks.extend(as_text(other).map(|text| text_block("text", &text))),
        }
    }
    let name = match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::User | Role::Tool | Role::Other => "user",
    };
    if blocks.is_empty() {
        return Vec::new();
    }
    let message = Object::new().text("role", name);
    vec![message.raw("content", &list(&blocks)).end()]
}

fn written_call(call: &ToolCall) -> String {
    Object::new()
        .text("type", "tool_use")
        .text("id", &wire_id(Anthropic, call.id.as_str()))
        .text("name", &tool_name(&call.name))
        .raw("input", &arguments_object(&call.arguments))
        .end()
}

fn written_result(result: &ToolResult) -> String {
    let object = Object::new()
        .text("type", "tool_result")
        .text("tool_use_id", &wire_id(Anthropic, result.call.as_str()))
        .text("content", &result.text);
    match result.outcome {
        Outcome::Succeeded => object.end(),
        Outcome::Failed => object.raw("is_error", "true").end(),
    }
}

/// Arguments as the JSON object that Anthropic asks for: unchanged where they are one, else under
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
