//! Responses replies: reading a body, writing one of our own.

use context::Part;
use serde_json::{Value as Json, json};

use super::read::{is_call, push_item};
use crate::api::json::tree::{Tree, Value};
use crate::api::limits::DEEPEST;
use crate::api::reply::Stop;
use crate::api::sse::Event;
use crate::api::synthetic::{Frame, Written, cut, insert};

pub(super) fn read(body: Value<'_>) -> (Vec<String>, Option<Stop>) {
    let output = body.get("output").into_iter().flat_map(Value::elements);
    let pieces = output.map(|item| item.raw().to_owned());
    (pieces.collect(), stop_of(body))
}

pub(super) fn parts(pieces: &[String]) -> Vec<Part> {
    let mut out = Vec::new();
    for tree in pieces.iter().flat_map(|it| Tree::parse(it, DEEPEST)) {
        push_item(&mut out, tree.root());
    }
    out
}

/// A completed response waits for tools if it calls one that the client has to answer.
fn stop_of(body: Value<'_>) -> Option<Stop> {
    let status = body.get_text("status")?;
    let details = body.get("incomplete_details");
    let reason = details.and_then(|details| details.get_text("reason"));
    let mut output = body.get("output").into_iter().flat_map(Value::elements);
    Some(match (&*status, reason.as_deref()) {
        ("completed", _) if output.any(is_call) => Stop::ToolUse,
        ("completed", _) => Stop::EndOfTurn,
        ("incomplete", Some("max_output_tokens")) => Stop::MaxTokens,
        ("incomplete", Some("content_filter")) => Stop::Refusal,
        ("incomplete", Some(reason)) => Stop::Other(reason.to_owned()),
        ("in_progress" | "queued", _) => return None,
        (other, _) => Stop::Other(other.to_owned()),
    })
}

pub(super) fn say(frame: &Frame, text: &str) -> Written {
    let item = item(frame, "completed", &json!([output_text(text)]));
    let done = response(frame, "completed", std::slice::from_ref(&item), &usage());
    Written {
        whole: done.to_string(),
        events: events(frame, text, &item, &done),
    }
}

/// A reply with one item, which comes by these events.
pub(super) fn say_item(frame: &Frame, item: &Json, events: &[(&'static str, Json)]) -> Written {
    let begun = response(frame, "in_progress", &[], &Json::Null);
    let done = response(frame, "completed", std::slice::from_ref(item), &usage());
    let mut all = vec![
        ("response.created", json!({"response": begun})),
        ("response.in_progress", json!({"response": begun})),
    ];
    all.extend_from_slice(events);
    all.push(("response.completed", json!({"response": done})));
    Written {
        whole: done.to_string(),
        events: numbered(all),
    }
}

fn events(frame: &Frame, text: &str, item: &Json, done: &Json) -> Vec<Event> {
    let begun = response(frame, "in_progress", &[], &Json::Null);
    let opened = self::item(frame, "in_progress", &json!([]));
    let place = |more: Json| {
        let mut data =
            json!({"item_id": frame.id("msg_", 48), "output_index": 0, "content_index": 0});
        if let (Some(data), Json::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        data
    };
    let part = |text| place(json!({"part": output_text(text)}));
    let mut all = vec![
        ("response.created", json!({"response": begun})),
        ("response.in_progress", json!({"response": begun})),
        (
            "response.output_item.added",
            json!({"output_index": 0, "item": opened}),
        ),
        ("response.content_part.added", part("")),
    ];
    all.extend(cut(text).map(|text| {
        let delta = place(json!({"delta": text, "logprobs": []}));
        ("response.output_text.delta", delta)
    }));
    all.extend([
        (
            "response.output_text.done",
            place(json!({"text": text, "logprobs": []})),
        ),
        ("response.content_part.done", part(text)),
        (
            "response.output_item.done",
            json!({"output_index": 0, "item": item}),
        ),
        ("response.completed", json!({"response": done})),
    ]);
    numbered(all)
}

fn numbered(all: Vec<(&'static str, Json)>) -> Vec<Event> {
    all.into_iter()
        .enumerate()
        .map(|(number, (kind, mut data))| {
            insert(&mut data, "type", json!(kind));
            insert(&mut data, "sequence_number", json!(number));
            Event::new(kind, data.to_string())
        })
        .collect()
}

fn response(frame: &Frame, status: &str, output: &[Json], usage: &Json) -> Json {
    json!({
        "id": frame.id("resp_", 48),
        "object": "response",
        "created_at": frame.created,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": frame.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "usage": usage,
    })
}

fn item(frame: &Frame, status: &str, content: &Json) -> Json {
    json!({
        "id": frame.id("msg_", 48),
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    })
}

fn output_text(text: &str) -> Json {
    json!({"type": "output_text", "text": text, "annotations": []})
}

pub(super) fn usage() -> Json {
    json!({
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    })
}
