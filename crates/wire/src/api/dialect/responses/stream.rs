//! The stream of Responses: items that are added, grow and are done, and the whole response at the
//! end.

use std::collections::BTreeMap;

use super::read::is_call;
use crate::api::Dialect;
use crate::api::failure::Failure;
use crate::api::json::members::with_members;
use crate::api::json::tree::{Tree, Value};
use crate::api::json::write::{Object, list, quoted};
use crate::api::limits::DEEPEST;
use crate::api::reply::{self, Reply, Stop};
use crate::api::stream::{Progress, Stream, index, text};

#[derive(Default)]
pub(super) struct Items {
    id: Option<String>,
    model: Option<String>,
    items: BTreeMap<u64, Item>,
    /// The response of the last event.
    response: Option<String>,
    failure: Option<Failure>,
}

/// An output item: as it was added or, later, as it was done.
#[derive(Clone, Default)]
struct Item {
    json: String,
    /// Texts that grow, by the list they belong to and the place in it: the type of the part and
    /// the text.
    lists: BTreeMap<(&'static str, u64), (&'static str, String)>,
    /// The arguments or the input of a call: the key and the text.
    arguments: Option<(&'static str, String)>,
}

impl Stream for Items {
    fn accept(&mut self, kind: &str, root: Value<'_>) -> Progress {
        if let Some(response) = root.get("response") {
            self.id = self.id.take().or_else(|| text(response, "id"));
            self.model = self.model.take().or_else(|| text(response, "model"));
        }
        match kind {
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(item) = root.get("item") {
                    let json = item.raw().to_owned();
                    let whole = Item {
                        json,
                        ..Item::default()
                    };
                    self.items.insert(index(root, "output_index"), whole);
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.response = root
                    .get("response")
                    .map(|response| response.raw().to_owned());
                return Progress::Complete;
            }
            "error" => {
                self.failure = Failure::read(root);
                return Progress::Complete;
            }
            delta => self.grow(delta, root),
        }
        Progress::Going
    }

    /// The last event holds everything. Where the stream was cut before it, or where its list of
    /// output is left empty (some servers do that), the items count.
    fn reply(&self) -> Reply {
        let tree = self
            .response
            .as_deref()
            .map(|json| Tree::parse(json, DEEPEST));
        let mut reply = match &tree {
            Some(Ok(tree)) => reply::read(Dialect::Responses, tree.root()),
            _ => Reply {
                id: self.id.clone(),
                model: self.model.clone(),
                ..Reply::empty(Dialect::Responses)
            },
        };
        reply.failure = reply.failure.or_else(|| self.failure.clone());
        if reply.pieces.is_empty() {
            let items = self.items.values().map(Item::json);
            reply.pieces = items.filter(|item| item != "{}").collect();
            let calls =
                |item: &String| Tree::parse(item, DEEPEST).is_ok_and(|tree| is_call(tree.root()));
            if reply.stop == Some(Stop::EndOfTurn) && reply.pieces.iter().any(calls) {
                reply.stop = Some(Stop::ToolUse);
            }
        }
        reply
    }
}

impl Items {
    fn grow(&mut self, kind: &str, root: Value<'_>) {
        let Some(delta) = root.get_text("delta") else {
            return;
        };
        let item = self.items.entry(index(root, "output_index")).or_default();
        let (key, part) = match kind {
            "response.output_text.delta" => ("content", "output_text"),
            "response.refusal.delta" => ("content", "refusal"),
            "response.reasoning_text.delta" => ("content", "reasoning_text"),
            "response.reasoning_summary_text.delta" => ("summary", "summary_text"),
            "response.function_call_arguments.delta" => return item.argue("arguments", &delta),
            "response.custom_tool_call_input.delta" => return item.argue("input", &delta),
            _ => return,
        };
        let place = match key {
            "summary" => index(root, "summary_index"),
            _ => index(root, "content_index"),
        };
        let grown = item.lists.entry((key, place));
        grown.or_insert((part, String::new())).1.push_str(&delta);
    }
}

impl Item {
    fn argue(&mut self, key: &'static str, delta: &str) {
        self.arguments
            .get_or_insert((key, String::new()))
            .1
            .push_str(delta);
    }

    fn json(&self) -> String {
        let json = if self.json.is_empty() {
            "{}"
        } else {
            &self.json
        };
        let Ok(tree) = Tree::parse(json, DEEPEST) else {
            return json.to_owned();
        };
        let mut new = Vec::new();
        for key in ["content", "summary"] {
            let grown = self.lists.iter().filter(|((list, _), _)| *list == key);
            let parts: Vec<String> = grown.map(|(_, (kind, text))| part(kind, text)).collect();
            if !parts.is_empty() {
                new.push((key, list(parts)));
            }
        }
        if let Some((key, text)) = &self.arguments {
            new.push((key, quoted(text)));
        }
        if new.is_empty() {
            return json.to_owned();
        }
        with_members(tree.root(), &new)
    }
}

fn part(kind: &str, text: &str) -> String {
    let key = if kind == "refusal" { "refusal" } else { "text" };
    Object::new().text("type", kind).text(key, text).end()
}
