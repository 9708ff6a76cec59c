//! LangChain's message dumps: `{"type":"human","data":{…}}`, the constructor form
//! `{"lc":1,"type":"constructor","id":[…,"HumanMessage"],"kwargs":{…}}`, and messages with their
//! fields at the top, `{"type":"human","content":…}`.

use context::Text;
use context::Tokens;
use context::turn::{CallId, Part, Role, ToolCall};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{Parts, outcome};
use super::chat;
use super::error::code;
use super::recording::{Recording, Usage};
use super::scalar::{Content, Scalar};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    id: Content<'a>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    kwargs: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    role: Scalar<'a>,
    #[serde(borrow)]
    tool_calls: Content<'a>,
    #[serde(borrow)]
    additional_kwargs: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Scalar<'a>,
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    status: Scalar<'a>,
    #[serde(borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    response_metadata: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Scalar<'a>,
}

/// The name of a message's class in lower case without `Message`: `human`, `ai`, `tool`, …
fn kind(envelope: &Envelope<'_>) -> String {
    let class = match &envelope.id {
        Content::Blocks(path) => path
            .last()
            .map(|last| chat::unquoted(Some(last)).into_owned()),
        _ => None,
    };
    let name = match (envelope.kind.text(), class) {
        (Some("constructor") | None, Some(class)) => class,
        (Some(kind), _) => kind.to_owned(),
        (None, None) => String::new(),
    };
    let name = name.trim_end_matches("Chunk").trim_end_matches("Message");
    name.to_ascii_lowercase()
}

/// Whether a JSON object is a message of LangChain's.
pub(super) fn is_message(text: &[u8]) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Probe<'a> {
        lc: Option<serde::de::IgnoredAny>,
        #[serde(borrow)]
        role: Scalar<'a>,
    }
    let Ok(probe) = serde_json::from_slice::<Probe<'_>>(text) else {
        return false;
    };
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(text) else {
        return false;
    };
    let known = [
        "human",
        "ai",
        "system",
        "tool",
        "function",
        "chat",
        "developer",
        "remove",
    ];
    (probe.lc.is_some() || probe.role == Scalar::Null) && known.contains(&kind(&envelope).as_str())
}

/// Reads one message.
pub(super) fn message(recording: &mut Recording, text: &[u8], piece: usize, at: Option<Timestamp>) {
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(text) else {
        return recording.problem(piece, code::BROKEN, "not a message");
    };
    let inner = envelope.data.or(envelope.kwargs);
    let body = match inner {
        Some(inner) => serde_json::from_str::<Body<'_>>(inner.get()),
        None => serde_json::from_slice::<Body<'_>>(text),
    };
    let Ok(body) = body else {
        return recording.problem(piece, code::BROKEN, "not a message");
    };
    let kind = kind(&envelope);
    let role = match kind.as_str() {
        "chat" => chat::role(body.role.or_empty()),
        kind => chat::role(kind),
    };
    let mut parts = Parts::default();
    if role == Role::Tool {
        let id = body.tool_call_id.text().unwrap_or(body.name.or_empty());
        let failed = body.status.text() == Some("error");
        parts.result(id, body.content, outcome(failed));
    } else {
        let content = body.content.map_or("null", RawValue::get);
        let content = serde_json::from_str::<Content<'_>>(content).unwrap_or_default();
        parts = Parts::of(&content);
        calls(&mut parts, &body);
    }
    let turn = recording.say(role, parts, at, piece);
    if role == Role::Assistant {
        metadata(recording, &body, turn);
    }
}

/// Adds the calls that are not in the content already: LangChain's own list, else the provider's.
fn calls(parts: &mut Parts, body: &Body<'_>) {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Additional<'a> {
        #[serde(borrow)]
        tool_calls: Content<'a>,
    }
    let mut added = Parts::default();
    match &body.tool_calls {
        Content::Blocks(calls) if !calls.is_empty() => {
            for raw in calls {
                let call = serde_json::from_str::<Call<'_>>(raw.get()).unwrap_or_default();
                added.parts.push(Part::Call(ToolCall {
                    id: CallId::from(call.id.or_empty()),
                    name: Text::from(call.name.or_empty()),
                    arguments: Text::from(call.args.map_or("", RawValue::get)),
                }));
            }
        }
        _ => {
            let additional = body
                .additional_kwargs
                .and_then(|raw| serde_json::from_str::<Additional<'_>>(raw.get()).ok())
                .unwrap_or_default();
            chat::calls(&mut added, &additional.tool_calls);
        }
    }
    for part in added.parts {
        let known = parts.parts.iter().any(|other| match (other, &part) {
            (Part::Call(known), Part::Call(call)) => known.id == call.id,
            _ => false,
        });
        if !known {
            parts.parts.push(part);
        }
    }
}

/// Takes the model and the usage that a message of the model's names.
fn metadata(recording: &mut Recording, body: &Body<'_>, turn: usize) {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Response<'a> {
        #[serde(borrow)]
        model_name: Scalar<'a>,
        #[serde(borrow)]
        model: Scalar<'a>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Reported<'a> {
        #[serde(borrow)]
        input_tokens: Scalar<'a>,
        #[serde(borrow)]
        output_tokens: Scalar<'a>,
        #[serde(borrow)]
        input_token_details: Option<&'a RawValue>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Details<'a> {
        #[serde(borrow)]
        cache_read: Scalar<'a>,
        #[serde(borrow)]
        cache_creation: Scalar<'a>,
    }
    let response = body
        .response_metadata
        .and_then(|raw| serde_json::from_str::<Response<'_>>(raw.get()).ok())
        .unwrap_or_default();
    if let Some(model) = response.model_name.text().or(response.model.text()) {
        recording.model = Some(model.to_owned());
    }
    let Some(reported) = body
        .usage_metadata
        .and_then(|raw| serde_json::from_str::<Reported<'_>>(raw.get()).ok())
    else {
        return;
    };
    let details = reported
        .input_token_details
        .and_then(|raw| serde_json::from_str::<Details<'_>>(raw.get()).ok())
        .unwrap_or_default();
    let tokens = |value: &Scalar<'_>| Tokens::new(value.count().unwrap_or_default());
    let (read, written) = (tokens(&details.cache_read), tokens(&details.cache_creation));
    let usage = Usage {
        // LangChain's total includes what was read from and written to the cache.
        input: tokens(&reported.input_tokens).saturating_sub(read + written),
        output: tokens(&reported.output_tokens),
        cache_read: read,
        cache_write: written,
    };
    recording.report(turn, usage);
}
