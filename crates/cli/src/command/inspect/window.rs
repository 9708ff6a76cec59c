//! `ebbtide inspect --at`: the window at one turn, and how it is made to fit.

use std::sync::Arc;

use context::archive::MemoryArchive;
use context::classify::Demands;
use context::extract::Extractive;
use context::projector::{ContextProjector, Outcome};
use context::window::ContextWindow;
use context::{Pressure, TokenCounter, Tokens};
use lab::figures;
use wire::session::Session;

use crate::console::Console;
use crate::failure::Failure;

/// The window of a session that names no size.
const LIMIT: Tokens = Tokens::new(200_000);

/// Prints the window up to turn `at`: each turn with its role, kind, class and tokens. With a size, it
/// is made to fit: droppable turns leave first, required ones are summarised, preserved ones stay.
pub(super) fn print(
    session: &Session,
    (at, fit): (usize, Option<Tokens>),
    counter: &dyn TokenCounter,
    console: &mut Console,
) -> Result<(), Failure> {
    let limit = fit.unwrap_or(LIMIT);
    let empty = ContextWindow::with_classifier(limit, Arc::new(Demands::default()));
    // A log may hold one message twice in one place; the window takes it once.
    let whole = session.turns.iter().take(at).fold(empty, |window, turn| {
        window.push(turn.clone()).unwrap_or(window)
    });
    let shown = match fit {
        Some(target) => fitted(&whole, target, counter, console)?,
        None => whole,
    };
    for line in shown.seek(at).outline().to_string().lines() {
        console.line(line)?;
    }
    Ok(())
}

/// The window at the size that was asked for, and what that took.
fn fitted(
    whole: &ContextWindow,
    target: Tokens,
    counter: &dyn TokenCounter,
    console: &mut Console,
) -> Result<ContextWindow, Failure> {
    let crossed = whole
        .extend(|here| {
            let tokens = here.turns_up_to(here.position()).map(context::Turn::tokens);
            Pressure::of(tokens.sum(), here.limit()).get() > 1.0
        })
        .values()
        .position(|over| over);
    if let Some(turn) = crossed {
        console.note(format!("the window is full at turn {turn}"));
    }
    let projector = ContextProjector::new(&Extractive, counter);
    let mut archive = MemoryArchive::new();
    let Ok(done) = projector.compress(whole, target, &mut archive) else {
        return Ok(whole.clone());
    };
    if done.outcome != Outcome::Unchanged {
        console.note(format!(
            "{} left out, {} summarized, {} kept in full; {} of the size before",
            figures::plural(done.dropped.len(), "turn"),
            done.summarised.len(),
            done.preserved,
            figures::percent(done.ratio()),
        ));
    }
    if done.outcome == Outcome::Unreachable {
        console.note("the turns that must stay do not fit");
    }
    Ok(done.window)
}
