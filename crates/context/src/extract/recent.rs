//! The last steps of the work, a line a step: statements, calls, and the results that tell something. The next
//! step follows from them.

use serde_json::Value;

use super::fields::clip;
use super::steps::{Action, Step};
use crate::counter::TokenCounter;
use crate::summary::one_line;
use crate::turn::{Part, Provenance, Role, Turn};
use crate::units::Tokens;

/// The longest quotation of a statement, in bytes.
const STATEMENT: usize = 280;
/// The longest argument that is no path, in bytes.
const ARGUMENT: usize = 110;
/// The length at which a call takes no further argument, in bytes.
const CALL: usize = 240;
/// The longest line of a result, in bytes.
const RESULT: usize = 130;
/// The longest quotation of the user, in bytes: the words themselves stand in front of the summary.
const REQUEST: usize = 80;

/// The share of a summary that the last steps have where it is small and where it is large. In a small one little
/// else tells how to go on; a large one has room for what is needed later.
const SHARES: (f64, f64) = (0.65, 0.12);
/// The sizes of a small and of a large summary, in tokens.
const SIZES: (f64, f64) = (2_000.0, 4_000.0);
/// The most tokens that the last steps may have.
const MOST: Tokens = Tokens::new(700);

/// The room of the last steps in a summary with so much room.
pub(super) fn room(summary: Tokens) -> Tokens {
    let ((small, large), (from, to)) = (SHARES, SIZES);
    let grown = ((summary.as_f64() - from) / (to - from)).clamp(0.0, 1.0);
    let share = small + (large - small) * grown;
    summary.scaled(share).min(MOST)
}

/// As many of the last steps as fit in `room`, oldest first, and the index of the first turn that they tell. `steps`
/// are those of `turns`.
pub(super) fn lines(
    turns: &[Turn],
    steps: &[Step<'_>],
    room: Tokens,
    counter: &dyn TokenCounter,
) -> (Vec<String>, usize) {
    let mut out: Vec<String> = Vec::new();
    let mut first = turns.len();
    let mut left = room;
    let mut calls = steps.iter().rev();
    let parts = turns
        .iter()
        .enumerate()
        .rev()
        .flat_map(|(at, turn)| turn.parts().iter().rev().map(move |part| (at, turn, part)));
    for (at, turn, part) in parts {
        let line = match part {
            Part::Text(text) => statement(turn, text),
            Part::Call(_) => calls.next().map(call),
            _ => None,
        };
        let Some(line) = line.filter(|line| out.last() != Some(line)) else {
            continue;
        };
        let cost = counter.count(&line) + Tokens::new(2);
        if cost > left {
            break;
        }
        left = left.saturating_sub(cost);
        first = at;
        out.push(line);
    }
    out.reverse();
    (out, first)
}

/// A statement of the assistant or the user.
fn statement(turn: &Turn, text: &str) -> Option<String> {
    let (by, most) = match turn.role() {
        Role::Assistant => ("assistant", STATEMENT),
        // Text in brackets is a client's.
        Role::User if turn.provenance() == Provenance::Said && !text.starts_with(['[', '<']) => {
            ("user", REQUEST)
        }
        _ => return None,
    };
    let said = clip(text, most);
    said.contains(char::is_alphanumeric)
        .then(|| format!("{by}: {said}"))
}

/// A call with its arguments, and the telling line of its result.
fn call(step: &Step<'_>) -> String {
    let mut out = step.call.name.to_string();
    let action = step.actions().into_iter().next();
    let runs = matches!(action, Some(Action::Ran(_)));
    match &step.arguments {
        Value::Object(members) => {
            // A description beside a command says the same as the command.
            let members = members
                .iter()
                .filter(|(key, _)| !(runs && *key == "description"));
            for (key, value) in members {
                if let Some(value) = argument(value).filter(|_| out.len() <= CALL) {
                    out.extend([" ", key, ": ", &value]);
                }
            }
        }
        _ => out.extend([" ", &clip(&one_line(&step.call.arguments), CALL)]),
    }
    match step.result {
        None => out.push_str(" (no result yet)"),
        Some(_) if step.failed() => out.push_str(" (failed)"),
        // A file that was read or changed is still there.
        Some(_) if !matches!(action, Some(Action::Ran(_) | Action::Other)) => return out,
        Some(_) => {}
    }
    if let Some(line) = step.telling_line() {
        out.extend([" -> ", &clip(line, RESULT)]);
    }
    out
}

/// The first line of an argument; none of a flag.
fn argument(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Null => return None,
        other => other.to_string(),
    };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let is_path = first.contains('/') && !first.contains(' ');
    let mut shown = clip(first, if is_path { ARGUMENT * 2 } else { ARGUMENT });
    if lines.next().is_some() && !shown.ends_with('…') {
        shown.push_str(" …");
    }
    Some(shown)
}
