//! Anthropic's compaction blocks, written and read without the provider.

use serde_json::{Value as Json, json};

use super::reply;
use crate::api::json::tree::{Tree, Value};
use crate::api::json::write::{Object, list, quoted};
use crate::api::limits::DEEPEST;
use crate::api::prefix::{Prefix, prepend, shift};
use crate::api::sealed::{Asked, Closed, Opened, Opener, Sealed};
use crate::api::synthetic::{Frame, Written};

/// The place and the text of one block.
struct Found {
    message: usize,
    block: usize,
    opened: Opened,
}

/// Opens the blocks of a list. A summary stands for everything before it.
pub(super) fn unseal(messages: &[&str], open: &mut Opener<'_>) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for (message, raw) in messages.iter().enumerate() {
        if !raw.contains("\"compaction\"") {
            continue;
        }
        let tree = Tree::parse(raw, DEEPEST).ok()?;
        let blocks = tree.root().get("content").into_iter();
        for (block, value) in blocks.flat_map(Value::elements).enumerate() {
            if value.get("type").is_none_or(|kind| !kind.is("compaction")) {
                continue;
            }
            let opened = match open(&sealed(value)) {
                Opened::Kept => continue,
                opened => opened,
            };
            found.push(Found {
                message,
                block,
                opened,
            });
        }
    }
    let is_summary = |found: &Found| matches!(found.opened, Opened::Summary(_));
    // A client that compacted twice may still send the earlier block. The later one covers it.
    let last = found.iter().rposition(is_summary);
    let from = last
        .and_then(|last| found.get(last))
        .map(|last| (last.message, last.block));
    (!found.is_empty()).then(|| rewritten(messages, &found, from.unwrap_or((0, 0))))
}

fn sealed<'t>(block: Value<'t>) -> Sealed<'t> {
    let text = |key| block.get_text(key);
    Sealed {
        // The answer to `compaction` has it in `signature`, that to a threshold in `encrypted_content`.
        seal: text("signature")
            .or_else(|| text("encrypted_content"))
            .unwrap_or_default(),
        content: text("content"),
    }
}

/// The messages from a block on, each block that was opened replaced.
fn rewritten(messages: &[&str], found: &[Found], from: (usize, usize)) -> Vec<String> {
    let mut out = Vec::new();
    for (index, raw) in messages.iter().enumerate().skip(from.0) {
        let of_message: Vec<&Found> = found.iter().filter(|it| it.message == index).collect();
        if of_message.is_empty() {
            out.push((*raw).to_owned());
            continue;
        }
        let start = if index == from.0 { from.1 } else { 0 };
        out.extend(message(raw, &of_message, start));
    }
    out
}

/// One message: the texts of what was opened as a user's message, then the blocks that are left.
fn message(raw: &str, found: &[&Found], start: usize) -> Vec<String> {
    let Ok(tree) = Tree::parse(raw, DEEPEST) else {
        return vec![raw.to_owned()];
    };
    let role = tree.root().get_text("role").unwrap_or_default();
    let (mut texts, mut left) = (Vec::new(), Vec::new());
    let blocks = tree.root().get("content").into_iter();
    for (place, block) in blocks.flat_map(Value::elements).enumerate().skip(start) {
        match found
            .iter()
            .find(|it| it.block == place)
            .map(|it| &it.opened)
        {
            None | Some(Opened::Kept) => left.push(block.raw().to_owned()),
            Some(Opened::Summary(summary)) => texts.extend(marked(summary, block)),
            // In the middle of an answer it only goes.
            Some(Opened::LeftOut(why)) if left.is_empty() => texts.push(text(why, None)),
            Some(Opened::LeftOut(_)) => {}
        }
    }
    let said = |role: &str, blocks: &[String]| {
        let message = Object::new().text("role", role);
        message.raw("content", &list(blocks)).end()
    };
    if role == "user" {
        texts.append(&mut left);
    }
    let mut out = vec![said("user", &texts)];
    if texts.is_empty() {
        out.clear();
    }
    if !left.is_empty() {
        out.push(said(&role, &left));
    }
    out
}

/// The texts of a summary; the last one has the cache breakpoint of the block.
fn marked(texts: &[String], block: Value<'_>) -> Vec<String> {
    let last = texts.len().saturating_sub(1);
    let mark = |place| block.get("cache_control").filter(|_| place == last);
    let texts = texts.iter().enumerate();
    texts.map(|(place, it)| text(it, mark(place))).collect()
}

fn text(text: &str, mark: Option<Value<'_>>) -> String {
    let block = Object::new().text("type", "text").text("text", text);
    match mark {
        Some(mark) => block.raw("cache_control", mark.raw()).end(),
        None => block.end(),
    }
}

/// The block: signed where it was asked for, with its encrypted form where it came by itself.
pub(super) fn piece(_: &Frame, closed: &Closed<'_>) -> Option<String> {
    let block = Object::new()
        .text("type", "compaction")
        .text("content", closed.text);
    Some(match closed.asked {
        Asked::Now => block
            .text("signature", closed.seal)
            .raw("encrypted_content", "null")
            .end(),
        Asked::FromSize => block.raw("encrypted_content", &quoted(closed.seal)).end(),
        Asked::ByPath => return None,
    })
}

pub(super) fn say(frame: &Frame, piece: &str, closed: &Closed<'_>) -> Option<Written> {
    match closed.asked {
        Asked::Now => reply::say_compaction(frame, piece),
        Asked::FromSize => Some(reply::say_paused(frame, piece, &delta(closed))),
        Asked::ByPath => None,
    }
}

fn delta(closed: &Closed<'_>) -> Json {
    json!({
        "type": "compaction_delta",
        "content": closed.text,
        "encrypted_content": closed.seal,
    })
}

/// Puts a block in front of the content of a message.
struct Before(Json);

pub(super) fn prefix(piece: Json) -> Option<Box<dyn Prefix>> {
    Some(Box::new(Before(piece)))
}

impl Prefix for Before {
    fn event(&mut self, name: &str, mut data: Json) -> Vec<(String, Json)> {
        shift(&mut data, "index");
        let mut events = vec![(name.to_owned(), data)];
        if name == "message_start" {
            let member = |key: &str| self.0.get(key).cloned().unwrap_or_default();
            let of = |kind: &str, key: &str, value: Json| {
                let mut data = json!({"type": kind, "index": 0});
                if let Some(data) = data.as_object_mut().filter(|_| !key.is_empty()) {
                    data.insert(key.to_owned(), value);
                }
                (kind.to_owned(), data)
            };
            let opened = json!({"type": "compaction", "content": null, "encrypted_content": null});
            let delta = json!({
                "type": "compaction_delta",
                "content": member("content"),
                "encrypted_content": member("encrypted_content"),
            });
            events.push(of("content_block_start", "content_block", opened));
            events.push(of("content_block_delta", "delta", delta));
            events.push(of("content_block_stop", "", Json::Null));
        }
        events
    }

    fn body(&self, body: &mut Json) {
        prepend(body, "content", &self.0);
    }
}
