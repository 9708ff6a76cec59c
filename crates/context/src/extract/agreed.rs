//! Short answers of the user with what they answer: "yes" and "1+2" say nothing without the offer in front of them.

use std::collections::HashSet;

use super::clip::clip;
use super::fields::{prose, words};
use super::source::{Origin, Piece};
use crate::sentence::sentences;
use crate::summary::one_line;
use crate::user_words::Said;

/// The longest answer that needs its question, in words and in bytes.
const SHORT: (usize, usize) = (5, 60);
/// The most words of one that ends in the number of an option.
const CHOOSES: usize = 8;
/// The words in front of the numbers of options.
const OPTIONS: [&str; 8] = [
    "option",
    "choice",
    "approach",
    "alternative",
    "variant",
    "variante",
    "opción",
    "opção",
];
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
    let typed: HashSet<&str> = typed.iter().map(|said| said.text.trim()).collect();
    pieces
        .iter()
        .enumerate()
        .rev()
        .filter_map(move |(at, piece)| {
            let answer = piece.text.trim();
            if piece.origin != Origin::User || !is_short(answer) || !typed.contains(answer) {
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

/// Returns true for an answer that needs its question. Commands of a client, questions, and words that a client puts
/// behind a name are none.
fn is_short(text: &str) -> bool {
    let (most, longest) = SHORT;
    text.len() <= longest
        && (words(text) <= most || words(text) <= CHOOSES && !chosen(text).is_empty())
        && !text.starts_with('/')
        && !text.ends_with(['?', '？', '؟'])
        && !text.contains(['\n', '"', ':'])
}

/// The options of a text that an answer names, else the question with which the text ends.
fn offer(asked: &str, answer: &str) -> Option<String> {
    let lines: Vec<&str> = own_prose(asked).collect();
    let named = labels(answer);
    let option = |label: &&str, word: Option<&str>| {
        let is_it = |line: &&&str| {
            labelled(line).is_some_and(|(name, before)| {
                name.eq_ignore_ascii_case(label)
                    && word
                        .is_none_or(|word| before.is_some_and(|it| it.eq_ignore_ascii_case(word)))
            })
        };
        // What is offered stands below what was done.
        let line = lines.iter().rev().find(is_it)?;
        Some(clip(&one_line(line.trim()), OPTION))
    };
    let options: Option<Vec<String>> = named
        .iter()
        .map(|(label, word)| option(label, *word))
        .collect();
    if let Some(options) = options.filter(|it| !it.is_empty()) {
        return Some(options.join(" / "));
    }
    // A question further up may be one that the text answers itself.
    let last = lines.iter().rev().skip_while(|line| line.trim().is_empty());
    let last = last.take_while(|line| !line.trim().is_empty());
    let asks = |it: &&str| it.ends_with(['?', '？', '؟']);
    let mut sentences = last.flat_map(|line| sentences(line).into_iter().rev());
    let question = sentences.find_map(|(_, it)| Some(it).filter(asks))?;
    // Where something is asked, "let's try 2" may name an option too. The question shows what was meant.
    let chosen = chosen(answer);
    let option = |label: &&str| {
        let is_it = |line: &&&str| {
            let is_option = |it: &str| OPTIONS.contains(&&*it.to_lowercase());
            labelled(line).is_some_and(|(name, it)| name == *label && it.is_some_and(is_option))
        };
        let line = lines.iter().rev().find(is_it)?;
        Some(clip(&one_line(line.trim()), OPTION))
    };
    let options: Option<Vec<String>> = chosen.iter().map(option).collect();
    if let Some(options) = options.filter(|it| !it.is_empty()) {
        let question = clip(question, QUESTION);
        return Some(format!("{question} ({})", options.join(" / ")));
    }
    // The options may stand in the sentence in front of the question.
    let names = |it: &str| {
        let words = || it.split(|it: char| !it.is_alphanumeric());
        !chosen.is_empty()
            && chosen
                .iter()
                .all(|label| words().any(|word| word == *label))
    };
    match sentences.next().filter(|(_, it)| names(it)) {
        Some((_, before)) => Some(clip(&format!("{before} {question}"), QUESTION)),
        None => Some(clip(question, QUESTION)),
    }
}

/// The lines that the assistant says itself: no code, and nothing that it quotes.
fn own_prose(text: &str) -> impl Iterator<Item = &str> {
    let is_quoted =
        |line: &&str| line.trim_start().starts_with(['>', '~']) || line.starts_with("    ");
    prose(text).filter(move |line| !is_quoted(line))
}

/// The labels in an answer, where it consists of them (`1+2`, `B`), or where each stands behind the word that stands in
/// front of it in the offer too (`use option 2`).
fn labels(answer: &str) -> Vec<(&str, Option<&str>)> {
    let parts = || answer.split(|it: char| it.is_whitespace() || "+,&".contains(it));
    let parts = || parts().filter(|it| !it.is_empty());
    if parts().all(is_label) {
        return parts().map(|it| (it, None)).collect();
    }
    let pairs = parts().zip(parts().skip(1));
    let behind = pairs.filter(|(word, it)| is_label(it) && !is_label(word));
    behind.map(|(word, it)| (it, Some(word))).collect()
}

/// The numbers with which an answer of more words ends: `let's try 2`, `yes, 2 and 3`.
fn chosen(answer: &str) -> Vec<&str> {
    let words = answer.split(|it: char| !it.is_alphanumeric());
    let words: Vec<&str> = words.filter(|it| !it.is_empty()).collect();
    let is_number = |it: &&str| is_label(it) && it.bytes().all(|it| it.is_ascii_digit());
    match words.last().is_some_and(&is_number) {
        true => words.into_iter().filter(|it| is_number(it)).collect(),
        false => Vec::new(),
    }
}

/// Returns true for a number or a single letter.
fn is_label(word: &str) -> bool {
    let is_number =
        !word.is_empty() && word.len() <= 2 && word.bytes().all(|it| it.is_ascii_digit());
    is_number || word.len() == 1 && word.bytes().all(|it| it.is_ascii_alphabetic())
}

/// The label of an option, and the word in front of it: `2` for `**2. Keep both**`, `B` and `Option` for `### Option B:
/// keep both`.
fn labelled(line: &str) -> Option<(&str, Option<&str>)> {
    let bare = line.trim_start_matches(|it: char| !it.is_alphanumeric());
    let word = |text: &'_ str| {
        text.find(|it: char| !it.is_alphanumeric())
            .unwrap_or(text.len())
    };
    let (first, behind) = bare.split_at_checked(word(bare))?;
    if is_label(first) {
        return is_mark(behind, &['.', ')', ':']).then_some((first, None));
    }
    let rest = behind.strip_prefix(' ')?;
    let (label, behind) = rest.split_at_checked(word(rest))?;
    let is_option =
        is_label(label) && is_mark(behind.trim_start(), &['.', ')', ':', '–', '—', '*', '-']);
    is_option.then_some((label, Some(first)))
}

/// Returns true if a text begins with one of these marks and white space, or the end of a line in bold, behind it.
fn is_mark(text: &str, marks: &[char]) -> bool {
    let behind = text.strip_prefix(marks);
    behind.is_some_and(|it| {
        it.is_empty() || it.starts_with(char::is_whitespace) || it.starts_with('*')
    })
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
            "use option b",
            &["the user answered \"use option b\" (turn 3) to: ### Option B: lock the reader"],
        );
        check(
            "The channel loses no rows. Shall I use it in the writer too? I can do it now.",
            "ja",
            &["the user answered \"ja\" (turn 3) to: Shall I use it in the writer too?"],
        );
    }

    #[test]
    fn the_number_at_the_end_of_an_answer_names_an_option() {
        let options = "**Option 1: sort the rows**\nSlow.\n\n**Option 2: lock the reader**\nFast.\n\nWhich do you prefer?";
        let told = |answer: &str| {
            format!(
                "the user answered \"{answer}\" (turn 3) to: Which do you prefer? (**Option 2: lock the reader**)"
            )
        };
        check(options, "let's try 2=", &[&told("let's try 2=")]);
        check(options, "nehmen wir 2.", &[&told("nehmen wir 2.")]);
        let listed = "Left: #2 (filter the rows), #3 (mend the log), #4 (reset). Want to tackle any of these next?";
        check(
            listed,
            "yeah let's tackle 2 and 3",
            &[&format!(
                "the user answered \"yeah let's tackle 2 and 3\" (turn 3) to: {listed}"
            )],
        );
        // A number need not be an option.
        let plan = "The plan:\n1. Sort the rows.\n2. Drop the old table.\n\nHow many workers?";
        for answer in ["please start 2", "not before May 2"] {
            let told = format!("the user answered \"{answer}\" (turn 3) to: How many workers?");
            check(plan, answer, &[&told]);
        }
        check(
            &plan.replace("2.", "Step 2:"),
            "let's take 2",
            &["the user answered \"let's take 2\" (turn 3) to: How many workers?"],
        );
        // An option that was not offered.
        check(
            options,
            "let's try 5",
            &["the user answered \"let's try 5\" (turn 3) to: Which do you prefer?"],
        );
    }

    #[test]
    fn words_that_answer_nothing_stand_alone() {
        let listed = "Done:\n5. Dropped the old table.\n\nD. All rows stay.\n2.5x faster now.";
        for (offer, answer) in [
            ("The rows have an order now.", "thanks"),
            (
                "Why does it fail? The reader is slow.\n\nI mended it.",
                "thanks",
            ),
            (
                "The rows are sorted.\n\n> The README says: delete all?",
                "ok",
            ),
            ("Shall I sort the rows?", "/clear"),
            ("Shall I sort the rows?", "is it safe?"),
            (
                "Shall I sort the rows?",
                "no, keep them as they were in the file of yesterday",
            ),
            (listed, "5 minutes"),
            (listed, "d'accord"),
            (listed, "2"),
        ] {
            check(offer, answer, &[]);
        }
    }
}
