//! Subjects of pins: a text, turns of the conversation, or the last read of a file.

use super::PinError;
use crate::extract::steps::{Step, steps};
use crate::summary::one_line;
use crate::turn::{Outcome, Part, Role, ToolCall, Turn};

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
