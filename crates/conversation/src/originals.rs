//! What left the model's sight, and the way back to it.

use context::Turn;
use context::extract::receipt::{Kind, Receipt};
use context::recall::{self, Hit};
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

/// Returns true if the client offers the model our tool of this name.
#[must_use]
pub(crate) fn offers(request: &Request<'_>, tool: &str) -> bool {
    let tools = request
        .tools()
        .filter(|tools| is_ours(tools.value))
        .and_then(|tools| serde_json::from_str::<Value>(tools.value).ok());
    let named = |offered: &Value| {
        let function = offered.get("function").unwrap_or(offered);
        let name = function.get("name").and_then(Value::as_str);
        name.is_some_and(|name| is_ours(name) && is_call_of(name, tool))
    };
    tools
        .as_ref()
        .and_then(Value::as_array)
        .is_some_and(|tools| tools.iter().any(named))
}

/// The receipt of what the first `cut` turns say and `front`, the text in front of the others, does not.
#[must_use]
pub fn lost(turns: &[Turn], cut: usize, front: &str) -> Receipt {
    match turns.split_at_checked(cut) {
        Some((old, tail)) if !old.is_empty() => Receipt::of(old, tail, front),
        _ => Receipt::default(),
    }
}

/// What people decided and asked for, and a summary of `old` with this text does not say: a line each, with a handle
/// in front. What tools returned is not quoted, because a note may stand in the operator's role.
#[must_use]
pub fn told(old: &[Turn], tail: &[Turn], summary: &str) -> Vec<String> {
    let is_told = |kind| matches!(kind, Kind::Constraint | Kind::Decision | Kind::OpenTask);
    let lost = Receipt::of(old, tail, summary).lost.into_iter();
    lost.filter(|loss| is_told(loss.kind))
        .take(TOLD)
        .map(|loss| format!("{} {}: {}", loss.handle(), loss.kind, loss.text))
        .collect()
}

/// The places of a conversation that say most of a query. What our own tools returned is left out.
#[must_use]
pub fn recall(turns: &[Turn], query: &str, most: usize) -> Vec<Hit> {
    recall::recall(turns, query, most, &is_ours)
}
