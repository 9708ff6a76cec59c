//! Anthropic messages as turns.

use context::turn::Outcome;
use context::{Part, Role, TurnDraft};

use crate::api::json::tree::{Tree, Value};
use crate::api::parts;

/// The role that `role` names.
pub(super) fn role(_: Option<&str>, role: Option<&str>) -> Role {
    match role {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => Role::Other,
    }
}

/// The turn that `message` is. A user message that holds nothing but tool results is a tool turn.
pub(super) fn draft(role: Role, elements: &[Tree<'_>]) -> TurnDraft {
    parts::one(role, elements, |message| {
        let content = message.get("content");
        let answers = role == Role::User && content.is_some_and(only_results);
        let role = if answers { Role::Tool } else { role };
        TurnDraft::said(role, content.map(content_parts).unwrap_or_default())
    })
}

/// The content of each tool result in a message.
pub(super) fn results(message: Value<'_>) -> Vec<Option<Value<'_>>> {
    let blocks = message.get("content").into_iter();
    blocks
        .flat_map(Value::elements)
        .filter(|block| block.get("type").is_some_and(|it| it.is("tool_result")))
        .map(|block| block.get("content"))
        .collect()
}

fn only_results(content: Value<'_>) -> bool {
    let mut blocks = content.elements().peekable();
    blocks.peek().is_some()
        && blocks.all(|block| block.get("type").is_some_and(|kind| kind.is("tool_result")))
}

/// The parts of a `content`: a string, a list of blocks, or something unknown.
pub(super) fn content_parts(content: Value<'_>) -> Vec<Part> {
    let mut out = Vec::new();
    parts::push_content(&mut out, content, push_block);
    out
}

fn push_block(out: &mut Vec<Part>, block: Value<'_>) {
    let kind = block.get_text("type").unwrap_or_default();
    match &*kind {
        "text" => match block.get_text("text") {
            Some(text) => parts::push_text(out, &text),
            None => out.push(parts::opaque(block)),
        },
        "thinking" => out.push(Part::Thinking(parts::text_of(block, "thinking"))),
        "tool_use" => {
            // Half an input of a stream that was cut is kept as a string.
            let input = match block.get("input") {
                Some(_) => parts::text_or_json(block, "input"),
                None => "{}".into(),
            };
            let id = parts::text_of(block, "id");
            out.push(parts::call(&id, parts::text_of(block, "name"), input));
        }
        "tool_result" => push_result(out, block),
        _ => out.push(binary_or_opaque(block)),
    }
}

/// The result, then whatever in it is not text.
fn push_result(out: &mut Vec<Part>, block: Value<'_>) {
    let failed = block.get("is_error").is_some_and(Value::is_true);
    let outcome = if failed {
        Outcome::Failed
    } else {
        Outcome::Succeeded
    };
    let (text, others) = parts::flatten(block.get("content"), binary_or_opaque);
    let id = parts::text_of(block, "tool_use_id");
    out.push(parts::result(&id, text, outcome));
    out.extend(others);
}

fn binary_or_opaque(block: Value<'_>) -> Part {
    let kind = block.get_text("type").unwrap_or_default();
    let media = block
        .get("source")
        .and_then(|source| source.get_text("media_type"));
    match &*kind {
        "image" => parts::attachment(block, media.as_deref().unwrap_or("image")),
        "document" => parts::attachment(block, "document"),
        _ => parts::opaque(block),
    }
}
