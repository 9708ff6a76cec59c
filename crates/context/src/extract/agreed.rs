//! Short answers of the user with what they answer: "yes" and "1+2" say nothing without the offer in front of them.

use super::fields::{clip, prose, words};
use super::source::{Origin, Piece};
use crate::sentence::sentences;
use crate::summary::one_line;
use crate::user_words::Said;

/// The longest answer that needs its question, in words and in bytes.
const SHORT: (usize, usize) = (5, 60);
/// The longest option, and the longest question, in bytes.
const OPTION: usize = 200;
const QUESTION: usize = 300;

/// A short answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agreed<'a> {
    /// The index of the turn that answers.
    pub turn: usize,
    pub answer: &'a str,
    /// The options that it names, or the question in front of it.
    pub offer: String,
}

/// The short answers among what was typed, newest first.
pub(super) fn agreed<'a>(
    pieces: &'a [Piece<'_>],
    typed: &'a [Said],
) -> impl Iterator<Item = Agreed<'a>> {
    let is_short = |text: &str| {
        let (most, longest) = SHORT;
        !text.contains('\n') && text.len() <= longest && words(text) <= most
    };
    pieces
        .iter()
        .enumerate()
        .rev()
        .filter_map(move |(at, piece)| {
            let answer = piece.text.trim();
            let is_typed = || typed.iter().any(|said| said.text.trim() == answer);
            let asks = answer.ends_with(['?', '？', '؟']);
            if piece.origin != Origin::User || asks || !is_short(answer) || !is_typed() {
                return None;
            }
            let before = pieces.get(..at)?.iter().rev();
            let mut before = before.take_while(|it| it.origin != Origin::User);
            let asked = before.find(|it| it.origin == Origin::Assistant)?;
            Some(Agreed {
                turn: piece.turn,
                answer,
                offer: offer(&asked.text, answer)?,
            })
        })
}

/// The options of a text that an answer names, else the last question of the text.
fn offer(asked: &str, answer: &str) -> Option<String> {
    let labels = answer.split(|it: char| !it.is_alphanumeric());
    // "do a commit" names no option.
    let names = |it: &&str| words(answer) <= 2 || !it.starts_with(|it: char| it.is_lowercase());
    let labels = labels.filter(|it| is_label(it)).filter(names);
    let options = labels.filter_map(|label| {
        // What is offered stands below what was done.
        let lines: Vec<&str> = prose(asked).collect();
        let is_it = |line: &&str| labelled(line).is_some_and(|it| it.eq_ignore_ascii_case(label));
        let line = lines.into_iter().rfind(is_it)?;
        Some(clip(&one_line(line.trim()), OPTION))
    });
    let options: Vec<String> = options.collect();
    if !options.is_empty() {
        return Some(options.join(" / "));
    }
    let asks = |it: &&str| it.ends_with(['?', '？', '؟']);
    let all: Vec<&str> = prose(asked).flat_map(sentences).map(|(_, it)| it).collect();
    let question = all.into_iter().rfind(asks)?;
    Some(clip(question, QUESTION))
}

/// Returns true for a number or a single letter.
fn is_label(word: &str) -> bool {
    let is_number =
        !word.is_empty() && word.len() <= 2 && word.bytes().all(|it| it.is_ascii_digit());
    is_number || word.len() == 1 && word.bytes().all(|it| it.is_ascii_alphabetic())
}

/// The label of an option: `2` for `**2. Keep both**` and for `### Option 2: keep both`.
fn labelled(line: &str) -> Option<&str> {
    let bare = |it: &'_ str| it.trim_matches(|it: char| !it.is_alphanumeric()).len();
    let mut words = line.split_whitespace().filter(|it| bare(it) > 0);
    let first = words.next()?;
    let label = |word: &'_ str| -> Option<std::ops::Range<usize>> {
        let start = word.find(char::is_alphanumeric)?;
        let end = word.get(start..)?.find(|it: char| !it.is_alphanumeric());
        let end = end.map_or(word.len(), |it| start + it);
        let name = word.get(start..end)?;
        // A label ends in a mark; the word "a" does not.
        (is_label(name) && (end < word.len() || start > 0)).then_some(start..end)
    };
    if let Some(at) = label(first) {
        return first.get(at);
    }
    let second = words
        .next()
        .filter(|_| first.chars().any(char::is_alphabetic))?;
    let name = second.trim_matches(|it: char| !it.is_alphanumeric());
    let is_marked = second.ends_with([':', '.', ')', '*']);
    (is_label(name) && is_marked).then_some(name)
}

#[cfg(test)]
mod tests {
    use crate::counter::Heuristic;
    use crate::extract::extract;
    use crate::extract::tests::placed;
    use crate::summary::Field;
    use crate::turn::{Role, TurnDraft};
    use crate::units::Tokens;

    #[track_caller]
    fn check(offer: &str, answer: &str, told: &[&str]) {
        let turns = placed([
            TurnDraft::text(Role::User, "How do we keep the order of the rows?"),
            TurnDraft::text(Role::Assistant, offer),
            TurnDraft::text(Role::User, answer),
            TurnDraft::text(Role::Assistant, "Done, all tests of the reader pass now."),
        ]);
        let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
        assert_eq!(summary.entries(Field::Decisions), told, "{offer}");
    }

    #[test]
    fn a_short_answer_stands_with_what_it_answers() {
        let options = "Three ways:\n1. Sort the rows.\n2. Use an ordered channel.\n3. Lock the reader.\n\nI prefer the second.";
        check(
            options,
            "1+2",
            &[
                "the user answered \"1+2\" (turn 3) to: 1. Sort the rows. / 2. Use an ordered channel.",
            ],
        );
        let headed = "### Option A: sort the rows\n\nSlow.\n\n### Option B: lock the reader";
        check(
            headed,
            "B please",
            &["the user answered \"B please\" (turn 3) to: ### Option B: lock the reader"],
        );
        check(
            "The channel loses no rows. Shall I use it in the writer too? I can do it now.",
            "ja",
            &["the user answered \"ja\" (turn 3) to: Shall I use it in the writer too?"],
        );
    }

    #[test]
    fn words_that_answer_nothing_stand_alone() {
        check("The rows have an order now.", "thanks", &[]);
        check(
            "Shall I sort the rows?",
            "no, keep them as they were in the file of yesterday",
            &[],
        );
    }
}
