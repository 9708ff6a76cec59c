//! Pulses read off a conversation.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::turn::{Outcome, Part, Role, ToolCall, ToolResult, Turn};
use crate::units::{Pressure, Tokens};

use super::pulse::{Phase, Pulse};

/// One pulse for every assistant turn, with the results of its calls as the answer.
///
/// The action is the step's calls or, without calls, its text. Pressure is the share of a window of
/// `window` tokens that all turns up to there take. A turn without a time gets one a second after
/// the turn before it. An answer is a failure where every result of the step is one.
#[must_use]
pub fn pulses(agent: &str, turns: &[Turn], window: Tokens) -> Vec<Pulse> {
    let mut used = Tokens::ZERO;
    let mut time = Timestamp::UNIX_EPOCH;
    let mut out = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        used += turn.tokens();
        time = turn
            .at()
            .or_else(|| time.checked_add(SignedDuration::from_secs(1)).ok())
            .unwrap_or(time);
        let Some(pulse) = pulse_at(agent, time, turns, index) else {
            continue;
        };
        out.push(
            pulse
                .with_pressure(Pressure::of(used, window))
                .with_turns(index as u64 + 1),
        );
    }
    out
}

/// One pulse for each of the last `most` assistant turns, as [`pulses`] reads them, all of the time `at` and
/// without a pressure. No other turn is looked at but for its role.
#[must_use]
pub fn newest_pulses(agent: &str, turns: &[Turn], most: usize, at: Timestamp) -> Vec<Pulse> {
    let spoken = turns.iter().enumerate();
    let spoken = spoken.filter(|(_, turn)| turn.role() == Role::Assistant);
    let newest: Vec<usize> = spoken.rev().take(most).map(|(index, _)| index).collect();
    let newest = newest.into_iter().rev();
    newest
        .filter_map(|index| pulse_at(agent, at, turns, index))
        .collect()
}

/// The pulse of the turn with this index, where it is one of the assistant.
fn pulse_at(agent: &str, at: Timestamp, turns: &[Turn], index: usize) -> Option<Pulse> {
    let turn = turns.get(index)?;
    if turn.role() != Role::Assistant {
        return None;
    }
    let rest = turns.get(index + 1..).unwrap_or(&[]);
    let pulse = Pulse::new(agent, at, phase(turn, rest), &done(turn));
    Some(answered(pulse, turn, rest))
}

/// The action of an assistant turn.
fn done(turn: &Turn) -> String {
    let mut calls = String::new();
    for call in turn.calls() {
        calls.push_str(&call.name);
        calls.push('\n');
        calls.push_str(&call.arguments);
        calls.push('\n');
    }
    if calls.is_empty() {
        turn.readable()
    } else {
        calls
    }
}

fn phase(turn: &Turn, rest: &[Turn]) -> Phase {
    let mut calls = turn.calls().peekable();
    if calls.peek().is_some() {
        if calls.all(waits) {
            Phase::Waiting
        } else {
            Phase::Acting
        }
    } else if rest.first().is_none_or(|next| next.role() == Role::User) {
        Phase::Yielding
    } else {
        Phase::Thinking
    }
}

/// Returns true if a call only waits: a tool that is made for it, or a shell command that begins with `sleep`.
fn waits(call: &ToolCall) -> bool {
    let name = call.own_name().to_ascii_lowercase();
    let made_for_it = ["sleep", "wait", "poll", "bashoutput", "taskoutput"];
    if made_for_it
        .iter()
        .any(|tool| name == *tool || name.starts_with(&format!("{tool}_")))
    {
        return true;
    }
    let sleeps = || {
        let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
        let command = arguments.get("command")?.as_str()?;
        Some(command.trim_start().starts_with("sleep "))
    };
    // A command that sleeps is short; a file's content is not worth parsing.
    call.arguments.len() < 4_096 && sleeps().unwrap_or(false)
}

/// The pulse with what the turn's calls got, where any of them got something.
fn answered(pulse: Pulse, turn: &Turn, rest: &[Turn]) -> Pulse {
    let step = || {
        rest.iter()
            .take_while(|next| next.role() != Role::Assistant)
            .flat_map(Turn::parts)
            .filter_map(|part| match part {
                Part::Result(result) => Some(result),
                _ => None,
            })
    };
    let results: Vec<&ToolResult> = turn
        .calls()
        .filter_map(|call| step().find(|result| result.call == call.id))
        .collect();
    if results.is_empty() {
        return pulse;
    }
    let all_failed = results
        .iter()
        .all(|result| result.outcome == Outcome::Failed);
    let text = match results.as_slice() {
        [one] => Cow::Borrowed(one.text.as_str()),
        several => {
            let texts: Vec<&str> = several.iter().map(|result| result.text.as_str()).collect();
            Cow::Owned(texts.join("\n"))
        }
    };
    let outcome = if all_failed {
        Outcome::Failed
    } else {
        Outcome::Succeeded
    };
    pulse.with_answer(&text, outcome)
}
