//! Subjects of pins: a text, turns of the conversation, or the last read of a file.

use super::PinError;
use crate::extract::steps::{Step, steps};
use crate::summary::one_line;
use crate::turn::{Outcome, Part, Role, ToolCall, Turn, TurnId};

/// Characters of a call's arguments that stand in the line above its result.
const ARGUMENTS: usize = 200;

/// The text of a pin, or the place in the conversation to take it from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// This text.
    Text(String),
    /// The last of these turns, counted from 1, and how many turns end with it.
    Turns(usize, usize),
    /// The newest result of a call that reads the file at this path.
    File(String),
}

impl Subject {
    /// Reads what a program names: a handle (`turn:14`, `turns:13-14`, `path:src/a.rs`), or any other text,
    /// which stands for itself.
    #[must_use]
    pub fn named(named: &str) -> Self {
        let turns = |first: &str, last: &str| {
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            let count = last.checked_sub(first)?.checked_add(1)?;
            Some(Self::Turns(last, count))
        };
        let handle = match named.split_once(':') {
            Some(("turn", turn)) => turns(turn, turn),
            Some(("turns", range)) => range
                .split_once('-')
                .and_then(|(first, last)| turns(first, last)),
            Some(("path", path)) if !path.is_empty() && !path.starts_with(char::is_whitespace) => {
                Some(Self::File(path.to_owned()))
            }
            _ => None,
        };
        handle.unwrap_or_else(|| Self::Text(named.to_owned()))
    }

    /// Returns the user turn that is pinned whole. `None` for any other subject.
    #[must_use]
    pub fn users_turn(&self, turns: &[Turn]) -> Option<TurnId> {
        let Self::Turns(last, 1) = self else {
            return None;
        };
        let turn = turns.get(last.checked_sub(1)?)?;
        (turn.role() == Role::User).then(|| turn.id())
    }

    /// Returns true if a pinned text is an earlier read of the file that this handle names.
    #[must_use]
    pub fn is_read(&self, pinned: &str) -> bool {
        let Self::File(path) = self else {
            return false;
        };
        let head = pinned.lines().next().unwrap_or_default();
        head.starts_with("Result of ") && head.contains(path.as_str())
    }

    /// Returns the text to pin, where `turns` are the conversation from its first turn on. Words of a turn stand
    /// in it verbatim. Words of tools and of the assistant stand between tags, under a line that names
    /// their source, so that they do not pass for the user's.
    ///
    /// # Errors
    /// Where there is no such turn, no such read, or nothing to read in it.
    pub fn text(&self, turns: &[Turn]) -> Result<String, PinError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Turns(last, count) => turns_text(turns, *last, *count),
            Self::File(path) => {
                let steps = steps(turns);
                let read = last_read(&steps, path).ok_or_else(|| PinError::NoRead(path.clone()))?;
                let result = read.result.map_or("", |result| &result.text);
                Ok(result_text(Some(read.call), result))
            }
        }
    }
}

/// Returns the handle of a turn, counted from 1.
#[must_use]
pub fn handle(turn: usize) -> String {
    format!("turn:{turn}")
}

/// Returns true if a tool or the model said a text, or a part of it, and neither the user nor the operator said
/// all of it.
#[must_use]
pub fn is_foreign(text: &str, turns: &[Turn]) -> bool {
    let text = text.trim();
    let said = |turn: &Turn, own: bool| -> Vec<String> {
        let parts = turn.parts().iter();
        let wanted = parts.filter(|part| is_own(turn, part) == own);
        wanted.flat_map(Part::readable).map(str::to_owned).collect()
    };
    // A strategy is told the parts of a turn as one text.
    let holds = |pieces: &[String]| pieces.join("\n").contains(text);
    if turns.iter().any(|turn| holds(&said(turn, true))) {
        return false;
    }
    turns.iter().any(|turn| {
        let foreign = said(turn, false);
        let quotes = |piece: &String| piece.trim().len() >= QUOTED && text.contains(piece.trim());
        holds(&foreign) || foreign.iter().any(quotes)
    })
}

/// The shortest text of a tool or the model that makes a text around it foreign, in bytes.
const QUOTED: usize = 24;

/// Returns true for the words of the user and the operator. Results of tools may stand in a user's turn.
fn is_own(turn: &Turn, part: &Part) -> bool {
    matches!(turn.role(), Role::User | Role::System) && matches!(part, Part::Text(_))
}

fn turns_text(turns: &[Turn], last: usize, count: usize) -> Result<String, PinError> {
    let wanted = last
        .checked_sub(count.max(1))
        .and_then(|first| turns.get(first..last));
    let Some(wanted) = wanted else {
        let known = turns.len();
        return Err(PinError::NoTurn { turn: last, known });
    };
    // Calls may stand in any turn before.
    let steps = steps(turns.get(..last).unwrap_or_default());
    let texts = wanted.iter().flat_map(|turn| turn_texts(turn, &steps));
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

fn turn_texts(turn: &Turn, steps: &[Step<'_>]) -> Vec<String> {
    let text = |part: &Part| match part {
        Part::Text(text) if turn.role() == Role::User => Some(text.to_string()),
        Part::Text(text) => Some(tagged(turn.role().as_str(), text)),
        Part::Call(call) => Some(tagged(
            "tool_call",
            &format!("{} {}", call.name, call.arguments),
        )),
        Part::Result(result) => {
            let answers =
                |step: &&Step<'_>| step.result.is_some_and(|found| std::ptr::eq(found, result));
            let call = steps.iter().find(answers).map(|step| step.call);
            Some(result_text(call, &result.text))
        }
        Part::Thinking(_) | Part::Attachment(_) | Part::Opaque(_) => None,
    };
    turn.parts().iter().filter_map(text).collect()
}

/// The result of a call, under a line that names the call.
fn result_text(call: Option<&ToolCall>, result: &str) -> String {
    let tagged = tagged("tool_result", result);
    let Some(call) = call else {
        return tagged;
    };
    let arguments = one_line(&call.arguments);
    let shown: String = arguments.chars().take(ARGUMENTS).collect();
    let cut = if shown.len() < arguments.len() {
        "…"
    } else {
        ""
    };
    format!("Result of {} {shown}{cut}:\n{tagged}", one_line(&call.name))
}

/// A text between tags: no line of it is obeyed as the user's, even where a client takes it for typed.
fn tagged(name: &str, text: &str) -> String {
    format!("<{name}>\n{text}\n</{name}>")
}

/// The newest call that reads the file and was answered; where none only reads it, the newest that names it
/// without changing it.
fn last_read<'s, 'a>(steps: &'s [Step<'a>], path: &str) -> Option<&'s Step<'a>> {
    let is_answered = |step: &&Step<'_>| {
        step.result
            .is_some_and(|result| result.outcome != Outcome::Failed)
    };
    let answered = || steps.iter().rev().filter(is_answered);
    answered()
        .find(|step| step.reads(path))
        .or_else(|| answered().find(|step| step.names(path)))
}
