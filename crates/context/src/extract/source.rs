//! The turns as pieces of text that fragments are taken from.

use std::borrow::Cow;

use crate::identifiers;
use crate::turn::{Outcome, Part, Provenance, Role, Turn};

/// The writer of a piece, and the way it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The user's own words.
    User,
    /// The assistant's text.
    Assistant,
    /// The assistant's thinking; never quoted.
    Thinking,
    /// The arguments of a tool call.
    Call,
    /// The answer of a tool.
    Result,
    /// The answer of a tool that failed.
    Failure,
    /// Everything else: system messages, summaries, notes.
    Other,
}

/// One text of one turn.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// The index of its turn.
    pub turn: usize,
    /// The writer.
    pub origin: Origin,
    /// The text as it stands in the turn; of a call, its arguments.
    pub raw: &'a str,
    /// The text to quote from: a call's name and its arguments with their escapes undone, file
    /// listings without line numbers.
    pub text: Cow<'a, str>,
}

/// The pieces of `turns`, in order.
pub(super) fn pieces(turns: &[Turn]) -> Vec<Piece<'_>> {
    turns
        .iter()
        .enumerate()
        .flat_map(|(index, turn)| {
            turn.parts()
                .iter()
                .filter_map(move |part| piece(index, turn, part))
        })
        .collect()
}

fn piece<'a>(index: usize, turn: &'a Turn, part: &'a Part) -> Option<Piece<'a>> {
    let said = turn.provenance() == Provenance::Said;
    let (origin, raw, text) = match part {
        Part::Text(text) => {
            let origin = match turn.role() {
                Role::User if said => Origin::User,
                Role::Assistant => Origin::Assistant,
                Role::Tool => Origin::Result,
                _ => Origin::Other,
            };
            (origin, text.as_str(), Cow::Borrowed(text.as_str()))
        }
        Part::Thinking(text) => (
            Origin::Thinking,
            text.as_str(),
            Cow::Borrowed(text.as_str()),
        ),
        Part::Call(call) => (
            Origin::Call,
            call.arguments.as_str(),
            Cow::Owned(format!(
                "{} {}",
                call.name,
                identifiers::unescaped(&call.arguments)
            )),
        ),
        Part::Result(result) => {
            let origin = match result.outcome {
                Outcome::Succeeded => Origin::Result,
                Outcome::Failed => Origin::Failure,
            };
            (origin, result.text.as_str(), without_gutter(&result.text))
        }
        Part::Attachment(_) | Part::Opaque(_) => return None,
    };
    Some(Piece {
        turn: index,
        origin,
        raw,
        text,
    })
}

/// A file listing without its line numbers: where most lines begin with a number and a tab or an
/// arrow, these go. They are no words of the file, cost a third of the tokens and are stale soon.
fn without_gutter(text: &str) -> Cow<'_, str> {
    let numbered = text.lines().take(8).filter(|line| code(line).is_some());
    if numbered.count() < 2 {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.push_str(code(line).unwrap_or(line));
    }
    Cow::Owned(out)
}

/// The line after its number.
fn code(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(' ');
    let rest = number.trim_start_matches(|digit: char| digit.is_ascii_digit());
    if rest.len() == number.len() {
        return None;
    }
    rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t'))
}
