//! The part of the page that stands for many sessions: a verdict and one row a session.

use crate::compare::{Comparison, StrategyResult};
use crate::figures;

/// From this number of sessions on, the page tells of each session what matters and folds the rest.
pub(super) const MANY: usize = 6;

/// The most sessions with figures of their own, the fullest. Each takes about 8 kB of the page.
pub(super) const SECTIONS: usize = 100;

/// The strategies that stand for waiting and for working ahead.
const COMPARED: [&str; 2] = ["stop_the_world", "prepared"];

/// One session as a row of the list.
pub(super) struct Row {
    /// The index of its section, counted from 1. `None`: the session has none.
    pub section: Option<usize>,
    pub name: String,
    pub cells: Vec<Cell>,
}

/// A cell, with the number that sorts it.
pub(super) struct Cell {
    pub shown: String,
    pub sorts: f64,
}

/// The headings of the list, behind the name.
pub(super) const HEADINGS: [&str; 7] = [
    "started",
    "requests",
    "tokens",
    "window",
    "fullest",
    "waits, stop_the_world",
    "waits, prepared",
];

/// The list, sessions that fill first.
pub(super) fn rows(comparisons: &[Comparison]) -> Vec<Row> {
    let mut order: Vec<&Comparison> = comparisons.iter().collect();
    order.sort_by(|a, b| fullest(b).total_cmp(&fullest(a)));
    let mut section = 0;
    let row = |comparison: &Comparison| {
        let filled = is_filled(comparison);
        section += usize::from(filled);
        Row {
            section: (filled && section <= SECTIONS).then_some(section),
            name: comparison.session.shown().to_owned(),
            cells: cells(comparison),
        }
    };
    order.into_iter().map(row).collect()
}

/// The number of sessions that filled their window and have no section.
pub(super) fn without_section(comparisons: &[Comparison]) -> usize {
    let filled = comparisons.iter().filter(|it| is_filled(it)).count();
    filled.saturating_sub(SECTIONS)
}

/// The sessions that have a section, in the order of the list.
pub(super) fn filled(comparisons: &[Comparison]) -> Vec<&Comparison> {
    let mut found: Vec<&Comparison> = comparisons.iter().filter(|it| is_filled(it)).collect();
    found.sort_by(|a, b| fullest(b).total_cmp(&fullest(a)));
    found.truncate(SECTIONS);
    found
}

/// Returns true if a strategy is among those that a folded session shows.
pub(super) fn is_compared(outcome: &StrategyResult) -> bool {
    COMPARED.contains(&&*outcome.strategy)
}

fn is_filled(comparison: &Comparison) -> bool {
    comparison.strategies.iter().any(|it| it.boundaries > 0)
}

/// The session against its window: the whole of it, since a strategy keeps its requests below.
fn fullest(comparison: &Comparison) -> f64 {
    let all = comparison.session.tokens + comparison.simulation.unlogged_tokens;
    ratio(all, comparison.simulation.window)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn cells(comparison: &Comparison) -> Vec<Cell> {
    let session = &comparison.session;
    let started = session.started.as_deref().unwrap_or("–");
    let day = started.get(..10).unwrap_or(started);
    let digits: String = day.chars().filter(char::is_ascii_digit).collect();
    let number = |count: u64| Cell {
        shown: figures::count(count),
        sorts: count as f64,
    };
    let mut cells = vec![
        Cell {
            shown: day.to_owned(),
            sorts: digits.parse().unwrap_or_default(),
        },
        number(session.requests as u64),
        number(session.tokens),
        number(comparison.simulation.window),
        Cell {
            shown: figures::percent(fullest(comparison)),
            sorts: fullest(comparison),
        },
    ];
    cells.extend(COMPARED.map(|name| waits(comparison, name)));
    cells
}

fn waits(comparison: &Comparison, name: &str) -> Cell {
    let found = comparison
        .strategies
        .iter()
        .find(|it| *it.strategy == *name);
    let seconds = found.map_or(0.0, |it| it.simulated.stalls.total_seconds);
    Cell {
        shown: if seconds > 0.0 {
            figures::seconds(seconds)
        } else {
            "–".to_owned()
        },
        sorts: seconds,
    }
}
