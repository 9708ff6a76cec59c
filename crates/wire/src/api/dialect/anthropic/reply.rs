//! Anthropic replies: reading a body, writing one of our own.

use std::fmt::Write as _;

use context::Part;
use serde_json::{Value as Json, json};

use super::read::content_parts;
use crate::api::json::tree::{Tree, Value};
use crate::api::json::write::{Object, list};
use crate::api::limits::DEEPEST;
use crate::api::reply::Stop;
use crate::api::sse::Event;
use crate::api::synthetic::{Frame, Written, cut, insert};

pub(super) fn read(body: Value<'_>) -> (Vec<String>, Option<Stop>) {
    let content = body.get("content").into_iter().flat_map(Value::elements);
    let stop = body.get_text("stop_reason");
    let pieces = content.map(|block| block.raw().to_owned());
    (pieces.collect(), stop.map(|reason| stop_of(&reason)))
}

pub(super) fn parts(pieces: &[String]) -> Vec<Part> {
    let content = list(pieces);
    let tree = Tree::parse(&content, DEEPEST);
    tree.map(|tree| content_parts(tree.root()))
        .unwrap_or_default()
}

pub(super) fn message(pieces: &[String]) -> String {
    let message = Object::new().text("role", "assistant");
    message.raw("content", &list(pieces)).end()
}

/// The meaning of a `stop_reason`.
pub(super) fn stop_of(reason: &str) -> Stop {
    match reason {
        "end_turn" => Stop::EndOfTurn,
        "max_tokens" => Stop::MaxTokens,
        "stop_sequence" => Stop::StopSequence,
        "tool_use" => Stop::ToolUse,
        "pause_turn" => Stop::Pause,
        "compaction" => Stop::Compaction,
        "refusal" => Stop::Refusal,
        "model_context_window_exceeded" => Stop::WindowExceeded,
        other => Stop::Other(other.to_owned()),
    }
}

/// The type of a compaction, and the reason to stop behind one.
const COMPACTED: &str = "compaction";

/// The one block of a reply.
struct Content<'c> {
    block: &'c str,
    /// The block as its first event shows it.
    opened: &'c str,
    deltas: Vec<Json>,
    stop: &'static str,
}

pub(super) fn say(frame: &Frame, text: &str) -> Written {
    let deltas = cut(text).map(|text| json!({"type": "text_delta", "text": text}));
    let content = Content {
        block: &json!({"type": "text", "text": text}).to_string(),
        opened: r#"{"type":"text","text":""}"#,
        deltas: deltas.collect(),
        stop: "end_turn",
    };
    content.written(frame)
}

pub(super) fn say_compaction(frame: &Frame, block: &str) -> Option<Written> {
    let content = Content {
        block,
        opened: block,
        deltas: Vec::new(),
        stop: COMPACTED,
    };
    Some(content.written(frame))
}

/// A reply that pauses behind a compaction block, which comes by one delta.
pub(super) fn say_paused(frame: &Frame, block: &str, delta: &Json) -> Written {
    let content = Content {
        block,
        opened: r#"{"type":"compaction","content":null,"encrypted_content":null}"#,
        deltas: vec![delta.clone()],
        stop: COMPACTED,
    };
    content.written(frame)
}

impl Content<'_> {
    fn written(&self, frame: &Frame) -> Written {
        Written {
            whole: framed(frame, self.block, &json!(self.stop)),
            events: self.events(frame),
        }
    }

    fn events(&self, frame: &Frame) -> Vec<Event> {
        let opening = framed(frame, "", &Json::Null);
        let opened = self.opened;
        let started = format!(r#"{{"type":"message_start","message":{opening}}}"#);
        let block =
            format!(r#"{{"type":"content_block_start","index":0,"content_block":{opened}}}"#);
        let mut events = vec![
            Event::new("message_start", started),
            Event::new("content_block_start", block),
        ];
        let mut push = |name: &str, value: Json| events.push(Event::new(name, value.to_string()));
        for delta in &self.deltas {
            let name = "content_block_delta";
            push(name, json!({"type": name, "index": 0, "delta": delta}));
        }
        let name = "content_block_stop";
        push(name, json!({"type": name, "index": 0}));
        let ending = json!({
            "type": "message_delta",
            "delta": {"stop_reason": self.stop, "stop_sequence": null},
            "usage": usage(self.stop == COMPACTED),
        });
        push("message_delta", ending);
        push("message_stop", json!({"type": "message_stop"}));
        events
    }
}

/// A message around raw content, which keeps its bytes.
fn framed(frame: &Frame, content: &str, stop: &Json) -> String {
    let mut out = String::from("{");
    let members = [
        ("id", json!(frame.id("msg_01", 22))),
        ("type", json!("message")),
        ("role", json!("assistant")),
        ("model", json!(frame.model)),
    ];
    for (key, value) in members {
        // Writing to a string cannot fail.
        let _ = write!(out, "\"{key}\":{value},");
    }
    let usage = usage(stop == COMPACTED);
    let _ = write!(
        out,
        r#""content":[{content}],"stop_reason":{stop},"stop_sequence":null,"usage":{usage}}}"#
    );
    out
}

/// Nothing was used. A compaction is counted in an iteration of its own.
fn usage(is_compaction: bool) -> Json {
    let counts = json!({
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 0,
    });
    let mut usage = counts.clone();
    if is_compaction {
        let mut pass = counts;
        insert(&mut pass, "type", json!(COMPACTED));
        insert(&mut usage, "iterations", json!([pass]));
    }
    usage
}
