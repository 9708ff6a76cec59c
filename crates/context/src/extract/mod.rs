//! Extractive compaction: the summary template filled from the turns themselves, to a token budget.
//!
//! No model is asked. Everything in the summary is quoted, so it can leave things out but can not
//! get them wrong. About a seventh of the budget goes to the prose fields (goal, decisions, task, dead
//! ends, next steps); the rest goes where agents lose most in compactions: to the identifiers
//! that they will need again, with the words around them.
//!
//! 1. A census of the identifiers: where, how often, how lately and by whom each is written.
//! 2. The chance that each is needed again: a logistic function of a few features. What the tail
//!    shows anyway counts as nothing.
//! 3. For each of the likeliest, short spans of the original that hold it together with at least
//!    three of the words around it, and preferably with other likely identifiers.
//! 4. A choice among spans and bare names that covers most chance for the budget.
//!
//! Room is given by class, as the projector gives it: preserved turns are quoted in full before
//! anything else, required ones as prose, and what is left goes to spans and names, most of which come
//! from droppable turns. Entries leave in the opposite order.
//!
//! Spans stand under "Key facts" in the order of the conversation, one entry a turn, with `…` where
//! something is left out; bare names stand under "Identifiers". The same input gives the same
//! summary.

mod census;
mod fields;
mod kept;
mod select;
mod source;
mod spans;
mod todo;
mod weigh;

use std::collections::HashSet;

use crate::counter::TokenCounter;
use crate::identifiers;
use crate::projector::{Summarizer, SummarizerError};
use crate::summary::{Field, Replaced, Summary, one_line};
use crate::text::Text;
use crate::turn::Turn;
use crate::units::Tokens;
use census::Census;
use select::{Choice, Market};
use source::{Origin, Piece};
use weigh::Focus;

/// The share of the budget that the prose fields may have.
const PROSE: f64 = 0.15;
/// The most tokens that the prose fields may have.
const PROSE_MOST: u64 = 1_000;
/// The number of halvings of the price interval: down to a thousandth of a decade.
const STEPS: usize = 12;
/// The size of the newest text that shows the agent's current work, in bytes: about 8,000 tokens.
const FOCUS: usize = 32_000;

/// Fills the summary template from `old`, the turns that will not be shown any more. `tail` are the
/// turns after them that stay verbatim; the identifiers that they hold are not repeated. The
/// rendered summary never has more than `budget` tokens, unless the empty template alone has.
#[must_use]
pub fn extract(old: &[Turn], tail: &[Turn], budget: Tokens, counter: &dyn TokenCounter) -> Summary {
    let pieces = source::pieces(old);
    let mut summary = Summary::new(Replaced {
        turns: old.len(),
        tokens: old.iter().map(Turn::tokens).sum(),
    });
    let template = summary.tokens(counter);
    let room = budget.saturating_sub(template);
    let prose = room.scaled(PROSE).min(Tokens::new(PROSE_MOST));
    fields::fill(&mut summary, (old, tail), &pieces, prose, counter);
    let shown = Shown::of(tail, &summary.render());
    let draft = Draft {
        base: &summary,
        budget,
        counter,
    };
    fitted(old, &pieces, &shown, &draft)
}

/// Identifiers of `old` with the words around them, as entries for [`Field::Ledger`], that neither
/// `tail` nor `already`, a summary written by a model, names. Rendered as list entries they have at
/// most `budget` tokens together.
#[must_use]
pub fn ledger(
    old: &[Turn],
    tail: &[Turn],
    already: &str,
    budget: Tokens,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let base = Summary::default();
    let draft = Draft {
        base: &base,
        budget: budget + base.tokens(counter),
        counter,
    };
    let pieces = source::pieces(old);
    let filled = fitted(old, &pieces, &Shown::of(tail, already), &draft);
    let entries = |field| filled.entries(field).iter().cloned();
    let mut lines: Vec<String> = entries(Field::Facts)
        .chain(entries(Field::Ledger))
        .collect();
    let list =
        |lines: &[String]| -> String { lines.iter().map(|line| format!("- {line}\n")).collect() };
    while !lines.is_empty() && counter.count(&list(&lines)) > budget {
        lines.pop();
    }
    lines
}

/// The summariser that needs no model: [`extract`], rendered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

impl Summarizer for Extractive {
    fn summarize(
        &self,
        old: &[Turn],
        tail: &[Turn],
        budget: Tokens,
        counter: &dyn TokenCounter,
    ) -> Result<Text, SummarizerError> {
        Ok(Text::from(extract(old, tail, budget, counter).render()))
    }
}

/// The text that the model sees without the summary.
struct Shown<'a> {
    identifiers: HashSet<String>,
    tail: Vec<Piece<'a>>,
}

impl<'a> Shown<'a> {
    fn of(tail: &'a [Turn], text: &str) -> Self {
        let tail = source::pieces(tail);
        let mut identifiers = HashSet::new();
        for shown in tail.iter().map(|piece| &*piece.text).chain([text]) {
            for found in identifiers::scan(shown).chain(identifiers::members(shown)) {
                identifiers.extend(select::ends(found.text).map(str::to_owned));
                identifiers.insert(found.text.to_owned());
            }
        }
        Self { identifiers, tail }
    }
}

/// A summary to which facts and identifiers are to be added.
struct Draft<'a> {
    base: &'a Summary,
    budget: Tokens,
    counter: &'a dyn TokenCounter,
}

/// The draft with as many facts and identifiers as fit. Choosing compares estimated tokens; whether
/// the whole fits is counted exactly, so that only a handful of texts of the budget's size are
/// counted however long the conversation is.
fn fitted(old: &[Turn], pieces: &[Piece<'_>], shown: &Shown<'_>, draft: &Draft<'_>) -> Summary {
    let before = draft.base.tokens(draft.counter);
    let room = draft.budget.saturating_sub(before).as_f64() as f32;
    let census = Census::of(pieces);
    let market = Market::open(&census, pieces, values(old, pieces, &census, shown), room);
    let mut best: Option<(Tokens, Summary)> = None;
    // The logarithm of the price; values per token span several decades.
    let (mut low, mut high) = (-12.0_f32, 0.0_f32);
    for _ in 0..STEPS {
        let middle = f32::midpoint(low, high);
        let (estimate, choice) = market.at(middle.exp(), &census);
        let mut fits = false;
        if estimate <= room * 2.0 {
            let mut filled = draft.base.clone();
            write(&mut filled, &choice, pieces, &census);
            let tokens = filled.tokens(draft.counter);
            fits = tokens <= draft.budget;
            if fits && best.as_ref().is_none_or(|(most, _)| tokens > *most) {
                best = Some((tokens, filled));
            }
        }
        if fits {
            high = middle;
        } else {
            low = middle;
        }
    }
    let mut summary = best.map_or_else(|| draft.base.clone(), |(_, filled)| filled);
    trim(&mut summary, draft.budget, draft.counter);
    summary
}

/// Takes entries away, the least needed first, until the summary fits.
fn trim(summary: &mut Summary, budget: Tokens, counter: &dyn TokenCounter) {
    const LEAST_FIRST: [Field; 7] = [
        Field::Ledger,
        Field::Facts,
        Field::DeadEnds,
        Field::NextSteps,
        Field::Goal,
        Field::Decisions,
        Field::Task,
    ];
    for field in LEAST_FIRST {
        while summary.tokens(counter) > budget && summary.pop(field).is_some() {}
    }
}

/// Writes what was chosen into the summary.
fn write(summary: &mut Summary, choice: &Choice, pieces: &[Piece<'_>], census: &Census<'_>) {
    /// The length at which a list of bare names breaks, in bytes.
    const LINE: usize = 200;
    let mut turn = None;
    let mut line = String::new();
    for span in &choice.spans {
        let Some(piece) = pieces.get(span.place.piece) else {
            continue;
        };
        if turn == Some(piece.turn) {
            line.push_str(" … ");
        } else {
            summary.push(Field::Facts, &std::mem::take(&mut line));
            turn = Some(piece.turn);
            if piece.origin == Origin::User {
                line.push_str("user: ");
            }
        }
        line.push_str(&one_line(
            piece.text.get(span.place.at..span.end).unwrap_or_default(),
        ));
    }
    summary.push(Field::Facts, &std::mem::take(&mut line));
    for entry in choice
        .bare
        .iter()
        .filter_map(|&entry| census.entries.get(entry))
    {
        if line.len() > LINE {
            summary.push(Field::Ledger, &std::mem::take(&mut line));
        }
        line.push_str(entry.text);
        line.push(' ');
    }
    summary.push(Field::Ledger, &line);
}

/// The value of each identifier of the census: its chance of being needed, 0 if it is shown.
fn values(old: &[Turn], pieces: &[Piece<'_>], census: &Census<'_>, shown: &Shown<'_>) -> Vec<f32> {
    let mut ages = vec![0.0_f32; old.len()];
    let mut age = 0.0;
    for (slot, turn) in ages.iter_mut().zip(old).rev() {
        *slot = age;
        age += turn.tokens().as_f64() as f32 / 1_000.0;
    }
    let mut size = 0;
    let newest = shown.tail.iter().rev().chain(pieces.iter().rev());
    let now = newest
        .take_while(|piece| {
            let fits = size <= FOCUS;
            size += piece.text.len();
            fits
        })
        .flat_map(|piece| identifiers::scan(&piece.text))
        .map(|found| found.text);
    let focus = Focus::on(now, census);
    let value = |entry: &census::Entry<'_>| {
        if shown.identifiers.contains(entry.text) {
            return 0.0;
        }
        let age = |turn: usize| ages.get(turn).copied().unwrap_or(0.0);
        weigh::chance(&weigh::features(entry, &focus, age))
    };
    census.entries.iter().map(value).collect()
}

#[cfg(test)]
mod tests;
