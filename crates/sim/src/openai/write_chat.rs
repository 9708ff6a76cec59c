//! A chat completion, as one JSON text and as a stream.

use serde_json::{Value, json};
use wire::api::Event;

use super::account::{Taken, details};
use super::speech::Speech;
use crate::anthropic::reply::cut;
use crate::exchange::{Answer, Body, End, Timed};
use crate::members::set;
use crate::script::Say;

/// A completion.
pub(super) struct Completion {
    pub id: String,
    pub model: String,
    pub created: i64,
    /// An id per piece, used for calls only.
    pub calls: Vec<String>,
    pub diagnosis: Option<Value>,
    pub speech: Speech,
}

impl Completion {
    fn reason(&self) -> &'static str {
        match (self.speech.cut, self.speech.calls()) {
            (true, _) => "length",
            (false, true) => "tool_calls",
            (false, false) => "stop",
        }
    }

    fn text(&self) -> Option<String> {
        let texts: Vec<&str> = self
            .speech
            .says
            .iter()
            .filter_map(|(say, _)| match say {
                Say::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    fn tool_calls(&self) -> Vec<Value> {
        let said = self.speech.says.iter().zip(&self.calls);
        said.filter_map(|((say, _), id)| match say {
            Say::Call { name, input } => Some(json!({
                "id": id,
                "type": "function",
                "function": {"name": name, "arguments": input.to_string()},
            })),
            _ => None,
        })
        .collect()
    }

    fn usage(&self, taken: &Taken) -> Value {
        let output = self.speech.tokens();
        json!({
            "prompt_tokens": taken.input,
            "completion_tokens": output,
            "total_tokens": taken.input + output,
            "prompt_tokens_details": details(&taken.share),
            "completion_tokens_details": {"reasoning_tokens": self.speech.reasoning()},
        })
    }

    fn frame(&self, object: &str, choices: &Value) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "service_tier": "default",
        })
    }
}

/// Writes the completion as one JSON text.
pub(super) fn whole(completion: &Completion, taken: &Taken) -> Answer {
    let calls = completion.tool_calls();
    let mut message = json!({"role": "assistant", "content": completion.text(), "refusal": null});
    if !calls.is_empty() {
        set(&mut message, "tool_calls", calls);
    }
    let choice = json!([{
        "index": 0,
        "message": message,
        "logprobs": null,
        "finish_reason": completion.reason(),
    }]);
    let mut body = completion.frame("chat.completion", &choice);
    set(&mut body, "usage", completion.usage(taken));
    if let Some(diagnosis) = &completion.diagnosis {
        set(&mut body, "prompt_cache_diagnostics", diagnosis.clone());
    }
    Answer::ok(Body::Whole {
        text: body.to_string(),
        after: taken.pace.done(completion.speech.tokens()),
    })
}

/// Writes the completion as a stream.
pub(super) fn stream(completion: &Completion, taken: &Taken, with_usage: bool) -> Answer {
    let mut deltas = vec![(
        0,
        json!({"role": "assistant", "content": "", "refusal": null}),
    )];
    let mut written = 0;
    for piece in completion.text().iter().flat_map(|text| cut(text)) {
        deltas.push((0, json!({"content": piece})));
    }
    for (index, call) in completion.tool_calls().into_iter().enumerate() {
        let arguments = call
            .get("function")
            .and_then(|it| it.get("arguments"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let mut opening = call;
        set(&mut opening, "index", index);
        if let Some(function) = opening.get_mut("function") {
            set(function, "arguments", "");
        }
        deltas.push((0, json!({"tool_calls": [opening]})));
        for part in cut(&arguments) {
            let call = json!({"index": index, "function": {"arguments": part}});
            deltas.push((0, json!({"tool_calls": [call]})));
        }
    }
    let (count, all) = (deltas.len() as u64, completion.speech.tokens());
    for (at, (when, _)) in deltas.iter_mut().enumerate() {
        *when = all * at as u64 / count;
        written = *when;
    }
    let mut events = Vec::new();
    let mut push = |tokens: u64, data: String| {
        events.push(Timed {
            after: taken.pace.done(tokens),
            event: Event::new("message", data),
        });
    };
    let chunk = |choices: Value| completion.frame("chat.completion.chunk", &choices);
    for (when, delta) in deltas {
        let choice = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]);
        push(when, chunk(choice).to_string());
    }
    let reason = completion.reason();
    let last = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason}]);
    push(all.max(written), chunk(last).to_string());
    if with_usage {
        let mut chunk = chunk(json!([]));
        set(&mut chunk, "usage", completion.usage(taken));
        push(all, chunk.to_string());
    }
    push(all, "[DONE]".to_owned());
    Answer::ok(Body::Stream {
        events,
        end: End::Closed,
    })
}
