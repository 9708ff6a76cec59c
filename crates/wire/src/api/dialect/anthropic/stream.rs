//! Anthropic's stream: a message that starts, content blocks with deltas, a message that stops.

use std::collections::BTreeMap;

use super::reply::stop_of;
use crate::api::Dialect;
use crate::api::failure::Failure;
use crate::api::json::members::{GrowingObject, with_members};
use crate::api::json::tree::{Tree, Value};
use crate::api::json::write::{list, quoted};
use crate::api::limits::DEEPEST;
use crate::api::reply::Reply;
use crate::api::stream::{Progress, Stream, index, text};
use crate::api::usage::Usage;

pub(super) struct Events {
    /// The reply without usage and pieces.
    reply: Reply,
    usage: GrowingObject,
    blocks: BTreeMap<u64, Block>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            reply: Reply::empty(Dialect::Anthropic),
            usage: GrowingObject::default(),
            blocks: BTreeMap::new(),
        }
    }
}

impl Stream for Events {
    fn accept(&mut self, kind: &str, root: Value<'_>) -> Progress {
        match kind {
            "message_start" => {
                if let Some(message) = root.get("message") {
                    self.reply.id = text(message, "id");
                    self.reply.model = text(message, "model");
                    self.count(message);
                }
            }
            "content_block_start" => {
                if let Some(block) = root.get("content_block") {
                    self.blocks.insert(index(root, "index"), Block::new(block));
                }
            }
            "content_block_delta" => {
                let block = self.blocks.get_mut(&index(root, "index"));
                if let Some((block, delta)) = block.zip(root.get("delta")) {
                    block.accept(delta);
                }
            }
            "message_delta" => {
                let stop = root
                    .get("delta")
                    .and_then(|delta| text(delta, "stop_reason"));
                let stop = stop.map(|stop| stop_of(&stop));
                self.reply.stop = stop.or(self.reply.stop.take());
                self.count(root);
            }
            "message_stop" => return Progress::Complete,
            "error" => {
                self.reply.failure = Failure::read(root);
                return Progress::Complete;
            }
            _ => {}
        }
        Progress::Going
    }

    fn reply(&self) -> Reply {
        let usage = self.usage.json(&[]);
        let usage = Tree::parse(&usage, DEEPEST).map(|tree| Usage::read(tree.root()));
        Reply {
            usage: usage.unwrap_or_default(),
            pieces: self.blocks.values().map(Block::json).collect(),
            ..self.reply.clone()
        }
    }
}

impl Events {
    /// Takes the counts in `object`'s `usage`. They are running totals: later ones replace earlier
    /// ones, a `null` says nothing.
    fn count(&mut self, object: Value<'_>) {
        let usage = object.get("usage");
        for (key, value) in usage.into_iter().flat_map(Value::members) {
            if let Some(key) = key.text().filter(|_| !value.is_null()) {
                self.usage.set_json(&key, value.raw());
            }
        }
    }
}

/// A content block: its first form, and the members that deltas changed.
#[derive(Clone)]
struct Block {
    start: String,
    /// Members that are text, as they are so far.
    texts: BTreeMap<&'static str, String>,
    /// The JSON of `input`, as far as it has come.
    input: String,
    citations: Vec<String>,
    /// Members that a delta replaced, as JSON.
    replaced: BTreeMap<String, String>,
}

impl Block {
    fn new(block: Value<'_>) -> Self {
        Self {
            start: block.raw().to_owned(),
            texts: BTreeMap::new(),
            input: String::new(),
            citations: Vec::new(),
            replaced: BTreeMap::new(),
        }
    }

    fn accept(&mut self, delta: Value<'_>) {
        match &*delta.get_text("type").unwrap_or_default() {
            "text_delta" => self.append("text", delta),
            "thinking_delta" => self.append("thinking", delta),
            "signature_delta" => self.append("signature", delta),
            "input_json_delta" => {
                self.input
                    .push_str(&delta.get_text("partial_json").unwrap_or_default());
            }
            "citations_delta" => {
                let citation = delta.get("citation");
                self.citations
                    .extend(citation.map(|citation| citation.raw().to_owned()));
            }
            // One delta holds the whole summary.
            "compaction_delta" => {
                for (key, value) in delta.members() {
                    let key = key.text().unwrap_or_default();
                    if key != "type" {
                        self.replaced
                            .insert(key.into_owned(), value.raw().to_owned());
                    }
                }
            }
            _ => {}
        }
    }

    fn append(&mut self, key: &'static str, delta: Value<'_>) {
        let more = delta.get_text(key).unwrap_or_default();
        self.texts.entry(key).or_default().push_str(&more);
    }

    fn json(&self) -> String {
        let Ok(tree) = Tree::parse(&self.start, DEEPEST) else {
            return self.start.clone();
        };
        let start = tree.root();
        let mut new: Vec<(&str, String)> = Vec::new();
        for (key, more) in &self.texts {
            let first = start.get_text(key).unwrap_or_default();
            new.push((key, quoted(&format!("{first}{more}"))));
        }
        if !self.input.trim().is_empty() {
            // A stream that is cut leaves half an input, which is kept as a string.
            let whole = Tree::parse(&self.input, DEEPEST).is_ok();
            let input = if whole {
                self.input.clone()
            } else {
                quoted(&self.input)
            };
            new.push(("input", input));
        }
        if !self.citations.is_empty() {
            let first = start.get("citations").into_iter().flat_map(Value::elements);
            let first = first.map(Value::raw);
            let all = first.chain(self.citations.iter().map(String::as_str));
            new.push(("citations", list(all)));
        }
        for (key, json) in &self.replaced {
            new.push((key, json.clone()));
        }
        if new.is_empty() {
            return self.start.clone();
        }
        with_members(start, &new)
    }
}
