//! A conversation as a window of [`context`]: its turns with their classes.
//!
//! A conversation in memory holds no words, so a window is made where the words are: of the turns of a request, of
//! the store or of a session.

use std::sync::Arc;

use context::classify::{Classes, Demands};
use context::linearity::ResourceClass;
use context::window::ContextWindow;
use context::{Role, Tokens, Turn};
use history::Pinned;

/// The window of these turns, for `limit` tokens, focused on the last. The turns that `pins` were said in are
/// preserved.
#[must_use]
pub fn of(limit: Tokens, turns: impl IntoIterator<Item = Turn>, pins: &[Pinned]) -> ContextWindow {
    let classifier = Arc::new(Demands::default());
    let whole = ContextWindow::from_turns(limit, classifier, turns);
    let said_in = pins.iter().filter_map(|pinned| pinned.said_in);
    said_in.fold(whole, |window, turn| {
        let preserved = ResourceClass::Preserved;
        window.promote(turn, preserved, "pinned").unwrap_or(window)
    })
}

/// The number of turns at the beginning that may leave a view without a summary: those that are droppable, and system
/// turns, which stay in front. Looks at no turn behind the first that may not.
#[must_use]
pub fn droppable(limit: Tokens, turns: &[Turn]) -> usize {
    let mut classes = Classes::new(limit, Arc::new(Demands::default()));
    let may_leave = |turn: &Turn| {
        let class = classes.push(turn);
        turn.role() == Role::System || class == ResourceClass::Droppable
    };
    let stays = turns.iter().map(may_leave).position(|may| !may);
    stays.unwrap_or(turns.len())
}
