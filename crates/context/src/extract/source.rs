//! The turns as pieces of text that fragments are taken from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use serde_json::Value;

use super::folder;
use super::namesakes::Namesakes;
use super::secrets::{handles_secrets, shows_secrets};
use super::steps::{self, COMMANDS, PATHS, SOUGHT, Step};
use crate::client_summary::is_client_summary;
use crate::identifiers;
use crate::refusal::refusal;
use crate::summary::is_summary;
use crate::turn::{Outcome, Part, Provenance, Role, ToolCall, Turn};

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
    /// The answer to a change of a file, which says that it was made; never quoted.
    Echo,
    /// A summary of earlier turns, ours or a client's.
    Summary,
    /// Everything else: system messages, notes.
    Other,
}

/// One text of one turn.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// The index of its turn.
    pub turn: usize,
    /// The writer.
    pub origin: Origin,
    /// The text to quote from: a call's name and its arguments with their escapes undone, file
    /// listings without line numbers.
    pub text: Cow<'a, str>,
    /// The file or the command of a call, for the call and its result: `a.rs`, `cargo test`. Empty for all else.
    pub about: Rc<str>,
    /// True of a call that failed.
    pub fails: bool,
    /// The arguments of a call, as ranges of the text; the name is empty if the call has a text instead.
    pub arguments: Vec<(String, Range<usize>)>,
}

impl Piece<'_> {
    /// The command of a call that runs one.
    pub fn script(&self) -> Option<&str> {
        let mut arguments = self
            .arguments
            .iter()
            .filter(|_| self.origin == Origin::Call);
        let (_, at) = arguments.find(|(name, _)| COMMANDS.contains(&name.as_str()))?;
        self.text.get(at.clone())
    }

    /// Returns true if the call changes only the state of a task that another call made.
    pub fn changes_a_task(&self) -> bool {
        let has = |wanted: &[&str]| {
            let mut names = self.arguments.iter().map(|(name, _)| name.as_str());
            names.any(|name| wanted.contains(&name))
        };
        has(&["taskId", "task_id"]) && has(&["status"]) && !has(&["description"])
    }

    /// The name of the argument whose value begins behind it on the line at `at`.
    pub fn argument_at(&self, at: usize) -> Option<&str> {
        let mut arguments = self
            .arguments
            .iter()
            .map(|(name, value)| (name.as_str(), value));
        let found = arguments.find(|(name, value)| at + name.len() + 2 == value.start);
        found.map(|(name, _)| name)
    }

    /// Returns true if the argument on the line at `at` is the path of the call's file.
    pub fn names_its_file(&self, at: usize) -> bool {
        self.argument_at(at)
            .is_some_and(|name| PATHS.contains(&name))
    }

    /// Returns true if the piece is a call that only looks: besides paths and what it looks for, its arguments are
    /// numbers and flags, or those of a search single words. What says more may do more.
    pub fn only_looks(&self) -> bool {
        let mut arguments = self.arguments.iter();
        let searches = arguments.any(|(name, _)| SOUGHT.contains(&name.as_str()));
        let is_plain = |(name, at): &(String, Range<usize>)| {
            let value = self.text.get(at.clone()).unwrap_or_default();
            PATHS.contains(&name.as_str())
                || SOUGHT.contains(&name.as_str())
                || matches!(value, "true" | "false")
                || value.bytes().all(|it| it.is_ascii_digit())
                || searches && !value.contains(char::is_whitespace)
        };
        self.origin == Origin::Call
            && !self.arguments.is_empty()
            && self.arguments.iter().all(is_plain)
            && !steps::acts(&self.text)
    }
}

/// The pieces of `turns`, in order.
pub(super) fn pieces(turns: &[Turn]) -> Vec<Piece<'_>> {
    let steps = steps::steps(turns);
    let namesakes = Namesakes::of(&steps);
    let mut calls = steps.iter();
    // Of two calls with one id, a result belongs to the newer one.
    let mut open: HashMap<&str, Called> = HashMap::new();
    let mut out = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        for part in turn.parts() {
            let mut fails = false;
            let called = match part {
                Part::Call(call) => {
                    let step = calls.next();
                    let called = step.map(|step| Called::by(step, &namesakes));
                    let called = called.unwrap_or_default();
                    fails = step.is_some_and(Step::failed);
                    open.insert(call.id.as_str(), called.clone());
                    called
                }
                Part::Result(result) => open.get(result.call.as_str()).cloned().unwrap_or_default(),
                _ => Called::default(),
            };
            out.extend(piece(index, turn, part, called).map(|piece| Piece { fails, ..piece }));
        }
    }
    out
}

/// The call that a part is, or is the result of.
#[derive(Clone, Debug, Default)]
struct Called {
    /// Its file or its command.
    about: Rc<str>,
    /// True if it changes the file.
    changes: bool,
    /// True if it searches and may print the numbers of lines.
    numbers_lines: bool,
    /// True if the file holds secrets, and if the result may show some.
    is_secret: (bool, bool),
}

impl Called {
    fn by(step: &Step<'_>, namesakes: &Namesakes) -> Self {
        Self {
            about: namesakes.about(step).into(),
            changes: step.changes(),
            numbers_lines: step.numbers_lines(),
            is_secret: (handles_secrets(step), shows_secrets(step)),
        }
    }
}

/// The piece of a part of a call's, or of its result.
fn piece<'a>(index: usize, turn: &'a Turn, part: &'a Part, called: Called) -> Option<Piece<'a>> {
    let (is_secret, shows_secrets) = called.is_secret;
    if is_secret || shows_secrets && matches!(part, Part::Result(_)) {
        return None;
    }
    let said = turn.provenance() == Provenance::Said;
    let mut arguments = Vec::new();
    let (origin, text) = match part {
        Part::Text(text) => {
            let origin = match turn.role() {
                Role::User if is_record(turn, text) => Origin::Summary,
                Role::User if said => Origin::User,
                Role::Assistant => Origin::Assistant,
                Role::Tool => Origin::Result,
                _ => Origin::Other,
            };
            let text = match is_summary(text) {
                true => folder::in_full(text.as_str()),
                false => Cow::Borrowed(text.as_str()),
            };
            (origin, text)
        }
        Part::Thinking(text) => (Origin::Thinking, Cow::Borrowed(text.as_str())),
        Part::Call(call) => {
            let (text, found) = readable_call(call);
            arguments = found;
            (Origin::Call, Cow::Owned(text))
        }
        // The words of a refusal are the user's, and stand with these.
        Part::Result(result) if refusal(result).is_some() => return None,
        Part::Result(result) => {
            let origin = match result.outcome {
                Outcome::Succeeded if called.changes => Origin::Echo,
                Outcome::Succeeded => Origin::Result,
                Outcome::Failed => Origin::Failure,
            };
            (
                origin,
                without_gutter(steps::bare(&result.text), called.numbers_lines),
            )
        }
        Part::Attachment(_) | Part::Opaque(_) => return None,
    };
    Some(Piece {
        turn: index,
        origin,
        text,
        about: called.about,
        fails: false,
        arguments,
    })
}

/// Returns true if a text of a turn is a summary of earlier turns.
fn is_record(turn: &Turn, text: &str) -> bool {
    turn.provenance() == Provenance::Summary || is_summary(text) || is_client_summary(text)
}

/// A call as a person reads it: the tool's name, and each argument behind its name, strings without escapes. Returns
/// the places of the arguments too.
pub(super) fn readable_call(call: &ToolCall) -> (String, Vec<(String, Range<usize>)>) {
    let mut out = call.name.to_string();
    let mut arguments = Vec::new();
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(members)) => {
            for (number, (key, value)) in members.iter().enumerate() {
                let value = match value {
                    Value::String(text) => text.clone(),
                    other => identifiers::unescaped(&other.to_string()).into_owned(),
                };
                let before = if number == 0 { " " } else { "\n" };
                out.extend([before, key, ": ", &value]);
                arguments.push((key.clone(), out.len() - value.len()..out.len()));
            }
        }
        parsed => {
            // A text of several lines is no JSON, so its escapes are its own.
            let text = match parsed.is_err() && call.arguments.contains('\n') {
                true => Cow::Borrowed(call.arguments.as_str()),
                false => identifiers::unescaped(&call.arguments),
            };
            out.extend([" ", &*text]);
            arguments.push((String::new(), out.len() - text.len()..out.len()));
        }
    }
    (out, arguments)
}

/// A file listing without its line numbers: where most lines begin with a number and a tab or an
/// arrow, or all lines of what a search found begin as searches print them, these go. They are no words of the file,
/// cost a third of the tokens and are stale soon.
fn without_gutter(text: &str, is_found: bool) -> Cow<'_, str> {
    /// The number of lines that show what a text is.
    const SEEN: usize = 8;
    let numbered = |code: fn(&str) -> Option<&str>| {
        text.lines()
            .take(SEEN)
            .filter(|line| code(line).is_some())
            .count()
    };
    let code = match numbered(code) >= 2 {
        true => code,
        false if is_found && shows_numbers(text) => found_code,
        false => return Cow::Borrowed(text),
    };
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        out.push_str(code(line).unwrap_or(line));
    }
    Cow::Owned(out)
}

/// Returns true if all lines begin with rising numbers as a search prints them, matches among them.
fn shows_numbers(text: &str) -> bool {
    let (mut last, mut matches) = (0, 0);
    for line in text.lines() {
        if line == "--" {
            last = 0;
            continue;
        }
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = line.split_at_checked(digits).unwrap_or_default();
        let number = number.parse::<u64>().unwrap_or(0);
        if number <= last || number.to_string().len() != digits || found_code(line).is_none() {
            return false;
        }
        last = number;
        matches += usize::from(rest.starts_with(':'));
    }
    matches >= 2
}

/// The line after its number.
fn code(line: &str) -> Option<&str> {
    let rest = behind_number(line)?;
    rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t'))
}

/// The line after its number in what a search found: `12:fn main`, or `13-}` beside it. A time and a date are none.
fn found_code(line: &str) -> Option<&str> {
    let code = behind_number(line)?.strip_prefix([':', '-'])?;
    (!code.starts_with(|it: char| it.is_ascii_digit())).then_some(code)
}

/// The rest of a line that begins with a number.
fn behind_number(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(' ');
    let rest = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (rest.len() < line.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::without_gutter;
    use crate::counter::Heuristic;
    use crate::extract::extract;
    use crate::extract::tests::placed;
    use crate::summary::Field;
    use crate::turn::{Role, TurnDraft};
    use crate::units::Tokens;

    #[test]
    fn numbers_of_lines_are_no_words_of_a_file() {
        for (text, bare) in [
            ("  1\tfn a() {\n  2\t}\n", "fn a() {\n}\n"),
            (
                "12:fn a() {\n13-    b();\n--\n40:fn c() {}",
                "fn a() {\n    b();\n--\nfn c() {}",
            ),
            ("12:fn a() {\nno match", "12:fn a() {\nno match"),
            (
                "12:30:01 started\n12:30:02 ended",
                "12:30:01 started\n12:30:02 ended",
            ),
            ("2026-01-02 a\n2026-01-03 b", "2026-01-02 a\n2026-01-03 b"),
        ] {
            assert_eq!(without_gutter(text, true), bare);
        }
        for text in [
            "001-create.sql\n002-index.sql",
            "8080: web\n5432: postgres",
            "12:a\nBinary file matches",
        ] {
            assert_eq!(without_gutter(text, true), text);
        }
        let codes = "404: Not Found\n500: Server Error";
        assert_eq!(without_gutter(codes, false), codes);
    }

    #[test]
    fn a_clients_own_summary_is_quoted_as_one() {
        let summary = "This session is being continued from a previous conversation that ran out of context.\n\n\
                       Summary:\n   - The loader in src/rows.rs reads batches of 4096 rows in the order of their offsets.";
        let turns = placed([
            TurnDraft::text(Role::User, summary),
            TurnDraft::text(Role::User, "Go on with it."),
            TurnDraft::text(Role::Assistant, "I go on with the loader."),
        ]);
        let made = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
        let said: Vec<&str> = made
            .words
            .said()
            .iter()
            .map(|it| it.text.as_str())
            .collect();
        assert_eq!(said, ["Go on with it."]);
        let facts = made.entries(Field::Facts).join("\n");
        assert!(
            facts.contains("earlier summary: The loader in src/rows.rs"),
            "{facts}"
        );
        let steps = made.entries(Field::Task).join("\n");
        assert!(!steps.contains("being continued"), "{steps}");
    }
}
