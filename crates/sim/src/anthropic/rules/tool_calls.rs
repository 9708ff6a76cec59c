//! Calls and results: each call is answered in the next user turn, results first, nothing else.

use std::collections::BTreeSet;

use crate::anthropic::content::{Block, Kind, Role};
use crate::anthropic::request::Call;
use crate::refusal::Refusal;

/// A turn: consecutive messages of one role.
struct Turn<'c> {
    role: Role,
    /// The index of its first message.
    at: usize,
    blocks: Vec<(usize, usize, &'c Block)>,
}

pub(crate) fn check(call: &Call) -> Result<(), Refusal> {
    let turns = turns(call);
    let mut ids = BTreeSet::new();
    for turn in &turns {
        for (_, _, block) in turn
            .blocks
            .iter()
            .filter(|(_, _, it)| it.kind == Kind::ToolUse)
        {
            if !ids.insert(block.call()) {
                return Err(Refusal::invalid("messages: `tool_use` ids must be unique"));
            }
        }
    }
    for (place, turn) in turns.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| turns.get(before));
        let asked: Vec<&str> = calls(before).collect();
        results(turn, &asked)?;
        let unanswered: Vec<&str> = match turns.get(place + 1) {
            Some(next) => {
                let answers = leading(next);
                calls(Some(turn))
                    .filter(|id| !answers.contains(id))
                    .collect()
            }
            None => calls(Some(turn)).collect(),
        };
        if !unanswered.is_empty() {
            return Err(unanswered_calls(turn.at, &unanswered));
        }
    }
    Ok(())
}

fn turns(call: &Call) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (at, message) in call.messages.iter().enumerate() {
        let blocks = message
            .blocks
            .iter()
            .enumerate()
            .map(|(place, block)| (at, place, block));
        match turns.last_mut() {
            Some(turn) if turn.role == message.role => turn.blocks.extend(blocks),
            _ => turns.push(Turn {
                role: message.role,
                at,
                blocks: blocks.collect(),
            }),
        }
    }
    turns
}

fn calls<'t>(turn: Option<&'t Turn<'_>>) -> impl Iterator<Item = &'t str> {
    turn.into_iter()
        .filter(|turn| turn.role == Role::Assistant)
        .flat_map(|turn| &turn.blocks)
        .filter(|(_, _, block)| block.kind == Kind::ToolUse)
        .map(|(_, _, block)| block.call())
}

/// The results that stand before anything else in a turn.
fn leading<'t>(turn: &'t Turn<'_>) -> BTreeSet<&'t str> {
    turn.blocks
        .iter()
        .map(|(_, _, block)| block)
        .take_while(|block| block.kind == Kind::ToolResult)
        .map(|block| block.call())
        .collect()
}

fn unanswered_calls(at: usize, ids: &[&str]) -> Refusal {
    Refusal::invalid(format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    ))
}

fn results(turn: &Turn<'_>, asked: &[&str]) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for (at, place, block) in &turn.blocks {
        if block.kind != Kind::ToolResult {
            continue;
        }
        let id = block.call();
        if !asked.contains(&id) {
            return Err(Refusal::invalid(format!(
                "messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )));
        }
        if !seen.insert(id) {
            return Err(Refusal::invalid(format!(
                "messages.{at}.content.{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            )));
        }
    }
    Ok(())
}
