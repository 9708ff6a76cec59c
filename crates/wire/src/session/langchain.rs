//! LangChain's message dumps: `{"type":"human","data":{…}}`, the constructor form
//! `{"lc":1,"type":"constructor","id":[…,"HumanMessage"],"kwargs":{…}}`, and messages with their
//! fields at the top, `{"type":"human","content":…}`.

use context::turn::{Part, Role};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::ReportedUsage;
use super::blocks::{self, Parts, outcome};
use super::chat;
use super::error::code;
use super::recording::Recording;
use super::scalar::{Content, Scalar, parse};

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    id: Content<'a>,
    data: Option<&'a RawValue>,
    kwargs: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Body<'a> {
    content: Option<&'a RawValue>,
    role: Scalar<'a>,
    tool_calls: Content<'a>,
    additional_kwargs: Option<&'a RawValue>,
    tool_call_id: Scalar<'a>,
    name: Scalar<'a>,
    status: Scalar<'a>,
    usage_metadata: Option<&'a RawValue>,
    response_metadata: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Call<'a> {
    name: Scalar<'a>,
    args: Option<&'a RawValue>,
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

/// Returns `true` for a LangChain message.
pub(super) fn is_message(text: &[u8]) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Probe<'a> {
        lc: Option<serde::de::IgnoredAny>,
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
        parts = Parts::of(&parse(body.content));
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
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Additional<'a> {
        tool_calls: Content<'a>,
    }
    let mut added = Parts::default();
    match &body.tool_calls {
        Content::Blocks(calls) if !calls.is_empty() => {
            for raw in calls {
                let call: Call<'_> = parse(Some(raw));
                let arguments = call.args.map_or("", RawValue::get);
                let (id, name) = (call.id.or_empty(), call.name.or_empty());
                added.parts.push(blocks::call(id, name, arguments));
            }
        }
        _ => {
            let additional: Additional<'_> = parse(body.additional_kwargs);
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

/// Takes the model and the usage from a message of the model.
fn metadata(recording: &mut Recording, body: &Body<'_>, turn: usize) {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Response<'a> {
        model_name: Scalar<'a>,
        model: Scalar<'a>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Reported<'a> {
        input_tokens: Scalar<'a>,
        output_tokens: Scalar<'a>,
        input_token_details: Option<&'a RawValue>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Details<'a> {
        cache_read: Scalar<'a>,
        cache_creation: Scalar<'a>,
    }
    let response: Response<'_> = parse(body.response_metadata);
    if let Some(model) = response.model_name.text().or(response.model.text()) {
        recording.model = Some(model.to_owned());
    }
    let Some(reported) = body
        .usage_metadata
        .and_then(|raw| serde_json::from_str::<Reported<'_>>(raw.get()).ok())
    else {
        return;
    };
    let details: Details<'_> = parse(reported.input_token_details);
    let (read, written) = (details.cache_read.tokens(), details.cache_creation.tokens());
    let usage = ReportedUsage {
        // LangChain's total includes what was read from and written to the cache.
        input: reported
            .input_tokens
            .tokens()
            .saturating_sub(read + written),
        output: reported.output_tokens.tokens(),
        cache_read: read,
        cache_write: written,
        ..ReportedUsage::default()
    };
    recording.report(turn, usage);
}
