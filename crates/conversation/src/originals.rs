//! What left the model's sight, and the way back to it.

use context::Turn;
use context::extract::receipt::Receipt;
use context::recall::{self, Hit};

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

/// The receipt of what the first `cut` turns say and `front`, the text in front of the others, does not.
#[must_use]
pub fn lost(turns: &[Turn], cut: usize, front: &str) -> Receipt {
    match turns.split_at_checked(cut) {
        Some((old, tail)) if !old.is_empty() => Receipt::of(old, tail, front),
        _ => Receipt::default(),
    }
}

/// The places of a conversation that say most of a query. What our own tools returned is left out.
#[must_use]
pub fn recall(turns: &[Turn], query: &str, most: usize) -> Vec<Hit> {
    recall::recall(turns, query, most, &is_ours)
}
