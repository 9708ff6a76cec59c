//! The turns that left the model's sight, and the way back to them.

use context::extract::receipt::{Kind, Receipt};
use context::recall::{self, Hit};
use context::{Role, Turn};
use serde_json::Value;
use wire::api::Request;

/// The number of losses that are kept for the note. Those that a pin says are not told.
const TOLD: usize = 8;

/// Returns true if a tool of this name is one of ours. Clients put the server's name in front of the tool's.
#[must_use]
pub fn is_ours(tool: &str) -> bool {
    tool.contains("ebbtide")
}

/// Returns true if a call's name is that of our tool `tool`, with or without a server's name in front.
#[must_use]
pub fn is_call_of(name: &str, tool: &str) -> bool {
    name.strip_suffix(tool).is_some_and(|server| {
        let last = server.chars().next_back();
        last.is_none_or(|last| !last.is_ascii_alphanumeric())
    })
}

/// Returns true if the client offers the model our tool of this name, at once or after a search for tools.
#[must_use]
pub(crate) fn offers(request: &Request<'_>, tool: &str) -> bool {
    let tools = request.tools();
    let searches = |search: &str| tools.as_ref().is_some_and(|it| it.value.contains(search));
    if searches(SEARCH) && is_deferred(request, tool) {
        return true;
    }
    if searches(CODEX_SEARCH) && is_found(request, tool) {
        return true;
    }
    let tools = tools
        .filter(|tools| is_ours(tools.value))
        .and_then(|tools| serde_json::from_str::<Value>(tools.value).ok());
    let named = |offered: &Value| {
        let function = offered.get("function").unwrap_or(offered);
        let Some(name) = function.get("name").and_then(Value::as_str) else {
            return false;
        };
        // Codex puts the tools of a server into a namespace with the server's name.
        let inside = offered.get("tools").and_then(Value::as_array);
        let is_inside = |other: &Value| other.get("name").and_then(Value::as_str) == Some(tool);
        let has = inside.is_some_and(|tools| tools.iter().any(is_inside));
        is_ours(name) && (has || is_call_of(name, tool))
    };
    tools
        .as_ref()
        .and_then(Value::as_array)
        .is_some_and(|tools| tools.iter().any(named))
}

/// Claude Code's tool that loads others.
const SEARCH: &str = r#""ToolSearch""#;

/// Codex's tool that does.
const CODEX_SEARCH: &str = r#""tool_search""#;

/// Returns true if a search of the model has found our tool.
fn is_found(request: &Request<'_>, tool: &str) -> bool {
    let name = format!(r#""{tool}""#);
    let messages = (0..request.len()).filter_map(|index| request.message(index));
    messages
        .filter(|message| message.role() == Role::Tool && message.contains("tool_search_output"))
        .any(|found| is_ours(found.raw()) && found.contains(&name))
}

/// Returns true if a message of the client lists our tool among those that a search loads: on a line of its own.
fn is_deferred(request: &Request<'_>, tool: &str) -> bool {
    let line = format!(r"ebbtide__{tool}\n");
    let first = (0..request.len()).filter_map(|index| request.message(index));
    first
        .take(LISTED)
        .any(|message| message.raw().contains(&line))
}

/// The number of messages at the beginning in which the client lists its tools.
const LISTED: usize = 2;

/// The receipt of what the first `cut` turns say and `front`, the text in front of the others, does not.
#[must_use]
pub fn lost(turns: &[Turn], cut: usize, front: &str) -> Receipt {
    match turns.split_at_checked(cut) {
        Some((old, tail)) if !old.is_empty() => Receipt::of(old, tail, front),
        _ => Receipt::default(),
    }
}

/// The decisions and requests of people that a summary of `old` with this text does not say: a line each, with a handle
/// in front. Results of tools are not quoted, because a note may stand in the operator's role.
#[must_use]
pub fn told(old: &[Turn], tail: &[Turn], summary: &str) -> Vec<String> {
    let is_told = |kind| matches!(kind, Kind::Constraint | Kind::Decision | Kind::OpenTask);
    let lost = Receipt::of(old, tail, summary).lost.into_iter();
    // "The user answered" introduces the result of a tool, and the tool may have made it up.
    lost.filter(|loss| is_told(loss.kind) && !loss.text.starts_with("the user answered"))
        .take(TOLD)
        .map(|loss| format!("{} {}: {}", loss.handle(), loss.kind, loss.text))
        .collect()
}

/// The places of a conversation that say most of a query. Results of our own tools are left out.
#[must_use]
pub fn recall(turns: &[Turn], query: &str, most: usize) -> Vec<Hit> {
    recall::recall(turns, query, most, &is_ours)
}

#[cfg(test)]
mod tests {
    use wire::api::{Dialect, Request};

    use super::{is_call_of, offers};

    #[test]
    fn a_tool_is_known_with_and_without_its_server() {
        assert!(is_call_of("mcp__ebbtide__pin", "pin"));
        assert!(is_call_of("pin", "pin"));
        assert!(!is_call_of("mcp__ebbtide__unpin", "pin"));
    }

    #[test]
    fn a_tool_is_offered_at_once_or_after_a_search() {
        let check = |tools: &str, said: &str, offered: bool| {
            let body = format!(
                r#"{{"tools":[{{"name":"{tools}"}}],"messages":[{{"role":"user","content":"{said}"}}]}}"#
            );
            let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
            assert_eq!(offers(&request, "expand"), offered, "{body}");
        };
        let listed = r"available:\nmcp__ebbtide__expand\nmcp__ebbtide__lost\n";
        check("mcp__ebbtide__expand", "Hello.", true);
        check("mcp__other__expand", "Hello.", false);
        check("ToolSearch", listed, true);
        check("ToolSearch", "What does ebbtide__expand do?", false);
        check("Read", listed, false);
        let body = r#"{"tools":[{"type":"namespace","name":"mcp__ebbtide","tools":[{"name":"expand"}]}],"input":"Hello."}"#;
        let request = Request::parse(Dialect::Responses, body.as_bytes()).unwrap();
        assert!(offers(&request, "expand") && !offers(&request, "lost"));
        let found = r#"{"tools":[{"type":"tool_search"}],"input":[{"type":"tool_search_call","call_id":"a","arguments":{}},{"type":"tool_search_output","call_id":"a","tools":[{"type":"namespace","name":"mcp__ebbtide","tools":[{"name":"expand"}]}]}]}"#;
        let request = Request::parse(Dialect::Responses, found.as_bytes()).unwrap();
        assert!(offers(&request, "expand") && !offers(&request, "lost"));
    }
}
