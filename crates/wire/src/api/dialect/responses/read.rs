//! Responses items as turns.

use context::turn::Outcome;
use context::{Part, Role, Text, TurnDraft};

use crate::api::json::scan::Kind;
use crate::api::json::tree::{Tree, Value};
use crate::api::parts;
use crate::api::portion::{FOUND, SEARCH};

/// The role of an item by its `type` and `role`. Items that the model made are the assistant's,
/// answers to its calls are a tool's.
pub(super) fn role(kind: Option<&str>, role: Option<&str>) -> Role {
    match kind {
        None | Some("message") => match role {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system" | "developer") => Role::System,
            _ => Role::Other,
        },
        Some("reasoning" | "compaction" | "mcp_list_tools" | "mcp_approval_request") => {
            Role::Assistant
        }
        Some("mcp_approval_response") => Role::User,
        Some(kind) if kind.ends_with("_output") => Role::Tool,
        Some(kind) if kind.ends_with("_call") => Role::Assistant,
        Some(_) => Role::Other,
    }
}

/// The turn that consecutive items of one side are.
pub(super) fn draft(role: Role, items: &[Tree<'_>]) -> TurnDraft {
    let mut out = Vec::new();
    for item in items {
        push_item(&mut out, item.root());
    }
    TurnDraft::said(role, out)
}

/// The output of a call that the client answered.
pub(super) fn results(item: Value<'_>) -> Vec<Option<Value<'_>>> {
    let kind = item.get_text("type").unwrap_or_default();
    if kind.ends_with("_call_output") {
        vec![item.get("output")]
    } else {
        Vec::new()
    }
}

/// Calls that the client answers: the item's type, the name where the item has none, the key of
/// the arguments.
const CALLS: [(&str, &str, &str); 7] = [
    ("function_call", "", "arguments"),
    ("custom_tool_call", "", "input"),
    ("local_shell_call", "local_shell", "action"),
    ("shell_call", "shell", "action"),
    ("apply_patch_call", "apply_patch", "operation"),
    ("computer_call", "computer", "action"),
    (SEARCH, "tool_search", "arguments"),
];

/// Returns `true` for a call that the client answers. The provider's own search for tools has no call ID.
pub(super) fn is_call(item: Value<'_>) -> bool {
    let kind = item.get_text("type").unwrap_or_default();
    let by_client = kind != SEARCH || item.get("call_id").is_some_and(|id| id.text().is_some());
    by_client && CALLS.iter().any(|(call, _, _)| *call == kind)
}

pub(super) fn push_item(out: &mut Vec<Part>, item: Value<'_>) {
    let kind = item.get_text("type").unwrap_or_default();
    let form = CALLS.iter().find(|(call, _, _)| *call == kind);
    if let Some((_, name, arguments)) = form.filter(|_| is_call(item)) {
        let own = parts::called(item);
        let name = if own.is_empty() {
            Text::from(*name)
        } else {
            own
        };
        let arguments = parts::text_or_json(item, arguments);
        out.push(parts::call(&call_id(item), name, arguments));
        return;
    }
    match &*kind {
        "" | "message" if item.kind() == Kind::Object => {
            if let Some(content) = item.get("content") {
                parts::push_content(out, content, push_block);
            }
        }
        "reasoning" => push_reasoning(out, item),
        kind if kind.ends_with("_call_output") => {
            let (text, others) = parts::flatten(item.get("output"), binary_or_opaque);
            out.push(parts::result(&call_id(item), text, Outcome::Succeeded));
            out.extend(others);
        }
        FOUND if item.get("call_id").is_some_and(|id| id.text().is_some()) => {
            out.push(parts::result(
                &call_id(item),
                Text::default(),
                Outcome::Succeeded,
            ));
            out.push(parts::opaque(item));
        }
        _ => out.push(parts::opaque(item)),
    }
}

fn call_id(item: Value<'_>) -> Text {
    let id = parts::text_of(item, "call_id");
    if id.is_empty() {
        parts::text_of(item, "id")
    } else {
        id
    }
}

/// Readable reasoning (`content`, else the `summary`) as thinking; encrypted reasoning as it is.
fn push_reasoning(out: &mut Vec<Part>, item: Value<'_>) {
    let read = |key| parts::flatten(item.get(key), binary_or_opaque).0;
    let (content, summary) = (read("content"), read("summary"));
    let readable = if content.is_empty() { summary } else { content };
    if !readable.is_empty() {
        out.push(Part::Thinking(readable));
    }
    match item
        .get("encrypted_content")
        .filter(|value| !value.is_null())
    {
        Some(sealed) => out.push(parts::opaque_of(sealed, "reasoning")),
        None if out.is_empty() => out.push(parts::opaque(item)),
        None => {}
    }
}

fn push_block(out: &mut Vec<Part>, block: Value<'_>) {
    let text = block.get_text("text").or_else(|| block.get_text("refusal"));
    match block.text().or(text) {
        Some(text) => parts::push_text(out, &text),
        None => out.push(binary_or_opaque(block)),
    }
}

fn binary_or_opaque(part: Value<'_>) -> Part {
    let kind = part.get_text("type").unwrap_or_default();
    match &*kind {
        "input_image" | "computer_screenshot" => {
            parts::image(part, part.get_text("image_url").as_deref())
        }
        "input_file" => parts::attachment(part, "file"),
        "input_audio" => parts::attachment(part, "audio"),
        _ => parts::opaque(part),
    }
}
