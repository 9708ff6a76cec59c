//! The course of the work: statements, calls and failures that are worth quoting by themselves.

use std::ops::Range;
use std::sync::Arc;

use super::census::Census;
use super::lines::{self, Span};
use super::source::{Origin, Piece};
use super::steps;
use crate::classify::{Classes, Demands};
use crate::linearity::ResourceClass;
use crate::sentence::sentences;
use crate::turn::Turn;
use crate::units::Tokens;

/// The longest sentence or line of a story, in bytes.
const LONGEST: usize = 320;
/// The most sentences of one statement.
const SENTENCES: usize = 12;
/// The worth of the newest statement in a large summary, in the unit of an identifier that is certainly needed. More
/// of it makes a fuller story and names less of what is needed later.
const SCALE: f32 = 0.12;
/// The worth in a small summary, in which few identifiers find room: it is better read for its story.
const SMALL: f32 = 0.3;
/// The sizes of a small and of a large summary, in tokens.
const SIZES: (f32, f32) = (1_000.0, 2_000.0);
/// The share of its worth that a sentence keeps where it announces a call.
const ANNOUNCES: f32 = 0.05;
/// How much more a statement is worth that ends with no call: it reports to the user.
const REPORTS: f32 = 1.5;
/// The age at which a scene is worth a third of a new one, in thousands of tokens.
const FADES: f32 = 14.0;

/// A quotation that tells of the course of the work.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub span: Span,
    /// Its worth, in the unit of an identifier that is certainly needed.
    pub value: f32,
}

/// The scenes of `old`, the first of the turns that `pieces` are from, for a summary of `size`. `ages` are the thousands of tokens behind each turn.
pub(super) fn scenes(
    old: &[Turn],
    pieces: &[Piece<'_>],
    census: &Census<'_>,
    (ages, size): (&[f32], Tokens),
) -> Vec<Scene> {
    let (small, large) = SIZES;
    let grown = ((size.as_f64() as f32 - small) / (large - small)).clamp(0.0, 1.0);
    let scale = SMALL + (SCALE - SMALL) * grown;
    let mut classes = Classes::new(Tokens::new(1_000_000), Arc::new(Demands::default()));
    let classes: Vec<ResourceClass> = old.iter().map(|turn| classes.push(turn)).collect();
    let mut out = Vec::new();
    let behind = |(_, piece): &(usize, &Piece<'_>)| piece.turn < old.len();
    for (number, piece) in pieces.iter().enumerate().take_while(behind) {
        let age = ages.get(piece.turn).copied().unwrap_or(0.0);
        // What the model decided lasts longer than what it did.
        let decides = classes.get(piece.turn) >= Some(&ResourceClass::Required);
        let fade = (-age / FADES).exp();
        let worth = |new: f32, floor: f32| {
            let worth = new * fade + floor;
            if decides { worth * 1.4 } else { worth }
        };
        // The last sentence before a call announces it, and the call says the same.
        let calls = pieces
            .get(number + 1)
            .is_some_and(|next| next.turn == piece.turn && next.origin == Origin::Call);
        let told = told(piece);
        let last = told.len().saturating_sub(1);
        for (at, range) in told.into_iter().enumerate() {
            let announces = calls && piece.origin == Origin::Assistant && at == last;
            let reports = piece.origin == Origin::Assistant && !calls;
            let value = scale
                * match () {
                    () if announces => ANNOUNCES,
                    () if reports => REPORTS,
                    () => 1.0,
                }
                * match (piece.origin, at) {
                    (Origin::Assistant, 0) => worth(0.9, 0.16),
                    (Origin::Assistant, _) => worth(0.6, 0.05),
                    (Origin::Call, _) => worth(0.35, 0.02),
                    (Origin::Failure, _) => worth(0.5, 0.04),
                    _ => worth(0.15, 0.0),
                };
            out.push(Scene {
                span: lines::span(piece, (number, range), census),
                value,
            });
        }
    }
    out
}

/// The parts of a piece that tell of the course of the work.
fn told(piece: &Piece<'_>) -> Vec<Range<usize>> {
    let text = &*piece.text;
    match piece.origin {
        Origin::Assistant => said(text),
        Origin::Call if steps::acts(text) => {
            let line = whole_command(text, steps::headline(text));
            let range = match line.len() <= LONGEST {
                true => Some(0..line.len()),
                false => first_line(text, |_| true),
            };
            range.into_iter().collect()
        }
        // "Exit code 1" tells less than the line below it.
        Origin::Failure => first_line(text, |line| says(3)(line) && !steps::is_exit(line))
            .into_iter()
            .collect(),
        Origin::Result => first_line(text, says(4)).into_iter().collect(),
        Origin::Call | Origin::Echo | Origin::User | Origin::Thinking | Origin::Other => Vec::new(),
    }
}

/// The beginning of a call with the lines on which its last line goes on.
fn whole_command<'t>(text: &'t str, headline: &'t str) -> &'t str {
    let mut end = headline.len();
    while let Some(start) = text.get(..end).filter(|it| it.ends_with('\\')) {
        let rest = text.get(start.len() + 1..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default().trim_end();
        if line.is_empty() || end + line.len() > LONGEST {
            break;
        }
        end += 1 + line.len();
    }
    text.get(..end).unwrap_or(headline)
}

/// Accepts lines of at least so many words.
fn says(least: usize) -> impl Fn(&str) -> bool {
    move |line| line.split_whitespace().count() >= least
}

fn said(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        for (start, sentence) in sentences(line) {
            let range = at + start..at + start + sentence.len();
            // "Good catch." and "Now I see:" tell nothing.
            let says = sentence.chars().filter(|it| it.is_alphabetic()).count() >= 18;
            // "Now let me fix it:" is followed by what it announces.
            let announces = sentence.ends_with(':') && sentence.len() < 60;
            if says && !announces && range.len() <= LONGEST && out.len() < SENTENCES {
                out.push(range);
            }
        }
        at += line.len();
    }
    out
}

fn first_line(text: &str, says: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let start = at + (line.len() - line.trim_start().len());
        if says(bare) && bare.chars().filter(|it| it.is_alphanumeric()).count() >= 4 {
            let end = match bare.len() <= LONGEST {
                true => start + bare.len(),
                false => cut(text, start, LONGEST / 2),
            };
            return Some(start..end);
        }
        at += line.len();
    }
    None
}

/// The end of an excerpt of at most `most` bytes, between words where there are any.
fn cut(text: &str, start: usize, most: usize) -> usize {
    let end = text.floor_char_boundary(start + most);
    let part = text.get(start..end).unwrap_or_default();
    part.rfind(char::is_whitespace).map_or(end, |it| start + it)
}
