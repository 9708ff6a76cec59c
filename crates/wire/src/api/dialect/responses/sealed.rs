//! Compaction items of Responses, written and read without the provider.

use serde_json::{Value as Json, json};

use super::reply;
use crate::api::json::tree::Tree;
use crate::api::json::write::{Object, list};
use crate::api::limits::DEEPEST;
use crate::api::prefix::{Prefix, prepend, shift};
use crate::api::render::text_block;
use crate::api::sealed::{Asked, Closed, Opened, Opener, Sealed};
use crate::api::synthetic::{Frame, Written, insert};

/// The types of a compaction item; Codex has written the second one.
const KINDS: [&str; 2] = ["compaction", "compaction_summary"];

/// Opens the items of a list. A summary stands for everything before it but the messages of people.
pub(super) fn unseal(items: &[&str], open: &mut Opener<'_>) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for (place, raw) in items.iter().enumerate() {
        if !raw.contains("\"compaction") {
            continue;
        }
        let tree = Tree::parse(raw, DEEPEST).ok()?;
        let item = tree.root();
        if item
            .get("type")
            .is_none_or(|kind| KINDS.iter().all(|it| !kind.is(it)))
        {
            continue;
        }
        let sealed = Sealed {
            seal: item.get_text("encrypted_content").unwrap_or_default(),
            content: None,
        };
        match open(&sealed) {
            Opened::Kept => {}
            opened => found.push((place, opened)),
        }
    }
    let is_summary = |found: &&(usize, Opened)| matches!(found.1, Opened::Summary(_));
    let last = found.iter().rfind(is_summary).map(|found| found.0);
    (!found.is_empty()).then(|| rewritten(items, &found, last.unwrap_or(0)))
}

fn rewritten(items: &[&str], found: &[(usize, Opened)], from: usize) -> Vec<String> {
    let mut out = Vec::new();
    for (place, raw) in items.iter().enumerate() {
        match found
            .iter()
            .find(|(at, _)| *at == place)
            .map(|(_, opened)| opened)
        {
            None | Some(Opened::Kept) if place >= from || is_of_people(raw) => {
                out.push((*raw).to_owned());
            }
            Some(Opened::Summary(texts)) if place == from => out.push(said(texts)),
            Some(Opened::LeftOut(why)) if place >= from => {
                out.push(said(std::slice::from_ref(why)));
            }
            _ => {}
        }
    }
    out
}

/// Returns `true` for messages of the user and of the operator.
fn is_of_people(item: &str) -> bool {
    let Ok(tree) = Tree::parse(item, DEEPEST) else {
        return false;
    };
    let text = |key| tree.root().get_text(key).unwrap_or_default();
    matches!(&*text("type"), "" | "message")
        && matches!(&*text("role"), "user" | "system" | "developer")
}

fn said(texts: &[String]) -> String {
    let blocks = texts.iter().map(|text| text_block("input_text", text));
    let message = Object::new().text("type", "message").text("role", "user");
    message.raw("content", &list(blocks)).end()
}

pub(super) fn piece(frame: &Frame, closed: &Closed<'_>) -> Option<String> {
    let item = Object::new()
        .text("type", "compaction")
        .text("id", &frame.id("cmp_", 48));
    Some(item.text("encrypted_content", closed.seal).end())
}

pub(super) fn say(frame: &Frame, piece: &str, closed: &Closed<'_>) -> Option<Written> {
    let item: Json = serde_json::from_str(piece).ok()?;
    Some(match closed.asked {
        Asked::Now | Asked::FromSize => reply::say_item(frame, &item, &events(&item)),
        Asked::ByPath => Written {
            whole: compacted(frame, item, closed.kept).to_string(),
            events: Vec::new(),
        },
    })
}

/// The answer of `/responses/compact`: the user's messages and the item.
fn compacted(frame: &Frame, item: Json, kept: &[&str]) -> Json {
    let kept = kept.iter().enumerate();
    let mut output: Vec<Json> = kept
        .filter_map(|(place, raw)| listed(frame, place, raw))
        .collect();
    output.push(item);
    json!({
        "id": frame.id("resp_", 48),
        "object": "response.compaction",
        "created_at": frame.created,
        "output": output,
        "usage": reply::usage(),
    })
}

/// A message of the user as the answer lists it.
fn listed(frame: &Frame, place: usize, raw: &str) -> Option<Json> {
    let mut message = match serde_json::from_str(raw).ok()? {
        Json::String(text) => json!({"role": "user", "content": text}),
        other => other,
    };
    if let Some(Json::String(text)) = message.get("content") {
        let content = json!([{"type": "input_text", "text": text}]);
        insert(&mut message, "content", content);
    }
    insert(&mut message, "type", json!("message"));
    if message.get("id").is_none_or(Json::is_null) {
        insert(
            &mut message,
            "id",
            json!(format!("{}{place:04}", frame.id("msg_", 44))),
        );
    }
    insert(&mut message, "status", json!("completed"));
    Some(message)
}

/// The events by which an item comes as the first one of an output.
fn events(item: &Json) -> Vec<(&'static str, Json)> {
    let id = item.get("id").cloned().unwrap_or_default();
    vec![
        (
            "response.output_item.added",
            json!({"output_index": 0, "item": item}),
        ),
        (
            "response.compaction.compacting",
            json!({"item_id": id, "output_index": 0}),
        ),
        (
            "response.output_item.done",
            json!({"output_index": 0, "item": item}),
        ),
    ]
}

/// Puts an item in front of the output of a response.
struct Before {
    item: Json,
    is_told: bool,
    number: u64,
}

pub(super) fn prefix(item: Json) -> Option<Box<dyn Prefix>> {
    Some(Box::new(Before {
        item,
        is_told: false,
        number: 0,
    }))
}

impl Before {
    fn push(&mut self, events: &mut Vec<(String, Json)>, name: &str, mut data: Json) {
        insert(&mut data, "type", json!(name));
        insert(&mut data, "sequence_number", json!(self.number));
        self.number += 1;
        events.push((name.to_owned(), data));
    }
}

impl Prefix for Before {
    fn event(&mut self, name: &str, mut data: Json) -> Vec<(String, Json)> {
        let mut out = Vec::new();
        let opens = [
            "response.created",
            "response.queued",
            "response.in_progress",
        ];
        let fails = ["error", "response.failed"];
        if !opens.contains(&name) && !fails.contains(&name) && !self.is_told {
            self.is_told = true;
            for (name, data) in events(&self.item) {
                self.push(&mut out, name, data);
            }
        }
        shift(&mut data, "output_index");
        if self.is_told
            && let Some(response) = data.get_mut("response")
        {
            prepend(response, "output", &self.item);
        }
        self.push(&mut out, name, data);
        out
    }

    fn body(&self, body: &mut Json) {
        prepend(body, "output", &self.item);
    }
}
