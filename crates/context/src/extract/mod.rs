//! Extractive compaction: the summary template filled from the turns themselves, to a token budget.
//!
//! No model is asked. The steps (calls with their results) show what was done; everything else is quoted:
//! whole sentences, whole lines, and marked excerpts of lines that are too long. So the summary can leave
//! things out but can not get them wrong.
//!
//! 1. The user's own words come first, verbatim ([`crate::user_words`]).
//! 2. A fifth of the rest, and more of a small one, goes to the state of the work: goal, decisions, tasks open and
//!    closed, files and commands with their last known state, errors and what ended them, dead ends.
//! 3. The last steps stand at the end, a line a step ("Where the work stands"): two thirds of a small summary, an
//!    eighth of a large one, a sixth where no newer messages follow it.
//! 4. The rest goes to the course of the work ("Key facts"): quotations in the order of the conversation, behind the
//!    file or the command that they come from, chosen by budgeted coverage. A quotation is worth what it tells by
//!    itself, the more the newer it is, and the identifiers that it holds: a census tells where, how often, how lately
//!    and by whom each is written, and a logistic function of these the chance that it is needed again. Identifiers
//!    that the tail or the user's words show anyway count as nothing.
//! 5. Likely identifiers that found no quotation stand under "Identifiers" as names, by file and command.
//!
//! The classes of the turns say what is quoted: preserved turns are the user's words, required ones weigh more
//! than droppable ones. The same input gives the same summary.

mod agreed;
mod artefacts;
mod carried;
mod census;
mod clip;
mod command_line;
mod commands;
mod entries;
mod fields;
mod files;
mod folder;
mod here_documents;
mod lines;
mod messages;
mod namesakes;
mod purposes;
pub mod receipt;
mod recent;
mod remarks;
mod secrets;
mod select;
mod snippets;
mod source;
pub(crate) mod steps;
mod story;
pub(crate) mod tasks;
mod verdicts;
mod weigh;

use std::collections::HashSet;

use crate::counter::TokenCounter;
use crate::identifiers;
use crate::projector::{Summarizer, SummarizerError};
use crate::standing::Standing;
use crate::summary::{Field, Replaced, Summary, is_summary};
use crate::text::Text;
use crate::turn::{Turn, TurnDraft};
use crate::units::Tokens;
use crate::user_words::{Said, UserWords};
use census::Census;
use fields::Known;
use select::Market;
use source::Piece;
use weigh::Focus;

/// The share of the budget that the state of the work may have.
const STATE: f64 = 0.2;
/// The room that the state of the work needs in a small summary, in tokens, and the most of the budget for it.
const STATE_LEAST: u64 = 260;
const STATE_SMALL: f64 = 0.45;
/// The most tokens that the state of the work may have.
const STATE_MOST: u64 = 2_000;
/// The share of the budget that the user's words may have where they have no room of their own.
const WORDS: f64 = 0.5;
/// The number of halvings of the price interval: down to a thousandth of a decade.
const STEPS: usize = 12;
/// The size of the newest text that shows the agent's current work, in bytes: about 8,000 tokens.
const FOCUS: usize = 32_000;

/// The sizes of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The most tokens of the user's words.
    pub words: Tokens,
    /// The most tokens of the client's standing matter. Matter that does not fit counts as the user's words.
    pub standing: Tokens,
    /// The most tokens of the rest.
    pub summary: Tokens,
}

impl Room {
    /// Room for a summary without the user's words.
    #[must_use]
    pub const fn without_words(summary: Tokens) -> Self {
        Self {
            words: Tokens::ZERO,
            standing: Tokens::ZERO,
            summary,
        }
    }
}

/// Fills the summary template from `old`, the turns that will not be shown any more. `tail` are the
/// turns after them that stay verbatim; the identifiers that they hold are not repeated. The
/// rendered summary, the user's words included, never has more than `budget` tokens, unless the empty template
/// alone has; the words have up to half of them.
#[must_use]
pub fn extract(old: &[Turn], tail: &[Turn], budget: Tokens, counter: &dyn TokenCounter) -> Summary {
    let template = blank(old).tokens(counter) + Tokens::new(2);
    let room = budget.scaled(WORDS).min(budget.saturating_sub(template));
    let spoken = Spoken::of(old, (room, Tokens::new(u64::MAX)), counter);
    let left = budget.saturating_sub(spoken.words.tokens(counter));
    let mut summary = filled(old, tail, (spoken, left), counter);
    trim(&mut summary, budget, counter);
    summary
}

/// The messages that replace `old`: what the client itself put into it, byte for byte, and the summary.
#[must_use]
pub fn front(old: &[Turn], summary: &Summary) -> Vec<TurnDraft> {
    let standing = Standing::of(old, Tokens::new(u64::MAX));
    let texts = standing.texts_before(old, old.len());
    let told = texts.map(|(role, text)| TurnDraft::text(role, text));
    told.chain([summary.draft()]).collect()
}

/// Like [`extract`], with room of their own for the user's words.
#[must_use]
pub fn extract_in(old: &[Turn], tail: &[Turn], room: Room, counter: &dyn TokenCounter) -> Summary {
    let spoken = Spoken::of(old, (room.words, room.standing), counter);
    filled(old, tail, (spoken, room.summary), counter)
}

/// The user's words and the state of the work in `old` (tasks, files, commands, commits, errors), within `room`:
/// accompanies a model-written summary.
#[must_use]
pub fn state(old: &[Turn], room: Room, counter: &dyn TokenCounter) -> Summary {
    let mut summary = blank(old);
    let known = Known {
        old,
        pieces: &[],
        steps: &steps::steps(old),
    };
    fields::fill_done(&mut summary, &known, room.summary, counter);
    let apart = Standing::of(old, room.standing).apart();
    summary.words = UserWords::of(old, &apart, room.words, counter);
    summary
}

/// The user's words in some turns.
struct Spoken {
    /// Those that fit.
    words: UserWords,
    /// All that was typed.
    typed: Vec<Said>,
}

impl Spoken {
    /// The user's words in `old` within `room`, without what stands in the room beside it.
    fn of(old: &[Turn], (room, standing): (Tokens, Tokens), counter: &dyn TokenCounter) -> Self {
        let apart = Standing::of(old, standing).apart();
        let (words, typed) = UserWords::and_typed(old, &apart, room, counter);
        Self { words, typed }
    }
}

/// The heading of standing matter that is told again.
const STANDING: &str = "[What the client put into the earlier conversation, as it stood there:]";

/// Returns true if a text only repeats the earlier conversation: it is not a new message of the user's.
#[must_use]
pub fn is_beside(text: &str) -> bool {
    text.starts_with(STANDING) || is_summary(text)
}

/// The text that stands beside a provider's own summary of `old`: the client's standing matter, the user's words
/// and the state of the work.
#[must_use]
pub fn beside(old: &[Turn], room: Room, counter: &dyn TokenCounter) -> String {
    let standing = Standing::of(old, room.standing);
    // The provider's own summary keeps the tools that were loaded.
    let texts = standing.texts_before(old, old.len());
    let texts: Vec<String> = texts.map(|(_, text)| text).collect();
    let room = Room {
        summary: room.summary.scaled(BESIDE),
        ..room
    };
    let state = state(old, room, counter);
    let mut out = String::new();
    if !texts.is_empty() {
        out = format!("{STANDING}\n{}\n\n", texts.join("\n\n"));
    }
    if !state.is_empty() || !state.words.is_empty() {
        out.push_str(&state.render());
    }
    out
}

/// The share of a summary's size that the state of the work may have beside a provider's own summary.
const BESIDE: f64 = 0.25;

fn blank(old: &[Turn]) -> Summary {
    Summary::new(Replaced::of(old))
}

/// The summary with these words, of at most `budget` tokens beside them.
fn filled(
    old: &[Turn],
    tail: &[Turn],
    (spoken, budget): (Spoken, Tokens),
    counter: &dyn TokenCounter,
) -> Summary {
    let Spoken { words, typed } = spoken;
    let pieces = source::pieces(old);
    let mut summary = blank(old);
    let room = budget.saturating_sub(summary.tokens(counter));
    let known = Known {
        old,
        pieces: &pieces,
        steps: &steps::steps(old),
    };
    let least = Tokens::new(STATE_LEAST).min(room.scaled(STATE_SMALL));
    let state = room.scaled(STATE).clamp(least, Tokens::new(STATE_MOST));
    let behind = tail.iter().map(Turn::tokens).sum();
    let told = fields::fill(
        &mut summary,
        (&known, &typed),
        (state, recent::room(room, behind)),
        counter,
    );
    let shown = Visible::of(tail, &format!("{}\n{}", words.render(), summary.render()));
    let draft = Draft {
        base: &summary,
        budget,
        counter,
        course: old.get(..told),
    };
    let mut summary = fitted(old, &pieces, &shown, &draft);
    summary.words = words;
    summary
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
        course: None,
    };
    let pieces = source::pieces(old);
    let filled = fitted(old, &pieces, &Visible::of(tail, already), &draft);
    let flat = |entry: &String| entry.replace(":\n", ": ").replace('\n', " / ");
    let entries = |field| filled.entries(field).iter().map(flat);
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
struct Visible<'a> {
    identifiers: HashSet<String>,
    tail: Vec<Piece<'a>>,
}

impl<'a> Visible<'a> {
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
    /// The turns whose course is told too.
    course: Option<&'a [Turn]>,
}

/// The draft with as many facts and identifiers as fit. Choosing compares estimated tokens; whether
/// the whole fits is counted exactly, so that only a handful of texts of the budget's size are
/// counted however long the conversation is.
fn fitted(old: &[Turn], pieces: &[Piece<'_>], shown: &Visible<'_>, draft: &Draft<'_>) -> Summary {
    let before = draft.base.tokens(draft.counter);
    let room = draft.budget.saturating_sub(before).as_f64() as f32;
    let census = Census::of(pieces);
    let ages = ages(old);
    let values = values(&ages, pieces, &census, shown);
    let told = match draft.course {
        Some(turns) => {
            let scenes = story::scenes(turns, pieces, &census, (&ages, draft.budget));
            let own = select::snippet_room(room);
            let snippets = snippets::snippets(pieces, &census, (turns.len(), own));
            (scenes, snippets)
        }
        None => Default::default(),
    };
    let market = Market::open(&census, pieces, (values, told), room);
    let mut best: Option<(Tokens, Summary)> = None;
    // The logarithm of the price; values per token span several decades.
    let (mut low, mut high) = (-12.0_f32, 0.0_f32);
    for _ in 0..STEPS {
        let middle = f32::midpoint(low, high);
        let (estimate, choice) = market.at(middle.exp(), &census);
        let mut fits = false;
        if estimate <= room * 2.0 {
            let mut filled = draft.base.clone();
            entries::write(&mut filled, &choice, pieces, &census);
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

/// The fields, the least needed first.
pub const LEAST_FIRST: [Field; Field::COUNT] = [
    Field::Ledger,
    Field::Facts,
    Field::DeadEnds,
    Field::Errors,
    Field::Done,
    Field::NextSteps,
    Field::Decisions,
    Field::Tasks,
    Field::Goal,
    Field::Task,
];

/// Takes entries away, the least needed first, until the summary fits.
pub fn trim(summary: &mut Summary, budget: Tokens, counter: &dyn TokenCounter) {
    for field in LEAST_FIRST {
        while summary.tokens(counter) > budget && summary.pop(field).is_some() {}
    }
}

/// The thousands of tokens behind each turn.
fn ages(old: &[Turn]) -> Vec<f32> {
    let mut ages = vec![0.0_f32; old.len()];
    let mut age = 0.0;
    for (slot, turn) in ages.iter_mut().zip(old).rev() {
        *slot = age;
        age += turn.tokens().as_f64() as f32 / 1_000.0;
    }
    ages
}

/// The value of each identifier of the census: its chance of being needed, 0 if it is shown.
fn values(
    ages: &[f32],
    pieces: &[Piece<'_>],
    census: &Census<'_>,
    shown: &Visible<'_>,
) -> Vec<f32> {
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
