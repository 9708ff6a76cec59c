//! Answers that are made here, in the provider's shape.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};
use wire::api::{Dialect, Event, Request};

use super::{ClientCompaction, Form, Wants};
use crate::rewrite::Direct;
use crate::words::Did;

/// The longest delta of a stream, in bytes: some clients draw what they get, piece by piece.
const DELTA: usize = 2_000;

/// The answer that carries `summary`, which must stand for all messages that the client asks about
/// ([`ClientCompaction::covers`]): it will throw them away. Streamed where the request asks for that.
/// `None` where the client wants no text.
///
/// Its `usage` is zero everywhere: for this request no model was asked. What the preparation cost was
/// counted when it was made.
#[must_use]
pub fn answer(
    request: &Request<'_>,
    own: &ClientCompaction,
    summary: &str,
    now: Timestamp,
) -> Option<Direct> {
    let Wants::Text(form) = own.wants else {
        return None;
    };
    let summary = summary.trim();
    let text = match form {
        Form::Plain => summary.to_owned(),
        Form::Summary => format!("<summary>\n{summary}\n</summary>"),
        Form::Snapshot => format!("<state_snapshot>\n{summary}\n</state_snapshot>"),
    };
    let shape = Shape::of(request, now);
    let (whole, events) = match request.dialect() {
        Dialect::Anthropic => {
            let block = json!({"type": "text", "text": text}).to_string();
            let opened = r#"{"type":"text","text":""}"#;
            let deltas = cut(&text)
                .map(|text| json!({"type": "text_delta", "text": text}))
                .collect();
            let content = Content {
                block: &block,
                opened,
                deltas,
                stop: "end_turn",
            };
            (shape.message(&content), shape.message_events(&content))
        }
        Dialect::Chat => (shape.completion(&text), shape.completion_events(&text)),
        Dialect::Responses => (shape.response(&text), shape.response_events(&text)),
    };
    Some(shape.direct(whole, &events))
}

/// The answer that carries the provider's own block, which must be the one of exactly the messages of
/// this request: `block` is the JSON of the content block, sent byte for byte. `None` where the client
/// does not want one, and on OpenAI's interfaces.
#[must_use]
pub fn answer_sealed(
    request: &Request<'_>,
    own: &ClientCompaction,
    block: &str,
    now: Timestamp,
) -> Option<Direct> {
    if own.wants != Wants::Sealed || request.dialect() != Dialect::Anthropic {
        return None;
    }
    let shape = Shape::of(request, now);
    let content = Content {
        block,
        opened: block,
        deltas: Vec::new(),
        stop: "compaction",
    };
    Some(shape.direct(shape.message(&content), &shape.message_events(&content)))
}

/// What all forms of an answer have in common.
struct Shape {
    model: String,
    created: i64,
    /// 64 hexadecimal digits that no other answer has.
    seed: String,
    streams: bool,
    counts: bool,
}

/// The one block of an Anthropic message.
struct Content<'c> {
    block: &'c str,
    /// The block as its first event shows it.
    opened: &'c str,
    deltas: Vec<Value>,
    stop: &'static str,
}

impl Shape {
    fn of(request: &Request<'_>, now: Timestamp) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(request.body());
        hasher.update(&now.as_nanosecond().to_le_bytes());
        let options = request.field("stream_options");
        Self {
            model: request.model().unwrap_or_default().into_owned(),
            created: now.as_second(),
            seed: hasher.finalize().to_hex().to_string(),
            streams: request.streams(),
            counts: options.is_some_and(|field| includes_usage(field.value)),
        }
    }

    fn direct(&self, whole: String, events: &[Event]) -> Direct {
        let (content_type, body) = if self.streams {
            let mut stream = String::new();
            for event in events {
                stream.push_str(&event.encode());
            }
            ("text/event-stream; charset=utf-8", stream)
        } else {
            ("application/json", whole)
        };
        Direct {
            status: 200,
            content_type,
            body: body.into(),
            did: vec![Did::Answered],
            conversation: None,
        }
    }

    /// An id as the provider writes it, of `length` characters behind the prefix.
    fn id(&self, prefix: &str, length: usize) -> String {
        let tail: String = self.seed.chars().take(length).collect();
        format!("{prefix}{tail}")
    }

    /// An Anthropic message around raw content, which keeps its bytes.
    fn message_frame(&self, content: &str, stop: &Value, usage: &Value) -> String {
        let mut out = String::from("{");
        let id = self.id("msg_01", 22);
        let members = [
            ("id", json!(id)),
            ("type", json!("message")),
            ("role", json!("assistant")),
            ("model", json!(self.model)),
        ];
        for (key, value) in members {
            // Writing to a string cannot fail.
            let _ = write!(out, "\"{key}\":{value},");
        }
        let _ = write!(
            out,
            r#""content":[{content}],"stop_reason":{stop},"stop_sequence":null,"usage":{usage}}}"#
        );
        out
    }

    fn message(&self, content: &Content<'_>) -> String {
        self.message_frame(content.block, &json!(content.stop), &message_usage())
    }

    fn message_events(&self, content: &Content<'_>) -> Vec<Event> {
        let opening = self.message_frame("", &Value::Null, &message_usage());
        let mut events = vec![
            Event::new(
                "message_start",
                format!(r#"{{"type":"message_start","message":{opening}}}"#),
            ),
            Event::new(
                "content_block_start",
                format!(
                    r#"{{"type":"content_block_start","index":0,"content_block":{}}}"#,
                    content.opened
                ),
            ),
        ];
        let mut push = |value: Value| {
            let name = value
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            events.push(Event::new(name, value.to_string()));
        };
        for delta in &content.deltas {
            push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
        }
        push(json!({"type": "content_block_stop", "index": 0}));
        push(json!({
            "type": "message_delta",
            "delta": {"stop_reason": content.stop, "stop_sequence": null},
            "usage": message_usage(),
        }));
        push(json!({"type": "message_stop"}));
        events
    }

    fn completion_frame(&self, object: &str, choices: &Value) -> Value {
        json!({
            "id": self.id("chatcmpl-", 29),
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        })
    }

    fn completion(&self, text: &str) -> String {
        let choices = json!([{
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": null},
            "logprobs": null,
            "finish_reason": "stop",
        }]);
        let mut body = self.completion_frame("chat.completion", &choices);
        insert(&mut body, "usage", completion_usage());
        body.to_string()
    }

    fn completion_events(&self, text: &str) -> Vec<Event> {
        let chunk = |delta: Value, reason: Value| {
            let choices =
                json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]);
            self.completion_frame("chat.completion.chunk", &choices)
        };
        let mut chunks = vec![chunk(
            json!({"role": "assistant", "content": "", "refusal": null}),
            Value::Null,
        )];
        chunks.extend(cut(text).map(|text| chunk(json!({"content": text}), Value::Null)));
        chunks.push(chunk(json!({}), json!("stop")));
        if self.counts {
            let mut last = self.completion_frame("chat.completion.chunk", &json!([]));
            insert(&mut last, "usage", completion_usage());
            chunks.push(last);
        }
        let data = chunks.iter().map(Value::to_string);
        data.chain(["[DONE]".to_owned()])
            .map(|data| Event::new("message", data))
            .collect()
    }

    fn response_frame(&self, status: &str, output: &[Value], usage: &Value) -> Value {
        json!({
            "id": self.id("resp_", 48),
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "usage": usage,
        })
    }

    fn item(&self, status: &str, content: &Value) -> Value {
        json!({
            "id": self.id("msg_", 48),
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        })
    }

    fn response_done(&self, text: &str) -> Value {
        let item = self.item("completed", &json!([output_text(text)]));
        self.response_frame("completed", &[item], &response_usage())
    }

    fn response(&self, text: &str) -> String {
        self.response_done(text).to_string()
    }

    fn response_events(&self, text: &str) -> Vec<Event> {
        let begun = self.response_frame("in_progress", &[], &Value::Null);
        let place = |more: Value| {
            let mut data =
                json!({"item_id": self.id("msg_", 48), "output_index": 0, "content_index": 0});
            if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
                data.extend(more);
            }
            data
        };
        let mut all = vec![
            ("response.created", json!({"response": begun})),
            ("response.in_progress", json!({"response": begun})),
            (
                "response.output_item.added",
                json!({"output_index": 0, "item": self.item("in_progress", &json!([]))}),
            ),
            (
                "response.content_part.added",
                place(json!({"part": output_text("")})),
            ),
        ];
        all.extend(cut(text).map(|text| {
            (
                "response.output_text.delta",
                place(json!({"delta": text, "logprobs": []})),
            )
        }));
        let item = self.item("completed", &json!([output_text(text)]));
        all.extend([
            (
                "response.output_text.done",
                place(json!({"text": text, "logprobs": []})),
            ),
            (
                "response.content_part.done",
                place(json!({"part": output_text(text)})),
            ),
            (
                "response.output_item.done",
                json!({"output_index": 0, "item": item}),
            ),
            (
                "response.completed",
                json!({"response": self.response_done(text)}),
            ),
        ]);
        all.into_iter()
            .enumerate()
            .map(|(number, (kind, mut data))| {
                insert(&mut data, "type", json!(kind));
                insert(&mut data, "sequence_number", json!(number));
                Event::new(kind, data.to_string())
            })
            .collect()
    }
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn message_usage() -> Value {
    json!({
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 0,
    })
}

fn completion_usage() -> Value {
    json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
}

fn response_usage() -> Value {
    json!({
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    })
}

fn includes_usage(options: &str) -> bool {
    let options: Option<Value> = serde_json::from_str(options).ok();
    options.is_some_and(|options| options.get("include_usage") == Some(&Value::Bool(true)))
}

/// `text` in pieces of whole characters.
fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.floor_char_boundary(DELTA.min(rest.len()));
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(piece)
    })
}
