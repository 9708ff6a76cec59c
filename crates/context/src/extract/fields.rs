//! The fields of the template that are prose: goal, decisions, task, dead ends, next steps.
//!
//! All of it is quoted: the user's words as the user's, the assistant's as the assistant's. What a
//! tool returned appears only as a failure, clipped to its first line.

use std::collections::HashSet;

use super::source::{Origin, Piece};
use super::{kept, todo};
use crate::classify;
use crate::counter::TokenCounter;
use crate::spoken;
use crate::summary::{Field, Summary, one_line};
use crate::turn::{Role, Turn};
use crate::units::Tokens;

/// The mark at the cut end of a quotation.
const CUT: char = '…';
/// Characters of plain prose that make a token, for clipping; the exact count comes after.
const PER_TOKEN: f64 = 4.2;

/// The smallest useful room for a quotation.
const LEAST: Tokens = Tokens::new(24);

/// Fills the prose fields of `summary` with at most `budget` tokens together.
pub(super) fn fill(
    summary: &mut Summary,
    turns: (&[Turn], &[Turn]),
    pieces: &[Piece<'_>],
    budget: Tokens,
    counter: &dyn TokenCounter,
) {
    let (old, tail) = turns;
    let mut page = Page {
        summary,
        counter,
        left: budget,
        said: HashSet::new(),
    };
    let requests = requests(old);
    let statement = last_statement(pieces);
    let todo = todo::state(pieces);
    let share = |part: f64| budget.scaled(part);
    let preserved = kept::preserved(old, budget);
    for text in &preserved {
        page.keep(text);
    }

    let newest = requests.last().or(requests.first());
    let in_tail = self::requests(tail);
    let only = in_tail.is_empty() && requests.len() == 1 && statement.is_some();
    if let Some(request) = in_tail.last().or(newest).filter(|_| !only) {
        page.quote(Field::Task, "user: ", request, share(0.22));
    }
    if let Some(statement) = statement {
        page.quote(Field::Task, "assistant: ", statement, share(0.16));
    }
    for item in &todo.doing {
        page.quote(Field::Task, "to do, in progress: ", item, share(0.08));
    }
    if let Some(first) = requests.iter().find(|request| words(request) >= 4) {
        page.quote(Field::Goal, "user: ", first, share(0.2));
    }
    if let Some(latest) = newest.filter(|request| words(request) >= 4 && requests.len() > 1) {
        page.quote(Field::Goal, "user: ", latest, share(0.12));
    }
    decisions(&mut page, old, pieces, &preserved, budget);
    for item in &todo.pending {
        page.quote(Field::NextSteps, "to do: ", item, share(0.06));
    }
    if let Some(step) = statement.and_then(next_step) {
        page.quote(Field::NextSteps, "assistant: ", step, share(0.08));
    }
    dead_ends(&mut page, pieces, share(0.08));
}

/// Entries being written, with what is left of the budget.
struct Page<'a> {
    summary: &'a mut Summary,
    counter: &'a dyn TokenCounter,
    left: Tokens,
    said: HashSet<String>,
}

impl Page<'_> {
    /// Adds a preserved turn of the user in full, where there is room for all of it.
    fn keep(&mut self, text: &str) {
        let entry = format!("user: {text}");
        let cost = self.counter.count(&entry) + Tokens::new(2);
        if cost <= self.left && !text.is_empty() {
            self.left = self.left.saturating_sub(cost);
            self.summary.push(Field::Decisions, &entry);
        }
    }

    /// Adds a quotation of at most `most` tokens, unless it stands there already or has no room.
    fn quote(&mut self, field: Field, by: &str, text: &str, most: Tokens) {
        let most = most.max(LEAST).min(self.left);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "budgets are small and not negative; the cast saturates"
        )]
        let room = (most.as_f64() * PER_TOKEN) as usize;
        let clipped = clip(&one_line(text), room.saturating_sub(by.len()));
        if clipped
            .chars()
            .filter(|letter| letter.is_alphanumeric())
            .count()
            < 4
        {
            return;
        }
        let entry = format!("{by}{clipped}");
        let cost = self.counter.count(&entry) + Tokens::new(2);
        if cost <= self.left && self.said.insert(clipped) {
            self.left = self.left.saturating_sub(cost);
            self.summary.push(field, &entry);
        }
    }
}

/// The start of `text` with at most `most` bytes, cut between words.
fn clip(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(CUT.len_utf8() + 1));
    let start = text.get(..end).unwrap_or_default();
    let whole = start.rsplit_once(' ').map_or("", |(whole, _)| whole);
    if whole.is_empty() {
        return String::new();
    }
    format!("{whole} {CUT}")
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// The texts that the user typed, one a turn, oldest first. Turns of two words and fewer ("go on") and
/// notices that a client writes in brackets are no requests.
fn requests(turns: &[Turn]) -> Vec<String> {
    turns
        .iter()
        .filter(|turn| turn.role() == Role::User)
        .map(|turn| spoken::lines(turn).collect::<Vec<_>>().join(" "))
        .filter(|text| words(text) >= 3 && !text.starts_with('['))
        .collect()
}

fn last_statement<'a>(pieces: &'a [Piece<'_>]) -> Option<&'a str> {
    pieces
        .iter()
        .rev()
        .find(|piece| piece.origin == Origin::Assistant && words(&piece.text) >= 4)
        .map(|piece| piece.text.trim())
}

/// The demands of the user, newest first, then the decisions of the assistant.
fn decisions(
    page: &mut Page<'_>,
    old: &[Turn],
    pieces: &[Piece<'_>],
    preserved: &[String],
    budget: Tokens,
) {
    let (each, demands) = (budget.scaled(0.07), budget.scaled(0.25));
    let floor = page.left.saturating_sub(demands);
    for line in old.iter().rev().flat_map(spoken::lines) {
        for sentence in sentences(line) {
            let said = || preserved.iter().any(|text| text.contains(sentence));
            if page.left > floor && is_whole(sentence) && classify::is_demand(sentence) && !said() {
                page.quote(Field::Decisions, "user: ", sentence, each);
            }
        }
    }
    let floor = page.left.saturating_sub(budget.scaled(0.08));
    let said = pieces.iter().rev();
    for piece in said.filter(|piece| piece.origin == Origin::Assistant) {
        for sentence in piece.text.lines().flat_map(sentences) {
            if page.left > floor && words(sentence) >= 4 && classify::is_decision(sentence) {
                page.quote(Field::Decisions, "assistant: ", sentence, each);
            }
        }
    }
}

/// Returns true if a sentence says something by itself; "The command should:" does not.
fn is_whole(sentence: &str) -> bool {
    words(sentence) >= 3 && !sentence.ends_with(':')
}

/// The first lines that say something of the newest failures.
fn dead_ends(page: &mut Page<'_>, pieces: &[Piece<'_>], budget: Tokens) {
    let failures = pieces.iter().rev();
    for piece in failures
        .filter(|piece| piece.origin == Origin::Failure)
        .take(4)
    {
        let line = piece.text.lines().find(|line| words(line) >= 4);
        if let Some(line) = line {
            page.quote(Field::DeadEnds, "a tool failed: ", line, budget.scaled(0.5));
        }
    }
}

/// The last sentence of a statement, if it says what comes next.
fn next_step(statement: &str) -> Option<&str> {
    let last = statement
        .lines()
        .rev()
        .flat_map(|line| sentences(line).collect::<Vec<_>>().into_iter().rev())
        .find(|sentence| words(sentence) >= 3)?;
    let lower = last.to_lowercase();
    [
        "next", "let me", "i'll", "i will", "now ", "then ", "need to", "should",
    ]
    .iter()
    .any(|phrase| lower.contains(phrase))
    .then_some(last)
}

/// The sentences of a line: it is cut after `.`, `!` and `?` before white space.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut end_before = false;
    line.split_inclusive(move |letter: char| {
        let cut = end_before && letter.is_whitespace();
        end_before = matches!(letter, '.' | '!' | '?');
        cut
    })
    .map(str::trim)
    .filter(|sentence| !sentence.is_empty())
}
