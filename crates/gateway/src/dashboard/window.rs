//! The page with the window at one turn.

use askama::Template;
use context::figures;

use super::Visit;
use super::overview::name;
use super::text::Folded;
use crate::report::{Placed, WindowAt};

/// Turns from one page to the next.
const STEP: usize = 20;
/// Characters of a turn shown above the fold.
const SHOWN: usize = 400;
/// The most characters of a turn in a page; its summary's page shows the whole.
const MOST: usize = 20_000;

/// Renders the turns around one turn of a conversation, with their classes.
pub fn window_page(found: &WindowAt, visit: &Visit) -> Result<String, askama::Error> {
    Page {
        visit,
        id: &found.line.id,
        name: name(&found.line),
        heading: match found.turns {
            0 => "No turns are stored yet".to_owned(),
            turns => format!(
                "The window at turn {} of {}",
                figures::count(found.at as u64),
                figures::count(turns as u64)
            ),
        },
        turns: found
            .around
            .iter()
            .map(|turn| Turn::of(turn, found))
            .collect(),
        earlier: (found.at > 1).then(|| found.at.saturating_sub(STEP).max(1)),
        later: (found.at < found.turns).then(|| (found.at + STEP).min(found.turns)),
    }
    .render()
}

#[derive(Template)]
#[template(path = "dashboard/window.html")]
struct Page<'a> {
    visit: &'a Visit,
    id: &'a str,
    name: String,
    heading: String,
    turns: Vec<Turn>,
    earlier: Option<usize>,
    later: Option<usize>,
}

struct Turn {
    title: String,
    role: &'static str,
    facts: String,
    text: Folded,
}

impl Turn {
    fn of(placed: &Placed, found: &WindowAt) -> Self {
        let focus = if placed.at == found.at { " (here)" } else { "" };
        let filled = context::Tokens::new(placed.filled);
        let share = filled.share_of(context::Tokens::new(found.line.gauge.window));
        let filled = match found.line.gauge.window {
            0 => String::new(),
            _ => format!(
                ", all up to here fill {} of the window",
                figures::percent(share)
            ),
        };
        let why = match placed.was {
            Some(was) => format!(" ({}, was {was})", placed.why),
            None if placed.why.is_empty() => String::new(),
            None => format!(" ({})", placed.why),
        };
        Self {
            title: format!("{}. {}{focus}", placed.at, placed.role),
            role: placed.role,
            facts: format!(
                "{}{why}, {} tokens{filled}",
                placed.class,
                figures::count(placed.tokens)
            ),
            text: Folded::new(&placed.text, SHOWN, MOST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::window_page;
    use crate::dashboard::tests::sample::{visit, window};

    #[test]
    fn it_shows_each_turn_with_its_class_and_leads_on() {
        let page = window_page(&window(30), &visit()).expect("renders");
        for part in [
            "The window at turn 30 of 60",
            "30. assistant (here)",
            "required (the user tells it), 12 tokens, all up to here fill",
            "required (the user tells it, was droppable), 12 tokens",
            "?at=10",
            "?at=50",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let first = window_page(&window(1), &visit()).expect("renders");
        assert!(!first.contains("Earlier turns") && first.contains("?at=21"));
    }
}
