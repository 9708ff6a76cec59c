//! Responses over a server that speaks Chat Completions only.
//!
//! [`Bridge::new`] writes a Responses request as one of Chat Completions, and [`Bridge::answer`] turns the answer back
//! into a response, whole or as a stream.
//!
//! | of the request | becomes |
//! |---|---|
//! | `instructions`, and the operator's messages in front | one system message |
//! | later messages of the operator | the end of the user's message before, else user messages |
//! | messages, calls, results | the same; a custom tool is a function with one text |
//! | reasoning, items of tools that the provider runs, compactions | left out |
//! | tools that the provider runs | left out |
//!
//! Namespaces of tools are written into the names of their tools, and taken out again.

mod answer;
mod messages;
mod stream;
mod tools;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use self::answer::Whole;
use self::stream::Streamed;
use super::error::ApiError;
use super::limits::Limits;
use super::prefix::Remake;
use super::request::checked_text;

/// The way back for a tool: what the client knows it by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// The name that the client gave it.
    name: String,
    /// The namespace that it stands in.
    namespace: Option<String>,
    /// `true` for a tool that takes a text.
    is_custom: bool,
}

/// The tools of a request, by the name that the server sees.
type Tools = BTreeMap<String, Known>;

/// A request as Chat Completions, and the way back for its answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Bridge {
    body: Vec<u8>,
    tools: Tools,
    model: String,
    /// Digits that no other answer has.
    seed: String,
    /// Seconds since the epoch.
    created: i64,
}

/// Top-level fields that both interfaces have, by their names here and there.
const SAME: [(&str, &str); 11] = [
    ("model", "model"),
    ("stream", "stream"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("max_output_tokens", "max_completion_tokens"),
    ("user", "user"),
    ("prompt_cache_key", "prompt_cache_key"),
    ("service_tier", "service_tier"),
    ("safety_identifier", "safety_identifier"),
    ("top_logprobs", "top_logprobs"),
    ("seed", "seed"),
];

impl fmt::Debug for Bridge {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.body.len();
        f.debug_struct("Bridge")
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}

impl Bridge {
    /// Writes a Responses request as one of Chat Completions. `now` is in seconds since the epoch.
    ///
    /// # Errors
    /// The body is no JSON object.
    pub fn new(body: &[u8], now: i64) -> Result<Self, ApiError> {
        let text = checked_text(body, Limits::default())?;
        let request: Value = serde_json::from_str(text).map_err(|_| ApiError::NotAnObject)?;
        let request = request.as_object().ok_or(ApiError::NotAnObject)?;
        let (listed, tools) = tools::written(request.get("tools"));
        let mut chat = Map::new();
        for (here, there) in SAME {
            if let Some(value) = request.get(here).filter(|value| !value.is_null()) {
                chat.insert(there.to_owned(), value.clone());
            }
        }
        let messages = messages::written(request);
        chat.insert("messages".to_owned(), Value::Array(messages));
        if !listed.is_empty() {
            chat.insert("tools".to_owned(), Value::Array(listed));
            let choice = request
                .get("tool_choice")
                .and_then(|it| tools::choice(it, &tools));
            chat.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
            let parallel = request
                .get("parallel_tool_calls")
                .filter(|it| it.is_boolean());
            chat.extend(parallel.map(|it| ("parallel_tool_calls".to_owned(), it.clone())));
        }
        if chat.get("stream") == Some(&Value::Bool(true)) {
            let options = json!({"include_usage": true});
            chat.insert("stream_options".to_owned(), options);
        }
        chat.extend(format(request).map(|format| ("response_format".to_owned(), format)));
        chat.extend(effort(request).map(|effort| ("reasoning_effort".to_owned(), effort)));
        let model = request.get("model").and_then(Value::as_str);
        let hash = blake3::Hasher::new()
            .update(body)
            .update(&now.to_le_bytes())
            .finalize();
        Ok(Self {
            body: Value::Object(chat).to_string().into_bytes(),
            tools,
            model: model.unwrap_or_default().to_owned(),
            seed: hash.to_hex().to_string(),
            created: now,
        })
    }

    /// The body of the request.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Turns the answer into a response, as an event stream or whole.
    #[must_use]
    pub fn answer(self, streams: bool) -> Box<dyn Remake> {
        match streams {
            true => Box::new(Streamed::new(self)),
            false => Box::new(Whole::new(self)),
        }
    }

    /// An id in the provider's form.
    fn id(&self, prefix: &str, place: usize) -> String {
        let tail = self.seed.get(..40).unwrap_or_default();
        format!("{prefix}{tail}{place:04}")
    }

    /// The response with this status, without its output.
    fn response(&self, status: &str, output: &[Value], usage: &Value) -> Value {
        let details = match status {
            "incomplete" => json!({"reason": "max_output_tokens"}),
            _ => Value::Null,
        };
        json!({
            "id": self.id("resp_", 0),
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": null,
            "incomplete_details": details,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "usage": usage,
        })
    }

    /// A call as the client knows it: a function's, or a custom tool's.
    fn call(&self, place: usize, id: &str, (name, arguments): (&str, &str)) -> Value {
        let known = self.tools.get(name).cloned().unwrap_or_else(|| Known {
            name: name.to_owned(),
            ..Known::default()
        });
        let (kind, prefix, key, text) = match known.is_custom {
            true => ("custom_tool_call", "ctc_", "input", tools::input(arguments)),
            false => ("function_call", "fc_", "arguments", arguments.to_owned()),
        };
        let mut call = json!({
            "type": kind,
            "id": self.id(prefix, place),
            "call_id": id,
            "name": known.name,
            key: text,
            "status": "completed",
        });
        if let (Some(namespace), Some(call)) = (known.namespace, call.as_object_mut()) {
            call.insert("namespace".to_owned(), Value::String(namespace));
        }
        call
    }

    fn message(&self, place: usize, status: &str, text: Option<&str>) -> Value {
        let content: Vec<Value> = text.into_iter().map(output_text).collect();
        json!({
            "type": "message",
            "id": self.id("msg_", place),
            "status": status,
            "role": "assistant",
            "content": content,
        })
    }
}

/// The error of an answer that the provider makes longer than is held.
fn too_long(limit: usize) -> Value {
    json!({"code": "server_error", "message": format!("the answer has more than {limit} bytes")})
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

/// The status that a reason to stop means.
fn status(finish: &str) -> &'static str {
    match finish {
        "length" => "incomplete",
        _ => "completed",
    }
}

/// The usage of a completion in the names of Responses.
fn usage(chat: Option<&Value>) -> Value {
    let number = |path: [&str; 2]| {
        let found = chat.and_then(|it| it.get(path[0]));
        let found = match path[1] {
            "" => found,
            key => found.and_then(|it| it.get(key)),
        };
        found.and_then(Value::as_u64).unwrap_or_default()
    };
    let (input, output) = (
        number(["prompt_tokens", ""]),
        number(["completion_tokens", ""]),
    );
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": number(["prompt_tokens_details", "cached_tokens"])},
        "output_tokens": output,
        "output_tokens_details":
            {"reasoning_tokens": number(["completion_tokens_details", "reasoning_tokens"])},
        "total_tokens": input + output,
    })
}

/// The form of the answer that the client asks for.
fn format(request: &Map<String, Value>) -> Option<Value> {
    let format = request.get("text")?.get("format")?;
    match format.get("type")?.as_str()? {
        "json_schema" => {
            let mut schema = format.as_object()?.clone();
            schema.shift_remove("type");
            Some(json!({"type": "json_schema", "json_schema": schema}))
        }
        "json_object" => Some(format.clone()),
        _ => None,
    }
}

fn effort(request: &Map<String, Value>) -> Option<Value> {
    let effort = request.get("reasoning")?.get("effort")?;
    effort.is_string().then(|| effort.clone())
}

#[cfg(test)]
mod tests;
