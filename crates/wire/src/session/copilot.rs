//! Copilot CLI's JSON Lines: events `{"type","data","id","timestamp","parentId"}`. Events with a
//! `parentToolCallId` are a subagent's and become sessions of their own.

use context::turn::Role;
use context::{Text, TokenCounter, Tokens};

use super::blocks::Parts;
use super::chat::unquoted;
use super::lines::Line;
use super::recording::{Recorded, Recording};
use super::{Compaction, Format};
use crate::api::json::tree::Value;

/// Reads the sessions of a log: the conversation first, then its subagents.
pub(super) fn load(
    bytes: &[u8],
    lines: &[Line],
    title: &str,
    counter: &dyn TokenCounter,
) -> Vec<Recorded> {
    let mut main = Recording::default();
    let mut agents: Vec<(String, Recording)> = Vec::new();
    for (line, tree) in main.records(bytes, lines) {
        let event = tree.root();
        let data = event.get("data");
        let Some(agent) = data.and_then(|data| data.get_text("parentToolCallId")) else {
            read(&mut main, event, line);
            continue;
        };
        if !agents.iter().any(|(known, _)| *known == agent) {
            agents.push((agent.clone().into_owned(), Recording::default()));
        }
        if let Some((_, recording)) = agents.iter_mut().find(|(known, _)| *known == agent) {
            read(recording, event, line);
        }
    }
    let mut sessions = vec![main.finish(Format::Copilot, title.to_owned(), counter)];
    for (number, (_, recording)) in agents.into_iter().enumerate() {
        let title = format!("{title} (subagent {})", number + 1);
        sessions.push(recording.finish(Format::Copilot, title, counter));
    }
    sessions
}

fn read(recording: &mut Recording, event: Value<'_>, line: usize) {
    // An event without data has none of its fields.
    let data = event.inner("data").unwrap_or(event);
    let at = event.time("timestamp");
    let kind = event.word("type");
    let (role, parts) = match &*kind {
        "user.message" => (Role::User, Parts::of(data.get("content"))),
        "system.message" => (Role::System, Parts::of(data.get("content"))),
        "assistant.message" => (Role::Assistant, answer(data)),
        "tool.execution_complete" => (Role::Tool, result(data)),
        _ => return read_other(recording, (&kind, event), data, line),
    };
    recording.say(role, parts, at, line);
}

/// Reads an event that is no message.
fn read_other(
    recording: &mut Recording,
    (kind, event): (&str, Value<'_>),
    data: Value<'_>,
    line: usize,
) {
    let summary = data.get_text("summaryContent");
    if let ("session.compaction_complete", Some(summary)) = (kind, summary) {
        let compaction = Compaction {
            before: recording.said.len(),
            tokens_before: data.count("preCompactionTokens").map(Tokens::new),
            summary: Text::from(&*summary),
            by_hand: false,
        };
        let at = event.time("timestamp");
        return recording.compacted(compaction, recording.originals(|_| false), at, vec![line]);
    }
    let model = data.get_text("selectedModel");
    if let Some(model) = model.or_else(|| data.get_text("newModel")) {
        recording.model = Some(model.into_owned());
    }
    match kind {
        "session.start" => recording.headers.push(line),
        _ => recording.asides.push(line),
    }
}

fn answer(data: Value<'_>) -> Parts {
    let mut parts = Parts::default();
    if let Some(reasoning) = data.get_text("reasoningText") {
        parts.thinking(&reasoning);
    }
    parts.extend(Parts::of(data.get("content")));
    for request in data.list("toolRequests") {
        let (id, name) = (request.word("toolCallId"), request.word("name"));
        parts.call(&id, &name, &unquoted(request.field("arguments")));
    }
    parts
}

/// The answer of a tool: `result.content`, or `error.message` where it failed.
fn result(data: Value<'_>) -> Parts {
    let answer = data.field("result").or_else(|| data.field("error"));
    let inner = answer.and_then(|it| it.field("content").or_else(|| it.field("message")));
    let failed = data.get("success").is_some_and(|it| it.raw() == "false");
    Parts::answered(&data.word("toolCallId"), inner.or(answer), failed)
}
