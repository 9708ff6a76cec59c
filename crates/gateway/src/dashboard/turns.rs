//! The page to read a whole conversation, and to search it.

use std::ops::Range;

use askama::Template;
use context::{figures, visible};

use super::Visit;
use super::moment::Moment;
use super::overview::name;
use super::text::Folded;
use crate::report::{Matches, Needle, Said, Turns};

/// Turns per page.
pub const TURNS: usize = 20;
/// Characters of a turn shown above the fold.
const SHOWN: usize = 1_200;
/// The most characters of a turn in a page; the download has all of them.
const MOST: usize = 100_000;
/// Marked places of one turn.
const PLACES: usize = 12;
/// Bytes shown on each side of a marked place.
const AROUND: usize = 120;

/// Renders turns of a conversation: all of them, or the places where a text was found.
pub fn turns_page(turns: &Turns, find: &str, visit: &Visit) -> Result<String, askama::Error> {
    let needle = Needle::of(find);
    Page {
        visit,
        id: &turns.line.id,
        name: name(&turns.line),
        find,
        heading: match &turns.found {
            Some(found) => found_heading(found, turns.all),
            None => heading(&turns.turns, turns.all),
        },
        turns: turns
            .turns
            .iter()
            .map(|turn| Turn::of(turn, needle.as_ref(), visit))
            .collect(),
        earlier: turns.earlier,
        later: turns.later,
    }
    .render()
}

#[derive(Template)]
#[template(path = "dashboard/turns.html")]
struct Page<'a> {
    visit: &'a Visit,
    id: &'a str,
    name: String,
    find: &'a str,
    heading: String,
    turns: Vec<Turn>,
    earlier: Option<usize>,
    later: Option<usize>,
}

struct Turn {
    /// The place, counted from 1.
    number: usize,
    index: usize,
    role: &'static str,
    tokens: String,
    at: Option<Moment>,
    /// The part that the model sees, if that is not all: a word and a sentence.
    seen: Option<(&'static str, &'static str)>,
    body: Body,
}

/// The shown text of a turn.
enum Body {
    Whole(Folded),
    Found {
        excerpts: Vec<Vec<Piece>>,
        /// The number of places beyond these.
        more: usize,
    },
}

/// A piece of a text, which may be what was searched for.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    text: String,
    is_found: bool,
}

impl Turn {
    fn of(said: &Said, needle: Option<&Needle>, visit: &Visit) -> Self {
        Self {
            number: said.index + 1,
            index: said.index,
            role: said.role,
            tokens: figures::plural(usize::try_from(said.tokens).unwrap_or(0), "token"),
            at: said.at.as_ref().map(|at| Moment::of(at, visit.now)),
            seen: match said.seen {
                "summarized" => Some(("summarized", "the model sees a summary instead")),
                "left out" => Some(("left out", "the model no longer sees it")),
                "cleared" => Some(("cleared", "the model no longer sees these results")),
                _ => None,
            },
            body: match needle {
                Some(needle) => Body::found(&said.text, needle),
                None => Body::Whole(Folded::new(&said.text, SHOWN, MOST)),
            },
        }
    }
}

impl Body {
    fn found(text: &str, needle: &Needle) -> Self {
        let places = needle.places(text);
        let shown = places.get(..PLACES).unwrap_or(&places);
        Self::Found {
            excerpts: excerpts(text, shown),
            more: places.len() - shown.len(),
        }
    }
}

/// Cuts out what stands around these places. Places close to each other stand in one excerpt.
fn excerpts(text: &str, places: &[Range<usize>]) -> Vec<Vec<Piece>> {
    let mut out = Vec::new();
    for group in places.chunk_by(|one, next| next.start <= one.end + 2 * AROUND) {
        let [first, ..] = group else { continue };
        let from = text.floor_char_boundary(first.start.saturating_sub(AROUND));
        let mut pieces = Vec::new();
        let mut piece = |range: Range<usize>, is_found| {
            let text = visible(text.get(range).unwrap_or_default());
            if !text.is_empty() {
                pieces.push(Piece { text, is_found });
            }
        };
        let mut at = from;
        for place in group {
            piece(at..place.start, false);
            piece(place.clone(), true);
            at = place.end;
        }
        let to = text.ceil_char_boundary(at.saturating_add(AROUND).min(text.len()));
        piece(at..to, false);
        let cut = |is_cut: bool| {
            is_cut.then(|| Piece {
                text: "…".to_owned(),
                is_found: false,
            })
        };
        let framed = cut(from > 0)
            .into_iter()
            .chain(pieces)
            .chain(cut(to < text.len()));
        out.push(framed.collect());
    }
    out
}

fn heading(turns: &[Said], all: usize) -> String {
    match turns {
        [] => "No turns are stored yet".to_owned(),
        [first, ..] => format!(
            "Turns {} to {} of {}",
            figures::count(first.index as u64 + 1),
            figures::count((first.index + turns.len()) as u64),
            figures::count(all as u64)
        ),
    }
}

fn found_heading(found: &Matches, all: usize) -> String {
    let Range { start, end } = found.searched;
    let places = match found.places {
        0 => "No match".to_owned(),
        1 => "1 match".to_owned(),
        places => format!(
            "{} matches in {}",
            figures::count(places as u64),
            figures::plural(found.turns, "turn")
        ),
    };
    match (start, end) {
        (0, end) if end == all => places,
        _ => format!(
            "{places}; searched: turns {} to {} of {}",
            figures::count(start as u64 + 1),
            figures::count(end as u64),
            figures::count(all as u64)
        ),
    }
}

#[cfg(test)]
mod tests;
