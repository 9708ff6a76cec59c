//! Writes an OpenAI Responses answer, whole or as a stream.

use serde_json::{Value, json};
use wire::api::Event;

use super::account::{Taken, details};
use crate::anthropic::reply::cut;
use crate::exchange::{Answer, Body, End, Timed};
use crate::members::{extend, set};

/// An item with its tokens.
pub(super) type Output = (Value, u64);

/// A response.
pub(super) struct Reply {
    pub id: String,
    pub model: String,
    pub created: i64,
    pub previous: Option<Value>,
    pub outputs: Vec<Output>,
    pub reasoning: u64,
    pub cut: bool,
    pub diagnosis: Option<Value>,
}

impl Reply {
    /// All tokens that were written.
    pub fn tokens(&self) -> u64 {
        self.outputs.iter().map(|(_, tokens)| tokens).sum()
    }

    fn frame(&self, status: &str, output: &[&Value], usage: &Value) -> Value {
        let mut body = json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": null,
            "incomplete_details":
                if status == "incomplete" { json!({"reason": "max_output_tokens"}) } else { Value::Null },
            "model": self.model,
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": self.previous,
            "usage": usage,
        });
        if let Some(diagnosis) = &self.diagnosis {
            set(&mut body, "prompt_cache_diagnostics", diagnosis.clone());
        }
        body
    }

    fn done(&self, taken: &Taken) -> Value {
        let output: Vec<&Value> = self.outputs.iter().map(|(item, _)| item).collect();
        let status = if self.cut { "incomplete" } else { "completed" };
        let usage = usage(taken, self.tokens(), self.reasoning);
        self.frame(status, &output, &usage)
    }
}

/// `usage`.
pub(super) fn usage(taken: &Taken, output: u64, reasoning: u64) -> Value {
    json!({
        "input_tokens": taken.input,
        "input_tokens_details": details(&taken.share),
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": taken.input + output,
    })
}

/// Writes the response as one JSON text.
pub(super) fn whole(reply: &Reply, taken: &Taken) -> Answer {
    Answer::ok(Body::Whole {
        text: reply.done(taken).to_string(),
        after: taken.pace.done(reply.tokens()),
    })
}

/// Numbers the events.
struct Out<'t> {
    taken: &'t Taken,
    events: Vec<Timed>,
}

impl Out<'_> {
    fn push(&mut self, tokens: u64, kind: &str, mut data: Value) {
        set(&mut data, "type", kind);
        set(&mut data, "sequence_number", self.events.len());
        self.events.push(Timed {
            after: self.taken.pace.done(tokens),
            event: Event::new(kind, data.to_string()),
        });
    }
}

/// Writes the response as a stream.
pub(super) fn stream(reply: &Reply, taken: &Taken) -> Answer {
    let mut out = Out {
        taken,
        events: Vec::new(),
    };
    let begun = reply.frame("in_progress", &[], &Value::Null);
    out.push(0, "response.created", json!({"response": begun}));
    out.push(0, "response.in_progress", json!({"response": begun}));
    let mut written = 0;
    for (index, (item, tokens)) in reply.outputs.iter().enumerate() {
        push_item(&mut out, index, item, (written, *tokens));
        written += tokens;
    }
    let last = if reply.cut {
        "response.incomplete"
    } else {
        "response.completed"
    };
    out.push(written, last, json!({"response": reply.done(taken)}));
    Answer::ok(Body::Stream {
        events: out.events,
        end: End::Closed,
    })
}

fn push_item(out: &mut Out<'_>, index: usize, item: &Value, (before, tokens): (u64, u64)) {
    let text = |key: &str| {
        item.get(key)
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    let (id, kind) = (text("id"), text("type"));
    let mut opened = item.clone();
    match kind.as_str() {
        "message" => {
            set(&mut opened, "status", "in_progress");
            set(&mut opened, "content", Vec::<Value>::new());
        }
        "function_call" => {
            set(&mut opened, "status", "in_progress");
            set(&mut opened, "arguments", "");
        }
        _ => {}
    }
    let added = json!({"output_index": index, "item": opened});
    out.push(before, "response.output_item.added", added);
    let place = json!({"item_id": id, "output_index": index});
    let with = |more: Value| {
        let mut data = place.clone();
        if let Value::Object(more) = more {
            extend(&mut data, more);
        }
        data
    };
    let after = before + tokens;
    match kind.as_str() {
        "compaction" => out.push(before, "response.compaction.compacting", place.clone()),
        "function_call" => {
            let arguments = text("arguments");
            for delta in cut(&arguments) {
                let data = with(json!({"delta": delta}));
                out.push(after, "response.function_call_arguments.delta", data);
            }
            let data = with(json!({"arguments": arguments, "name": text("name")}));
            out.push(after, "response.function_call_arguments.done", data);
        }
        "message" => {
            let parts = item.get("content").and_then(Value::as_array);
            for (at, part) in parts.into_iter().flatten().enumerate() {
                let words = part.get("text").and_then(Value::as_str).unwrap_or("");
                let empty = json!({"type": "output_text", "text": "", "annotations": []});
                let data = with(json!({"content_index": at, "part": empty}));
                out.push(before, "response.content_part.added", data);
                let deltas: Vec<String> = cut(words).collect();
                let count = deltas.len().max(1) as u64;
                for (step, delta) in deltas.into_iter().enumerate() {
                    let when = before + tokens * (step as u64 + 1) / count;
                    let data = with(json!({"content_index": at, "delta": delta, "logprobs": []}));
                    out.push(when, "response.output_text.delta", data);
                }
                let data = with(json!({"content_index": at, "text": words, "logprobs": []}));
                out.push(after, "response.output_text.done", data);
                let data = with(json!({"content_index": at, "part": part}));
                out.push(after, "response.content_part.done", data);
            }
        }
        _ => {}
    }
    let done = json!({"output_index": index, "item": item});
    out.push(after, "response.output_item.done", done);
}
