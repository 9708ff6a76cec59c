//! The task list that an agent keeps by a tool.

use super::source::{Origin, Piece};

/// The open items of the list.
#[derive(Debug, Default)]
pub(super) struct Todo {
    /// Begun and not finished.
    pub doing: Vec<String>,
    /// Not begun.
    pub pending: Vec<String>,
}

/// The newest list that a call writes: an array under `todos` or `plan` whose items have a `status`
/// and a `content`, `step` or `title`.
pub(super) fn state(pieces: &[Piece<'_>]) -> Todo {
    pieces
        .iter()
        .rev()
        .filter(|piece| piece.origin == Origin::Call)
        .find_map(|piece| list(piece.raw))
        .unwrap_or_default()
}

fn list(arguments: &str) -> Option<Todo> {
    if !arguments.contains("\"status\"") {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(arguments).ok()?;
    let items = value
        .get("todos")
        .or_else(|| value.get("plan"))?
        .as_array()?;
    let mut todo = Todo::default();
    for item in items {
        let text = ["content", "step", "title"]
            .iter()
            .find_map(|name| item.get(name)?.as_str());
        let status = item.get("status").and_then(serde_json::Value::as_str);
        match (text, status) {
            (Some(text), Some("in_progress")) => todo.doing.push(text.to_owned()),
            (Some(text), Some("pending")) => todo.pending.push(text.to_owned()),
            _ => {}
        }
    }
    Some(todo)
}
