//! Lists of chat messages: OpenAI's and Anthropic's, whose messages do not clash, and with them
//! tau-bench, SWE-agent and LongMemEval, which put such lists into records of their own.

use std::borrow::Cow;

use context::Text;
use context::turn::{Part, Role};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::ReportedUsage;
use super::blocks::{Parts, call, outcome, user_or_tool};
use super::error::code;
use super::recording::{Recording, time};
use super::scalar::{Content, Scalar, parse};

/// A message of either provider, with the fields that tools add.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    role: Scalar<'a>,
    content: Option<&'a RawValue>,
    reasoning_content: Scalar<'a>,
    refusal: Scalar<'a>,
    tool_calls: Content<'a>,
    function_call: Option<&'a RawValue>,
    tool_call_id: Scalar<'a>,
    tool_call_ids: Content<'a>,
    name: Scalar<'a>,
    is_error: Scalar<'a>,
    model: Scalar<'a>,
    usage: Option<&'a RawValue>,
    timestamp: Scalar<'a>,
}

/// A call as OpenAI writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireCall<'a> {
    id: Scalar<'a>,
    function: Option<&'a RawValue>,
    custom: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Function<'a> {
    name: Scalar<'a>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
}

/// Reads one message.
pub(super) fn message(
    recording: &mut Recording,
    text: &[u8],
    piece: usize,
    at: Option<jiff::Timestamp>,
) {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(text) else {
        return recording.problem(piece, code::BROKEN, "not a message");
    };
    if message.role == Scalar::Null && message.content.is_none() {
        return recording.problem(piece, code::BROKEN, "not a message: no role and no content");
    }
    let at = time(&message.timestamp).or(at);
    let (role, parts) = read(&message);
    let turn = recording.say(role, parts, at, piece);
    if role == Role::Assistant {
        if let Some(model) = message.model.text() {
            recording.model = Some(model.to_owned());
        }
        if let Some(usage) = message.usage.and_then(usage) {
            recording.report(turn, usage);
        }
    }
}

fn read(message: &Message<'_>) -> (Role, Parts) {
    let role = role(message.role.or_empty());
    let mut parts = Parts::default();
    if role == Role::Tool {
        let ids = Parts::of(&message.tool_call_ids).parts;
        let id = match (message.tool_call_id.text(), ids.first()) {
            (Some(id), _) => id,
            (None, Some(Part::Text(id))) => id.as_str(),
            // The older function messages have a name and no id.
            _ => message.name.or_empty(),
        };
        parts.result(id, message.content, outcome(message.is_error.is_true()));
        return (role, parts);
    }
    if let Some(reasoning) = message.reasoning_content.text() {
        parts.parts.push(Part::Thinking(Text::from(reasoning)));
    }
    if let Some(content) = message.content {
        parts.extend(Parts::of(&parse(Some(content))));
    }
    parts.text(message.refusal.or_empty());
    calls(&mut parts, &message.tool_calls);
    if let Some(call) = message.function_call {
        let function: Function<'_> = parse(Some(call));
        let name = function.name.or_empty().to_owned();
        add_call(&mut parts, &name, &function);
    }
    let role = match role {
        Role::User => user_or_tool(&parts.parts),
        other => other,
    };
    (role, parts)
}

/// The role behind a name, in any dialect.
pub(super) fn role(name: &str) -> Role {
    match name {
        "system" | "developer" => Role::System,
        "user" | "human" => Role::User,
        "assistant" | "ai" | "model" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => Role::Other,
    }
}

/// Adds OpenAI's tool calls.
pub(super) fn calls(parts: &mut Parts, calls: &Content<'_>) {
    let Content::Blocks(calls) = calls else {
        return;
    };
    for raw in calls {
        let call: WireCall<'_> = parse(Some(raw));
        let function = parse(call.function.or(call.custom));
        add_call(parts, call.id.or_empty(), &function);
    }
}

fn add_call(parts: &mut Parts, id: &str, function: &Function<'_>) {
    let arguments = function.arguments.or(function.input);
    let name = function.name.or_empty();
    parts.parts.push(call(id, name, &unquoted(arguments)));
}

/// The text of a JSON string, or the JSON text of any other value.
pub(super) fn unquoted(raw: Option<&RawValue>) -> Cow<'_, str> {
    let Some(raw) = raw else {
        return Cow::Borrowed("");
    };
    match serde_json::from_str::<Scalar<'_>>(raw.get()) {
        Ok(Scalar::Text(text)) => text,
        _ => Cow::Borrowed(raw.get()),
    }
}

/// Usage by Anthropic's or OpenAI's names; OpenAI's input includes what was read from the cache.
pub(super) fn usage(raw: &RawValue) -> Option<ReportedUsage> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Wire<'a> {
        input_tokens: Scalar<'a>,
        output_tokens: Scalar<'a>,
        cache_read_input_tokens: Scalar<'a>,
        cache_creation_input_tokens: Scalar<'a>,
        prompt_tokens: Scalar<'a>,
        completion_tokens: Scalar<'a>,
        prompt_tokens_details: Option<&'a RawValue>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct Details<'a> {
        cached_tokens: Scalar<'a>,
    }
    let wire = serde_json::from_str::<Wire<'_>>(raw.get()).ok()?;
    if wire.prompt_tokens.count().is_some() {
        let details: Details<'_> = parse(wire.prompt_tokens_details);
        let cached = details.cached_tokens.tokens();
        return Some(ReportedUsage {
            input: wire.prompt_tokens.tokens().saturating_sub(cached),
            output: wire.completion_tokens.tokens(),
            cache_read: cached,
            ..ReportedUsage::default()
        });
    }
    wire.input_tokens.count()?;
    Some(ReportedUsage {
        input: wire.input_tokens.tokens(),
        output: wire.output_tokens.tokens(),
        cache_read: wire.cache_read_input_tokens.tokens(),
        cache_write: wire.cache_creation_input_tokens.tokens(),
        ..ReportedUsage::default()
    })
}

/// Returns `true` for a message in a shape that only Anthropic uses.
pub(super) fn is_anthropic(text: &[u8]) -> bool {
    let Ok(message) = serde_json::from_slice::<Message<'_>>(text) else {
        return false;
    };
    let content = message.content.map(RawValue::get).unwrap_or_default();
    let Ok(Content::Blocks(blocks)) = serde_json::from_str::<Content<'_>>(content) else {
        return false;
    };
    blocks.iter().any(|block| {
        #[derive(Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        struct Kind<'a> {
            #[serde(rename = "type")]
            kind: Scalar<'a>,
        }
        matches!(
            parse::<Kind<'_>>(Some(block)).kind.or_empty(),
            "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document"
        )
    })
}
