//! The report of a conversation's turns.

use std::ops::Range;

use serde::Serialize;

use super::Line;

/// The turns that are wanted of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnsWanted {
    /// Only turns that contain this text, ignoring case; empty for all.
    pub find: String,
    /// The index of the first turn, from 0.
    pub from: usize,
    /// The most turns.
    pub most: usize,
}

/// Turns of a conversation as they were said.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Turns {
    /// The conversation's entry of the list.
    pub line: Line,
    /// The number of turns of the conversation.
    pub all: usize,
    /// The turns, oldest first.
    pub turns: Vec<Said>,
    /// The result of the search, if there was one.
    pub found: Option<Matches>,
    /// Where the turns before these begin.
    pub earlier: Option<usize>,
    /// Where the turns after these begin.
    pub later: Option<usize>,
}

/// A turn as it was said.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Said {
    /// The index in the conversation, from 0.
    pub index: usize,
    /// The role: `system`, `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// The time, RFC 3339, where it is known.
    pub at: Option<String>,
    /// The size of the turn.
    pub tokens: u64,
    /// The state in the model's view: `shown`, `summarized`, `left out` or `cleared` (its results).
    pub seen: &'static str,
    /// The text, including tool calls and results.
    pub text: String,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Matches {
    /// The number of places.
    pub places: usize,
    /// The number of turns with such places.
    pub turns: usize,
    /// The turns that were searched. One search reads only so much.
    pub searched: Range<usize>,
}
