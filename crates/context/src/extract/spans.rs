//! Candidate fragments: short verbatim spans that hold an identifier and enough words around it.

use super::census::{Census, Place};
use super::source::Piece;
use crate::identifiers;

/// The number of words of three letters and more, the pieces of the identifier itself not counted, that a
/// fragment must hold for the identifier to stand in context.
const CONTEXT_WORDS: usize = 3;
/// The reach of a fragment to each side of its identifier, in bytes.
const REACH: usize = 72;
/// The separator of two fragments, in estimated tokens.
const SEPARATOR: f32 = 1.3;
/// The most fragments kept for one identifier.
const OPTIONS: usize = 4;

/// A fragment of one piece.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    /// The place of its first byte.
    pub place: Place,
    /// The byte after its last.
    pub end: usize,
    /// Its estimated tokens, the separator included.
    pub cost: f32,
    /// The identifiers in it, and for each whether it stands there in context.
    pub members: Vec<(usize, bool)>,
}

/// A word or an identifier in a window of text.
struct Unit {
    start: usize,
    end: usize,
    /// The estimated tokens of the punctuation before it.
    gap: f32,
    cost: f32,
    words: usize,
    entry: Option<usize>,
}

/// The best fragments for the identifier `number`, best first. `value` says what an identifier is
/// worth.
pub(super) fn options(
    number: usize,
    census: &Census<'_>,
    pieces: &[Piece<'_>],
    value: &[f32],
) -> Vec<Span> {
    let Some(entry) = census.entries.get(number) else {
        return Vec::new();
    };
    let mut found: Vec<(f32, Span)> = Vec::new();
    for &place in entry.places.iter().rev() {
        let Some(piece) = pieces.get(place.piece) else {
            continue;
        };
        let units = units(&piece.text, place.at, entry.text.len(), census);
        let identifier = (place.at, place.at + entry.text.len());
        found.extend(best_of(place.piece, number, identifier, &units, value));
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.truncate(OPTIONS);
    found.into_iter().map(|(_, span)| span).collect()
}

/// The estimated tokens of an identifier or word: what byte-pair vocabularies need on average.
pub(super) fn cost(text: &str) -> f32 {
    let (mut cost, mut inside) = (0.0, false);
    for byte in text.bytes() {
        let word = byte.is_ascii_alphanumeric();
        cost += match (word, inside) {
            (true, false) => 0.65,
            (true, true) if byte.is_ascii_uppercase() => 0.55,
            (true, true) if byte.is_ascii_digit() => 0.3,
            (true, true) => 0.1,
            (false, _) if byte.is_ascii() => 0.45,
            (false, _) => 0.35,
        };
        inside = word;
    }
    cost
}

fn words(text: &str) -> usize {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.len() >= 3)
        .count()
}

/// The words and identifiers around the identifier at `at`. What the window cuts is left out.
fn units(text: &str, at: usize, length: usize, census: &Census<'_>) -> Vec<Unit> {
    let from = text.floor_char_boundary(at.saturating_sub(REACH));
    let to = text.ceil_char_boundary((at + length + REACH).min(text.len()));
    let window = text.get(from..to).unwrap_or_default();
    let mut units = Vec::new();
    let mut done = 0;
    for found in identifiers::scan(window) {
        push_words(window, done, found.start, &mut units);
        push(window, found.start, found.end(), &mut units);
        if let Some(unit) = units.last_mut() {
            unit.entry = census.find(found.text);
        }
        done = found.end();
    }
    push_words(window, done, window.len(), &mut units);
    let cut_before = |unit: &Unit| from > 0 && unit.start == 0;
    let cut_after = |unit: &Unit| to < text.len() && unit.end == window.len();
    units.retain(|unit| !cut_before(unit) && !cut_after(unit));
    for unit in &mut units {
        unit.start += from;
        unit.end += from;
    }
    units
}

fn push_words(window: &str, from: usize, to: usize, units: &mut Vec<Unit>) {
    let gap = window.get(from..to).unwrap_or_default();
    let mut start = None;
    for (at, letter) in gap.char_indices().chain([(gap.len(), ' ')]) {
        match (letter.is_alphanumeric() || letter == '_', start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                push(window, from + begin, from + at, units);
                start = None;
            }
            _ => {}
        }
    }
}

fn push(window: &str, start: usize, end: usize, units: &mut Vec<Unit>) {
    let before = units.last().map_or(0, |unit| unit.end);
    let gap = window.get(before..start).unwrap_or_default();
    let text = window.get(start..end).unwrap_or_default();
    units.push(Unit {
        start,
        end,
        gap: gap
            .chars()
            .map(|mark| if mark.is_whitespace() { 0.0 } else { 0.4 })
            .sum(),
        cost: cost(text),
        words: words(text),
        entry: None,
    });
}

/// The two best spans around one place, with their value per token.
fn best_of(
    piece: usize,
    number: usize,
    identifier: (usize, usize),
    units: &[Unit],
    value: &[f32],
) -> Vec<(f32, Span)> {
    let (start, end) = identifier;
    let Some(center) = units.iter().position(|unit| unit.start == start) else {
        return Vec::new();
    };
    let mut best = [(f32::MIN, 0, 0); 2];
    let worth = |unit: &Unit| {
        unit.entry
            .and_then(|entry| value.get(entry))
            .copied()
            .unwrap_or(0.0)
    };
    let (left, right) = units.split_at_checked(center).unwrap_or_default();
    let mut base = Sum::default();
    for from in (0..=center).rev() {
        if from < center
            && let Some(unit) = left.get(from)
        {
            base.add(unit, worth(unit));
        }
        let mut sum = base;
        for (offset, unit) in right.iter().enumerate() {
            sum.add(unit, worth(unit));
            let own = right.iter().take_while(|unit| unit.start < end);
            let own: usize = own.map(|unit| unit.words).sum();
            if unit.end >= end && sum.words >= own + CONTEXT_WORDS {
                keep(
                    &mut best,
                    (sum.value / (sum.cost + SEPARATOR), from, center + offset),
                );
            }
        }
    }
    best.iter()
        .filter(|found| found.0 > f32::MIN)
        .filter_map(|&(density, from, to)| {
            Some((density, span(piece, number, units.get(from..=to)?)?))
        })
        .collect()
}

/// Keeps the better two, best first.
fn keep(best: &mut [(f32, usize, usize); 2], found: (f32, usize, usize)) {
    let [first, second] = best;
    if found.0 > first.0 {
        *second = std::mem::replace(first, found);
    } else if found.0 > second.0 {
        *second = found;
    }
}

#[derive(Clone, Copy, Default)]
struct Sum {
    cost: f32,
    value: f32,
    words: usize,
}

impl Sum {
    fn add(&mut self, unit: &Unit, value: f32) {
        self.cost += unit.cost + unit.gap;
        self.value += value;
        self.words += unit.words;
    }
}

fn span(piece: usize, number: usize, units: &[Unit]) -> Option<Span> {
    let (first, last) = (units.first()?, units.last()?);
    let words: usize = units.iter().map(|unit| unit.words).sum();
    let mut members: Vec<(usize, bool)> = units
        .iter()
        .filter_map(|unit| {
            let entry = unit.entry?;
            Some((
                entry,
                entry == number || words >= unit.words + CONTEXT_WORDS,
            ))
        })
        .collect();
    members.push((number, true));
    members.sort_unstable();
    members.dedup();
    Some(Span {
        place: Place {
            piece,
            at: first.start,
        },
        end: last.end,
        cost: units.iter().map(|unit| unit.cost + unit.gap).sum::<f32>() - first.gap + SEPARATOR,
        members,
    })
}
