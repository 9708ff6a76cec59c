//! Chat messages as turns.

use context::turn::Outcome;
use context::{Part, Role, Text, TurnDraft};

use crate::api::json::tree::{Tree, Value};
use crate::api::parts;

/// The role that `role` names.
pub(super) fn role(_: Option<&str>, role: Option<&str>) -> Role {
    match role {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool" | "function") => Role::Tool,
        _ => Role::Other,
    }
}

/// The turn that `message` is.
pub(super) fn draft(role: Role, elements: &[Tree<'_>]) -> TurnDraft {
    parts::one(role, elements, |message| {
        let mut out = Vec::new();
        if role == Role::Tool {
            push_result(&mut out, message);
        } else {
            push_said(&mut out, message);
        }
        TurnDraft::said(role, out)
    })
}

/// The content of a tool's message.
pub(super) fn results(message: Value<'_>) -> Vec<Option<Value<'_>>> {
    match role(None, message.get_text("role").as_deref()) {
        Role::Tool => vec![message.get("content")],
        _ => Vec::new(),
    }
}

/// The legacy `function` role answers by name; there the name stands in for the call's id.
fn push_result(out: &mut Vec<Part>, message: Value<'_>) {
    let key = if message.get("tool_call_id").is_some() {
        "tool_call_id"
    } else {
        "name"
    };
    let (text, others) = parts::flatten(message.get("content"), binary_or_opaque);
    let id = parts::text_of(message, key);
    out.push(parts::result(&id, text, Outcome::Succeeded));
    out.extend(others);
}

/// Reasoning (two spellings, both outside OpenAI's own API), content, refusal, calls.
pub(super) fn push_said(out: &mut Vec<Part>, message: Value<'_>) {
    let reasoning = message
        .get_text("reasoning_content")
        .or_else(|| message.get_text("reasoning"));
    if let Some(reasoning) = reasoning.filter(|text| !text.is_empty()) {
        out.push(Part::Thinking(Text::from(&*reasoning)));
    }
    if let Some(content) = message.get("content") {
        parts::push_content(out, content, push_block);
    }
    if let Some(refusal) = message.get_text("refusal") {
        parts::push_text(out, &refusal);
    }
    if let Some(audio) = message.get("audio").filter(|audio| !audio.is_null()) {
        out.push(parts::attachment(audio, "audio"));
    }
    for call in message
        .get("tool_calls")
        .into_iter()
        .flat_map(Value::elements)
    {
        push_call(out, call);
    }
    if let Some(function) = message.get("function_call").filter(|call| !call.is_null()) {
        let name = parts::text_of(function, "name");
        let arguments = parts::text_or_json(function, "arguments");
        out.push(parts::call(&name, name.clone(), arguments));
    }
}

fn push_block(out: &mut Vec<Part>, block: Value<'_>) {
    let refuses = block.get("type").is_some_and(|kind| kind.is("refusal"));
    let key = if refuses { "refusal" } else { "text" };
    match block.text().or_else(|| block.get_text(key)) {
        Some(text) => parts::push_text(out, &text),
        None => out.push(binary_or_opaque(block)),
    }
}

fn push_call(out: &mut Vec<Part>, call: Value<'_>) {
    let id = parts::text_of(call, "id");
    let body = call.get("function").map(|function| (function, "arguments"));
    let body = body.or_else(|| call.get("custom").map(|custom| (custom, "input")));
    out.push(match body {
        Some((body, arguments)) => parts::call(
            &id,
            parts::text_of(body, "name"),
            parts::text_or_json(body, arguments),
        ),
        None => parts::opaque(call),
    });
}

fn binary_or_opaque(part: Value<'_>) -> Part {
    let kind = part.get_text("type").unwrap_or_default();
    match &*kind {
        "image_url" => {
            let image = part.get("image_url");
            let url = image.and_then(|image| image.get_text("url").or_else(|| image.text()));
            parts::image(part, url.as_deref())
        }
        "input_audio" => parts::attachment(part, "audio"),
        "file" => parts::attachment(part, "file"),
        _ => parts::opaque(part),
    }
}
