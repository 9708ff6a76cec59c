//! Copilot CLI's JSON Lines: events `{"type","data","id","timestamp","parentId"}`. Events with a
//! `parentToolCallId` are a subagent's and become sessions of their own.

use context::turn::{CallId, Part, Role, ToolCall};
use context::{Text, TokenCounter, Tokens};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{Parts, outcome};
use super::chat::unquoted;
use super::error::code;
use super::lines::{Line, slice};
use super::recording::{Recorded, Recording, time};
use super::scalar::{Content, Scalar};
use super::{Compaction, Format};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    timestamp: Scalar<'a>,
    #[serde(borrow)]
    data: Option<Data<'a>>,
}

/// Every field of interest that an event of any type may have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_text: Scalar<'a>,
    #[serde(borrow)]
    tool_requests: Content<'a>,
    #[serde(borrow)]
    tool_call_id: Scalar<'a>,
    #[serde(borrow)]
    parent_tool_call_id: Scalar<'a>,
    #[serde(borrow)]
    success: Scalar<'a>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    selected_model: Scalar<'a>,
    #[serde(borrow)]
    new_model: Scalar<'a>,
    #[serde(borrow)]
    summary_content: Scalar<'a>,
    #[serde(borrow)]
    pre_compaction_tokens: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    tool_call_id: Scalar<'a>,
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
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
    for (line, place) in lines.iter().enumerate() {
        let text = slice(bytes, place.text.clone());
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let Ok(event) = serde_json::from_slice::<Event<'_>>(text) else {
            main.problem(line, code::BROKEN, "not a JSON object of a known shape");
            continue;
        };
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
    let content = data.content.map_or("null", RawValue::get);
    Parts::of(&serde_json::from_str(content).unwrap_or_default())
}

fn answer(data: &Data<'_>) -> Parts {
    let mut parts = Parts::default();
    if let Some(reasoning) = data.reasoning_text.text() {
        parts.parts.push(Part::Thinking(Text::from(reasoning)));
    }
    let said = content(data);
    parts.parts.extend(said.parts);
    parts.unknown.extend(said.unknown);
    if let Content::Blocks(requests) = &data.tool_requests {
        for raw in requests {
            let request = serde_json::from_str::<Request<'_>>(raw.get()).unwrap_or_default();
            parts.parts.push(Part::Call(ToolCall {
                id: CallId::from(request.tool_call_id.or_empty()),
                name: Text::from(request.name.or_empty()),
                arguments: Text::from(unquoted(request.arguments).as_ref()),
            }));
        }
    }
    parts
}

/// The answer of a tool: `result.content`, or `error.message` where it failed.
fn result(data: &Data<'_>) -> Parts {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Answer<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        #[serde(borrow)]
        message: Option<&'a RawValue>,
    }
    let answer = data.result.or(data.error);
    let inner = answer
        .and_then(|raw| serde_json::from_str::<Answer<'_>>(raw.get()).ok())
        .and_then(|inner| inner.content.or(inner.message));
    let failed = data.success == Scalar::Bool(false);
    let mut parts = Parts::default();
    parts.result(
        data.tool_call_id.or_empty(),
        inner.or(answer),
        outcome(failed),
    );
    parts
}
