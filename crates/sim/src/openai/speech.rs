//! The content of an answer, cut to its limits, before it is written.

use context::Heuristic;
use wire::api::Request;

use super::items::Call;
use super::offered::tools;
use crate::faults::Fault;
use crate::form::asked_for;
use crate::provider::Provider;
use crate::script::{Prompt, Say, asks_for_summary, newest, sources, summary};

/// The content of an answer.
#[derive(Debug, Default)]
pub(super) struct Speech {
    /// The pieces, each with its tokens.
    pub says: Vec<(Say, u64)>,
    /// `true` if the limit was reached.
    pub cut: bool,
}

impl Speech {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.says.iter().map(|(_, tokens)| tokens).sum()
    }

    /// The tokens of reasoning.
    pub fn reasoning(&self) -> u64 {
        let reasoning = self
            .says
            .iter()
            .filter(|(say, _)| matches!(say, Say::Think(_)));
        reasoning.map(|(_, tokens)| tokens).sum()
    }

    /// Returns `true` if a tool is called.
    pub fn calls(&self) -> bool {
        self.says
            .iter()
            .any(|(say, _)| matches!(say, Say::Call { .. }))
    }
}

/// Returns `true` if the last message asks for a summary in words.
pub(super) fn asks_in_words(call: &Call) -> bool {
    let last = call.items.last().map(|item| item.value.to_string());
    let first = call
        .items
        .first()
        .filter(|item| item.text("role") == "system");
    let first = first.map(|item| item.value.to_string());
    let instructions = call.text("instructions").to_owned();
    [last, first, Some(instructions)]
        .into_iter()
        .flatten()
        .any(|text| text.contains("## ") && asks_for_summary(&text.replace("\\n", "\n")))
}

/// A summary by extraction, or the text that a fault puts in its place.
pub(super) fn summarise(
    call: &Call,
    request: &Request<'_>,
    room: u64,
    in_words: bool,
    fault: Option<&Fault>,
) -> String {
    let turns = sources(request, in_words);
    summary(&turns, room, &*call.known.counter, fault)
}

/// The answer of the script.
pub(super) fn speak(
    provider: &mut Provider,
    call: &Call,
    request: &Request<'_>,
    room: u64,
) -> Speech {
    let turns = if provider.script().reads_all() {
        request.turns(&Heuristic)
    } else {
        newest(request)
    };
    let tools: Vec<String> = tools(call).into_iter().map(|tool| tool.called).collect();
    let says = provider.script().next(&Prompt {
        model: &call.known.asked,
        turns: &turns,
        tools: &tools,
        form: asked_for(request).as_ref(),
    });
    let silent = call.text("tool_choice") == "none";
    let can = |say: &Say| match say {
        Say::Call { name, .. } => !silent && tools.contains(name),
        Say::Text(text) | Say::Think(text) => !text.is_empty(),
    };
    fit(call, says.into_iter().filter(can), room)
}

/// Cuts the pieces to a number of tokens.
pub(super) fn fit(call: &Call, says: impl Iterator<Item = Say>, room: u64) -> Speech {
    let mut speech = Speech::default();
    let mut left = room;
    for say in says {
        let tokens = match &say {
            Say::Text(text) | Say::Think(text) => call.known.count(text),
            Say::Call { name, input } => {
                call.known.count(name) + call.known.count(&input.to_string())
            }
        };
        if tokens <= left {
            left -= tokens;
            speech.says.push((say, tokens));
            continue;
        }
        speech.cut = true;
        if let Say::Text(text) = say {
            let (text, tokens) = call.known.shorten(text, left);
            if !text.is_empty() {
                speech.says.push((Say::Text(text), tokens));
            }
        }
        break;
    }
    speech
}
