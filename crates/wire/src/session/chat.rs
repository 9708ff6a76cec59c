//! Lists of chat messages: OpenAI's and Anthropic's, whose messages do not clash, and with them
//! tau-bench, SWE-agent and LongMemEval, which put such lists into records of their own.

use std::borrow::Cow;

use context::Text;
use context::Tokens;
use context::turn::{CallId, Part, Role, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{Parts, outcome, user_or_tool};
use super::error::code;
use super::recording::{Recording, Usage, time};
use super::scalar::{Content, Scalar};

/// A message of either provider, with the fields that tools add.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    role: Scalar<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Scalar<'a>,
    #[serde(borrow)]
    refusal: Scalar<'a>,
    #[serde(borrow)]
    tool_calls: Content<'a>,
    #[serde(borrow)]
    function_call: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Scalar<'a>,
    #[serde(borrow)]
    tool_call_ids: Content<'a>,
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    is_error: Scalar<'a>,
    #[serde(borrow)]
    model: Scalar<'a>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Scalar<'a>,
}

/// A call as OpenAI writes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireCall<'a> {
    #[serde(borrow)]
    id: Scalar<'a>,
    #[serde(borrow)]
    function: Option<&'a RawValue>,
    #[serde(borrow)]
    custom: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
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
        let content = serde_json::from_str::<Content<'_>>(content.get()).unwrap_or_default();
        let said = Parts::of(&content);
        parts.parts.extend(said.parts);
        parts.unknown.extend(said.unknown);
    }
    parts.text(message.refusal.or_empty());
    calls(&mut parts, &message.tool_calls);
    if let Some(call) = message.function_call {
        let function = serde_json::from_str::<Function<'_>>(call.get()).unwrap_or_default();
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
        let call = serde_json::from_str::<WireCall<'_>>(raw.get()).unwrap_or_default();
        let function = call.function.or(call.custom);
        let function = function
            .and_then(|function| serde_json::from_str::<Function<'_>>(function.get()).ok())
            .unwrap_or_default();
        add_call(parts, call.id.or_empty(), &function);
    }
}

fn add_call(parts: &mut Parts, id: &str, function: &Function<'_>) {
    let arguments = function.arguments.or(function.input);
    parts.parts.push(Part::Call(ToolCall {
        id: CallId::from(id),
        name: Text::from(function.name.or_empty()),
        arguments: Text::from(unquoted(arguments).as_ref()),
    }));
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
pub(super) fn usage(raw: &RawValue) -> Option<Usage> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Wire<'a> {
        #[serde(borrow)]
        input_tokens: Scalar<'a>,
        #[serde(borrow)]
        output_tokens: Scalar<'a>,
        #[serde(borrow)]
        cache_read_input_tokens: Scalar<'a>,
        #[serde(borrow)]
        cache_creation_input_tokens: Scalar<'a>,
        #[serde(borrow)]
        prompt_tokens: Scalar<'a>,
        #[serde(borrow)]
        completion_tokens: Scalar<'a>,
        #[serde(borrow)]
        prompt_tokens_details: Option<&'a RawValue>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Details<'a> {
        #[serde(borrow)]
        cached_tokens: Scalar<'a>,
    }
    let tokens = |value: &Scalar<'_>| Tokens::new(value.count().unwrap_or_default());
    let wire = serde_json::from_str::<Wire<'_>>(raw.get()).ok()?;
    if wire.prompt_tokens.count().is_some() {
        let details = wire
            .prompt_tokens_details
            .and_then(|details| serde_json::from_str::<Details<'_>>(details.get()).ok())
            .unwrap_or_default();
        let cached = tokens(&details.cached_tokens);
        return Some(Usage {
            input: tokens(&wire.prompt_tokens).saturating_sub(cached),
            output: tokens(&wire.completion_tokens),
            cache_read: cached,
            cache_write: Tokens::ZERO,
        });
    }
    wire.input_tokens.count()?;
    Some(Usage {
        input: tokens(&wire.input_tokens),
        output: tokens(&wire.output_tokens),
        cache_read: tokens(&wire.cache_read_input_tokens),
        cache_write: tokens(&wire.cache_creation_input_tokens),
    })
}

/// Whether a message has a shape that only Anthropic's have.
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
        #[serde(default)]
        struct Kind<'a> {
            #[serde(borrow, rename = "type")]
            kind: Scalar<'a>,
        }
        let kind = serde_json::from_str::<Kind<'_>>(block.get()).unwrap_or_default();
        matches!(
            kind.kind.or_empty(),
            "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image" | "document"
        )
    })
}
