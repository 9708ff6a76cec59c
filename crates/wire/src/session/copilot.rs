//! Copilot CLI's JSON Lines: events `{"type","data","id","timestamp","parentId"}`. Events with a
//! `parentToolCallId` are a subagent's and become sessions of their own.

use context::turn::{Part, Role};
use context::{Text, TokenCounter, Tokens};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{Parts, call, outcome};
use super::chat::unquoted;
use super::lines::Line;
use super::recording::{Recorded, Recording, time};
use super::scalar::{Content, Scalar, parse};
use super::{Compaction, Format};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    timestamp: Scalar<'a>,
    data: Option<Data<'a>>,
}

/// Every field of interest that an event of any type may have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Data<'a> {
    content: Option<&'a RawValue>,
    reasoning_text: Scalar<'a>,
    tool_requests: Content<'a>,
    tool_call_id: Scalar<'a>,
    parent_tool_call_id: Scalar<'a>,
    success: Scalar<'a>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    selected_model: Scalar<'a>,
    new_model: Scalar<'a>,
    summary_content: Scalar<'a>,
    pre_compaction_tokens: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Request<'a> {
    tool_call_id: Scalar<'a>,
    name: Scalar<'a>,
    arguments: Option<&'a RawValue>,
}

/// Reads the sessions of a log: the conversation first, then its subagents.
pub(super) fn load(
    bytes: &[u8],
    lines: &[Line],
    title: &str,
    counter: &dyn TokenCounter,
) -> Vec<Recorded> {
    let mut main = Recording::default();
    let mut agents: Vec<(String, Recording)> = Vec::new();
    for (line, _, event) in main.records::<Event<'_>>(bytes, lines) {
        let agent = event
            .data
            .as_ref()
            .and_then(|data| data.parent_tool_call_id.text());
        let Some(agent) = agent else {
            read(&mut main, &event, line);
            continue;
        };
        if !agents.iter().any(|(known, _)| known == agent) {
            agents.push((agent.to_owned(), Recording::default()));
        }
        if let Some((_, recording)) = agents.iter_mut().find(|(known, _)| known == agent) {
            read(recording, &event, line);
        }
    }
    let mut sessions = vec![main.finish(Format::Copilot, title.to_owned(), counter)];
    for (number, (_, recording)) in agents.into_iter().enumerate() {
        let title = format!("{title} (subagent {})", number + 1);
        sessions.push(recording.finish(Format::Copilot, title, counter));
    }
    sessions
}

fn read(recording: &mut Recording, event: &Event<'_>, line: usize) {
    let nothing = Data::default();
    let data = event.data.as_ref().unwrap_or(&nothing);
    let at = time(&event.timestamp);
    match event.kind.or_empty() {
        "user.message" => {
            recording.say(Role::User, content(data), at, line);
        }
        "system.message" => {
            recording.say(Role::System, content(data), at, line);
        }
        "assistant.message" => {
            recording.say(Role::Assistant, answer(data), at, line);
        }
        "tool.execution_complete" => {
            recording.say(Role::Tool, result(data), at, line);
        }
        "session.compaction_complete" if data.summary_content.text().is_some() => {
            recording.compactions.push(Compaction {
                before: recording.said.len(),
                tokens_before: data.pre_compaction_tokens.count().map(Tokens::new),
                summary: Text::from(data.summary_content.or_empty()),
            });
        }
        kind => {
            if let Some(model) = data.selected_model.text().or(data.new_model.text()) {
                recording.model = Some(model.to_owned());
            }
            match kind {
                "session.start" => recording.headers.push(line),
                _ => recording.asides.push(line),
            }
        }
    }
}

fn content(data: &Data<'_>) -> Parts {
    Parts::of(&parse(data.content))
}

fn answer(data: &Data<'_>) -> Parts {
    let mut parts = Parts::default();
    if let Some(reasoning) = data.reasoning_text.text() {
        parts.parts.push(Part::Thinking(Text::from(reasoning)));
    }
    parts.extend(content(data));
    if let Content::Blocks(requests) = &data.tool_requests {
        for raw in requests {
            let request: Request<'_> = parse(Some(raw));
            let (id, name) = (request.tool_call_id.or_empty(), request.name.or_empty());
            parts
                .parts
                .push(call(id, name, &unquoted(request.arguments)));
        }
    }
    parts
}

/// The answer of a tool: `result.content`, or `error.message` where it failed.
fn result(data: &Data<'_>) -> Parts {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Answer<'a> {
        content: Option<&'a RawValue>,
        message: Option<&'a RawValue>,
    }
    let answer = data.result.or(data.error);
    let inner: Answer<'_> = parse(answer);
    let inner = inner.content.or(inner.message);
    let failed = data.success == Scalar::Bool(false);
    let mut parts = Parts::default();
    parts.result(
        data.tool_call_id.or_empty(),
        inner.or(answer),
        outcome(failed),
    );
    parts
}
