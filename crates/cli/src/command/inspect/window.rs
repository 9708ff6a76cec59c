//! `ebbtide inspect --at`: the window at one turn, and how it is made to fit.

use std::sync::Arc;

use context::archive::MemoryArchive;
use context::classify::Seed;
use context::extract::Extractive;
use context::projector::{ContextProjector, TargetOutcome};
use context::quality::reconstruction_error;
use context::window::ContextWindow;
use context::{Pressure, TokenCounter, Tokens, Turn};
use lab::figures;
use wire::session::Session;

use crate::console::Console;
use crate::failure::Failure;

/// The window of a session that names no size.
pub(super) const LIMIT: Tokens = Tokens::new(200_000);

/// The part of a session to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Focus {
    /// The turn in focus.
    pub at: usize,
    /// The number of turns shown on each side of it; `None`: all.
    pub around: Option<usize>,
    /// The size that the window is made to fit.
    pub fit: Option<Tokens>,
    /// The newest tokens that stay verbatim then.
    pub keep: Tokens,
    /// All that the user sends is preserved, not only what the user demands.
    pub all_words: bool,
}

/// Prints the window up to turn `at`: each turn with its role, kind, class and tokens. With a size, it
/// is made to fit: droppable turns leave first, required ones are summarised, preserved ones stay.
pub(super) fn print(
    session: &Session,
    place: Focus,
    counter: &dyn TokenCounter,
    console: &mut Console,
) -> Result<(), Failure> {
    let turns = session.turns.len();
    if place.at > turns {
        console.note(format!(
            "The session has {}: this is the window at its end.",
            figures::plural(turns, "turn")
        ));
    }
    let limit = place.fit.unwrap_or(LIMIT);
    let said = match place.around {
        Some(around) => place.at.saturating_add(around),
        None => place.at,
    };
    let turns = session.turns.iter().take(said).cloned();
    let whole = if place.all_words {
        ContextWindow::from_turns(limit, Arc::new(Seed), turns)
    } else {
        conversation::window::of(limit, turns, &[])
    };
    let shown = match place.fit {
        Some(target) => {
            let projector = ContextProjector::new(&Extractive, counter).keep_recent(place.keep);
            fitted(&whole, target, &projector, console)?
        }
        None => whole,
    };
    let focus = shown.seek(place.at);
    let (from, to) = match place.around {
        Some(around) => (
            focus.seeks(|at| at.saturating_sub(around)),
            focus.seeks(|at| at.saturating_add(around)),
        ),
        None => (focus.seek(0), focus.seek(focus.len())),
    };
    // Line 0 is the size of the window; line `n` is the turn at position `n`.
    for (position, line) in focus.outline().to_string().lines().enumerate() {
        if position == 0 || (from.position()..=to.position()).contains(&position) {
            console.line(line)?;
        }
    }
    let droppable = shown.linearity().stats().droppable_ratio();
    console.note(format!(
        "{} of the turns may go",
        figures::percent(droppable)
    ));
    Ok(())
}

/// The window at the size that was asked for, and what that took.
fn fitted(
    whole: &ContextWindow,
    target: Tokens,
    projector: &ContextProjector<'_>,
    console: &mut Console,
) -> Result<ContextWindow, Failure> {
    if let Some(turn) = full_at(whole) {
        console.note(format!("the window is full at turn {turn}"));
    }
    let mut archive = MemoryArchive::new();
    let Ok(done) = projector.compress(whole, target, &mut archive) else {
        return Ok(whole.clone());
    };
    if done.outcome != TargetOutcome::Unchanged {
        let lost = reconstruction_error(&words(whole), &words(&done.window));
        let behind = done.window.compacted();
        let summary = behind.and_then(|behind| {
            let mut turns = done.window.turns();
            turns.position(|turn| turn.id() == behind.stand_in())
        });
        let place = summary.map_or(String::new(), |at| {
            format!(" (turn {} stands for them)", at + 1)
        });
        console.note(format!(
            "{} left out, {} summarized{place}, {} kept in full; {} of the size before, {} of the \
             words in their order",
            figures::plural(done.dropped.len(), "turn"),
            done.summarised.len(),
            done.preserved,
            figures::percent(done.ratio()),
            figures::percent(1.0 - lost),
        ));
    }
    if done.outcome == TargetOutcome::Unreachable {
        console.note("the turns that must stay do not fit");
    }
    Ok(done.window)
}

/// The first turn with which the window is over its limit.
fn full_at(whole: &ContextWindow) -> Option<usize> {
    let full = Pressure::new(1.0)?;
    if !whole.is_above(full) {
        return None;
    }
    let over = |here: ContextWindow| {
        let tokens = here.turns_up_to(here.position()).map(Turn::tokens).sum();
        Pressure::of(tokens, here.limit()) > full
    };
    whole.duplicate().values().position(over)
}

fn words(window: &ContextWindow) -> String {
    let texts: Vec<String> = window.turns().map(Turn::readable).collect();
    texts.join("\n")
}
