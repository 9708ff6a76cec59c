//! The page with a summary beside the turns it replaces.

use askama::Template;
use context::figures;

use super::Visit;
use super::conversation::Summary;
use super::overview::name;
use super::text::Folded;
use crate::report::{Loss, Lost, Original, Replaced};

/// Turns per page.
pub const TURNS: usize = 20;
/// Characters of a turn shown above the fold.
const SHOWN: usize = 1_200;
/// The most characters of a turn in a page.
const MOST: usize = 200_000;

/// Renders a summary and what it leaves out beside the turns it replaces, from turn `from` on.
pub fn replaced_page(
    (replaced, lost): (&Replaced, &Lost),
    from: usize,
    visit: &Visit,
) -> Result<String, askama::Error> {
    let total = replaced.mark.replaced_turns;
    let to = from + replaced.originals.len();
    Page {
        visit,
        id: &replaced.line.id,
        name: name(&replaced.line),
        mark: Summary::of(&replaced.mark, usize::MAX, visit.now),
        losses: &lost.entries,
        more_losses: lost.left_out,
        heading: heading(from, to, total),
        originals: replaced.originals.iter().map(Turn::of).collect(),
        earlier: (from > 0).then(|| from.saturating_sub(TURNS)),
        later: (to < total && to > from).then_some(to),
    }
    .render()
}

#[derive(Template)]
#[template(path = "dashboard/replaced.html")]
struct Page<'a> {
    visit: &'a Visit,
    id: &'a str,
    name: String,
    mark: Summary,
    losses: &'a [Loss],
    more_losses: usize,
    heading: String,
    originals: Vec<Turn>,
    earlier: Option<usize>,
    later: Option<usize>,
}

struct Turn {
    title: String,
    role: &'static str,
    tokens: String,
    text: Folded,
}

impl Turn {
    fn of(original: &Original) -> Self {
        Self {
            title: format!("{}. {}", original.index + 1, original.role),
            role: original.role,
            tokens: figures::plural(usize::try_from(original.tokens).unwrap_or(0), "token"),
            text: Folded::new(&original.text, SHOWN, MOST),
        }
    }
}

fn heading(from: usize, to: usize, total: usize) -> String {
    if from == 0 && to >= total {
        "Replaced turns".to_owned()
    } else {
        format!(
            "Replaced turns {} to {} of {}",
            figures::count(from as u64 + 1),
            figures::count(to.max(from + 1) as u64),
            figures::count(total as u64)
        )
    }
}

#[cfg(test)]
mod tests;
