//! The first line of a shortened result: what is missing and how to get it.

use serde_json::{Value, json};

use super::Recovery;
use crate::note::grouped;
use crate::turn::{ToolCall, ToolResult};
use crate::units::Tokens;

/// The beginning of every marker.
const OPENING: &str = "[shortened tool result ";

/// Arguments longer than this many bytes are not repeated; the id has to do.
const MAX_ARGUMENTS: usize = 400;

/// The contents of a marker.
pub(super) struct Marker<'a> {
    id: String,
    call: Option<&'a ToolCall>,
    before: Tokens,
    recovery: Recovery<'a>,
}

impl<'a> Marker<'a> {
    pub(super) fn new(
        result: &ToolResult,
        call: Option<&'a ToolCall>,
        before: Tokens,
        recovery: Recovery<'a>,
    ) -> Self {
        Self {
            id: quoted(result.call.as_str()),
            call,
            before,
            recovery,
        }
    }

    /// The marker line for a result of which `shown` tokens are left, with its line feed.
    pub(super) fn line(&self, shown: Tokens) -> String {
        let call = self.call.and_then(repeated);
        let how = match (self.recovery, call) {
            (Recovery::Expand(id), None) => format!("use expand with the id {}", quoted(id)),
            (Recovery::Expand(id), Some(call)) => {
                let id = quoted(id);
                format!("use expand with the id {id}, or run the same call again: {call}")
            }
            (Recovery::CallAgain, Some(call)) => format!("run the same call again: {call}"),
            (Recovery::CallAgain, None) => "run the same call again".to_owned(),
        };
        format!(
            "{OPENING}{}: about {} of {} tokens are shown; for the whole {how}]\n",
            self.id,
            grouped(shown.get()),
            grouped(self.before.get()),
        )
    }
}

/// Returns true if a result is one that [`shrink`](super::shrink) made: it begins with a marker that names the
/// call it answers. A text that merely quotes some marker does not know that id, and is shortened
/// like any other.
#[must_use]
pub fn is_shrunk(result: &ToolResult) -> bool {
    result
        .text
        .strip_prefix(OPENING)
        .and_then(|rest| rest.strip_prefix(&quoted(result.call.as_str())))
        .is_some_and(|rest| rest.starts_with(": about "))
}

/// A call as one line of JSON, where its arguments are short: object arguments as they are, free
/// text as a string.
fn repeated(call: &ToolCall) -> Option<String> {
    if call.arguments.len() > MAX_ARGUMENTS {
        return None;
    }
    let arguments: Value = serde_json::from_str(&call.arguments)
        .unwrap_or_else(|_| Value::from(call.arguments.as_str()));
    Some(json!({ "name": call.name.as_str(), "arguments": arguments }).to_string())
}

/// Quotes an id as a JSON string, so that it stays on the line. Long ids are cut: they come
/// from a client and are not ours to trust.
fn quoted(id: &str) -> String {
    let short: String = id.chars().take(128).collect();
    Value::from(short).to_string()
}
