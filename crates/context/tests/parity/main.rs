//! The checklist of `PARITY.md`, a test an item.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cp;
mod cw;
mod lm;
mod mdl;
mod pv;
mod table;

use std::sync::Arc;

use context::classify::Seed;
use context::window::ContextWindow;
use context::{Heuristic, Role, Tokens, Turn, TurnDraft};

/// An empty window under the classifier that the checklist assumes.
fn empty(limit: u64) -> ContextWindow {
    ContextWindow::with_classifier(Tokens::new(limit), Arc::new(Seed))
}

/// The same window with further turns, said one after the other.
fn append_all(
    window: &ContextWindow,
    drafts: impl IntoIterator<Item = TurnDraft>,
) -> ContextWindow {
    let append = |window: ContextWindow, draft| window.append(draft, &Heuristic);
    drafts.into_iter().fold(window.clone(), append)
}

/// A window in which these texts were said.
fn said(limit: u64, texts: &[(Role, &str)]) -> ContextWindow {
    let drafts = texts
        .iter()
        .map(|(role, text)| TurnDraft::text(*role, *text));
    append_all(&empty(limit), drafts)
}

/// The text of a turn, or `-` without one.
fn text(turn: Option<&Turn>) -> String {
    turn.map_or(String::from("-"), Turn::readable)
}

/// The texts of all turns.
fn texts(window: &ContextWindow) -> Vec<String> {
    window.turns().map(Turn::readable).collect()
}
