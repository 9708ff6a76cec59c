//! The answer, as one JSON text and as a stream.

use std::time::Duration;

use serde_json::{Map, Value, json};
use wire::api::Event;

use crate::exchange::{Answer, Body, End, Timed};
use crate::latency::Latency;
use crate::members::{extend, set};

/// The silence before a ping.
const PING: Duration = Duration::from_secs(10);

/// Characters in a delta.
const DELTA: usize = 48;

/// A message that was answered.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub id: String,
    pub model: String,
    /// The blocks with their tokens.
    pub blocks: Vec<(Value, u64)>,
    pub stop: &'static str,
    pub stop_sequence: Option<String>,
    pub usage: Map<String, Value>,
    /// More members of the message: `context_management`, `input_transformations`, `diagnostics`.
    pub more: Map<String, Value>,
}

/// The times at which things are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub first: Duration,
    pub latency: Option<Latency>,
}

impl Pace {
    fn writing(&self, tokens: u64) -> Duration {
        self.latency
            .map_or(Duration::ZERO, |latency| latency.writing(tokens))
    }

    /// The time at which an answer of so many tokens is complete.
    pub fn done(&self, tokens: u64) -> Duration {
        self.first + self.writing(tokens)
    }
}

impl Written {
    /// The tokens that were written.
    pub fn tokens(&self) -> u64 {
        self.blocks.iter().map(|(_, tokens)| tokens).sum()
    }

    /// The assistant message as it is sent back.
    pub fn message(&self) -> String {
        let content: Vec<&Value> = self.blocks.iter().map(|(value, _)| value).collect();
        json!({"role": "assistant", "content": content}).to_string()
    }

    /// The answer as one JSON text.
    pub fn whole(&self, pace: Pace) -> Answer {
        let content: Vec<&Value> = self.blocks.iter().map(|(value, _)| value).collect();
        let mut message = self.frame(&json!(content), &json!(self.stop));
        set(&mut message, "usage", self.usage.clone());
        extend(&mut message, self.more.clone());
        Answer::ok(Body::Whole {
            text: message.to_string(),
            after: pace.done(self.tokens()),
        })
    }

    fn frame(&self, content: &Value, stop: &Value) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": if stop.is_null() { Value::Null } else { json!(self.stop_sequence) },
        })
    }

    /// The answer as a stream.
    pub fn stream(&self, pace: Pace) -> Answer {
        let mut events = Vec::new();
        let mut push = |after, value: Value| {
            let name = value
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let event = Event::new(name, value.to_string());
            events.push(Timed { after, event });
        };
        let mut opening = self.usage.clone();
        opening.shift_remove("iterations");
        opening.insert("output_tokens".to_owned(), json!(0));
        let mut message = self.frame(&json!([]), &Value::Null);
        let (late, early): (Map<_, _>, Map<_, _>) = self
            .more
            .clone()
            .into_iter()
            .partition(|(key, _)| key == "context_management");
        set(&mut message, "usage", opening);
        extend(&mut message, early);
        // The head comes when the prompt was read; until then there is nothing but pings.
        let mut quiet = PING;
        while quiet < pace.first {
            push(quiet, json!({"type": "ping"}));
            quiet += PING;
        }
        push(
            pace.first,
            json!({"type": "message_start", "message": message}),
        );
        push(pace.first, json!({"type": "ping"}));
        let mut written = 0;
        for (index, (block, tokens)) in self.blocks.iter().enumerate() {
            let deltas = deltas(block);
            let count = deltas.len().max(1) as u64;
            let start = pace.done(written);
            push(
                start,
                json!({"type": "content_block_start", "index": index, "content_block": opened(block)}),
            );
            for (at, delta) in deltas.into_iter().enumerate() {
                let after = pace.done(written + tokens * (at as u64 + 1) / count);
                push(
                    after,
                    json!({"type": "content_block_delta", "index": index, "delta": delta}),
                );
            }
            written += tokens;
            push(
                pace.done(written),
                json!({"type": "content_block_stop", "index": index}),
            );
        }
        let mut closing = json!({
            "type": "message_delta",
            "delta": {"stop_reason": self.stop, "stop_sequence": self.stop_sequence},
            "usage": self.usage,
        });
        extend(&mut closing, late);
        push(pace.done(written), closing);
        push(pace.done(written), json!({"type": "message_stop"}));
        Answer::ok(Body::Stream {
            events,
            end: End::Closed,
        })
    }
}

/// A block as its first event shows it. A signed compaction block comes whole.
fn opened(block: &Value) -> Value {
    let mut block = block.clone();
    let kind = block
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_owned();
    let signed = block.get("signature").is_some_and(Value::is_string);
    match kind.as_str() {
        "text" => set(&mut block, "text", ""),
        "thinking" => {
            set(&mut block, "thinking", "");
            set(&mut block, "signature", "");
        }
        "tool_use" => set(&mut block, "input", Map::new()),
        "compaction" if !signed => {
            set(&mut block, "content", Value::Null);
            set(&mut block, "encrypted_content", Value::Null);
        }
        _ => {}
    }
    block
}

fn deltas(block: &Value) -> Vec<Value> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or("");
    match text("type") {
        "text" => cut(text("text"))
            .map(|text| json!({"type": "text_delta", "text": text}))
            .collect(),
        "thinking" => cut(text("thinking"))
            .map(|text| json!({"type": "thinking_delta", "thinking": text}))
            .chain([json!({"type": "signature_delta", "signature": text("signature")})])
            .collect(),
        "tool_use" => {
            let input = block.get("input").map(Value::to_string).unwrap_or_default();
            cut(&input)
                .map(|part| json!({"type": "input_json_delta", "partial_json": part}))
                .collect()
        }
        "compaction" if !block.get("signature").is_some_and(Value::is_string) => {
            vec![json!({
                "type": "compaction_delta",
                "content": block.get("content"),
                "encrypted_content": block.get("encrypted_content"),
            })]
        }
        _ => Vec::new(),
    }
}

/// `text` in pieces, whole characters each.
pub(crate) fn cut(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters
        .chunks(DELTA)
        .map(|chunk| chunk.iter().collect())
        .collect();
    pieces.into_iter()
}
