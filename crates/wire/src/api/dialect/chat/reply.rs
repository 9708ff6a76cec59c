//! Chat replies: reading a body, writing one of our own.

use context::Part;
use serde_json::{Value as Json, json};

use super::read::push_said;
use crate::api::json::tree::{Tree, Value};
use crate::api::limits::DEEPEST;
use crate::api::reply::Stop;
use crate::api::sse::Event;
use crate::api::synthetic::{Frame, Written, cut, insert};

/// Reads the first choice.
pub(super) fn read(body: Value<'_>) -> (Vec<String>, Option<Stop>) {
    let choice = body.get("choices").and_then(|list| list.elements().next());
    let message = choice.and_then(|choice| choice.get("message"));
    let reason = choice.and_then(|choice| choice.get_text("finish_reason"));
    let pieces = message.map(|message| message.raw().to_owned());
    (
        pieces.into_iter().collect(),
        reason.map(|reason| stop_of(&reason)),
    )
}

pub(super) fn parts(pieces: &[String]) -> Vec<Part> {
    let mut out = Vec::new();
    if let Some(Ok(tree)) = pieces.first().map(|it| Tree::parse(it, DEEPEST)) {
        push_said(&mut out, tree.root());
    }
    out
}

/// The meaning of a `finish_reason`.
pub(super) fn stop_of(reason: &str) -> Stop {
    match reason {
        "stop" => Stop::EndOfTurn,
        "length" => Stop::MaxTokens,
        "tool_calls" | "function_call" => Stop::ToolUse,
        "content_filter" => Stop::Refusal,
        other => Stop::Other(other.to_owned()),
    }
}

pub(super) fn say(frame: &Frame, text: &str) -> Written {
    let choices = json!([{
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": null},
        "logprobs": null,
        "finish_reason": "stop",
    }]);
    let mut body = completion(frame, "chat.completion", &choices);
    insert(&mut body, "usage", usage());
    Written {
        whole: body.to_string(),
        events: events(frame, text),
    }
}

fn events(frame: &Frame, text: &str) -> Vec<Event> {
    const CHUNK: &str = "chat.completion.chunk";
    let chunk = |delta: Json, reason: Json| {
        let choices =
            json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]);
        completion(frame, CHUNK, &choices)
    };
    let opening = json!({"role": "assistant", "content": "", "refusal": null});
    let mut chunks = vec![chunk(opening, Json::Null)];
    chunks.extend(cut(text).map(|text| chunk(json!({"content": text}), Json::Null)));
    chunks.push(chunk(json!({}), json!("stop")));
    if frame.counts {
        let mut last = completion(frame, CHUNK, &json!([]));
        insert(&mut last, "usage", usage());
        chunks.push(last);
    }
    let data = chunks.iter().map(Json::to_string);
    data.chain(["[DONE]".to_owned()])
        .map(|data| Event::new("message", data))
        .collect()
}

fn completion(frame: &Frame, object: &str, choices: &Json) -> Json {
    json!({
        "id": frame.id("chatcmpl-", 29),
        "object": object,
        "created": frame.created,
        "model": frame.model,
        "choices": choices,
    })
}

fn usage() -> Json {
    json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})
}
