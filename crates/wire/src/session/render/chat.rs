//! New messages of message lists.

use context::Turn;
use context::turn::Role;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::voice::{self, Object, arguments, failed, object, words, written};
use crate::api::Dialect;
use crate::session::Format;

/// The form of a LangChain dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Dump {
    /// `{"type":"human","data":{…}}`
    #[default]
    Data,
    /// `{"lc":1,"type":"constructor","id":[…],"kwargs":{…}}`
    Constructor,
    /// `{"type":"human","content":…}`
    Flat,
}

impl Dump {
    /// The form of a message.
    pub(super) fn of(element: &[u8]) -> Self {
        let message: Object = serde_json::from_slice(element).unwrap_or_default();
        if message.contains_key("kwargs") {
            Self::Constructor
        } else if message.contains_key("data") {
            Self::Data
        } else {
            Self::Flat
        }
    }
}

pub(super) struct Voice {
    format: Format,
    dump: Dump,
}

impl Voice {
    pub(super) const fn new(format: Format) -> Self {
        Self {
            format,
            dump: Dump::Data,
        }
    }

    /// For LangChain: the same in another form.
    pub(super) const fn dumped(mut self, dump: Dump) -> Self {
        self.dump = dump;
        self
    }
}

impl voice::Voice for Voice {
    fn heard(&mut self, line: &[u8]) {
        if self.format == Format::LangChain {
            self.dump = Dump::of(line);
        }
    }

    fn say(&mut self, turn: &Turn, _at: Option<Timestamp>) -> Vec<Object> {
        match self.format {
            Format::Anthropic => written(Dialect::Anthropic, turn),
            Format::LangChain => langchain(turn)
                .into_iter()
                .map(|(kind, body)| self.dump.message(kind, body))
                .collect(),
            _ => written(Dialect::Chat, turn),
        }
    }
}

/// The kinds and bodies of LangChain's messages.
fn langchain(turn: &Turn) -> Vec<(&'static str, Object)> {
    let results = turn.results().map(|result| {
        let status = if failed(result.outcome) {
            "error"
        } else {
            "success"
        };
        let body = json!({
            "content": result.text.as_str(),
            "tool_call_id": result.call.as_str(),
            "status": status,
        });
        ("tool", object(body))
    });
    let mut messages: Vec<(&'static str, Object)> = results.collect();
    let words = words(turn);
    if words.is_empty() && !messages.is_empty() {
        return messages;
    }
    let kind = match turn.role() {
        Role::Assistant => "ai",
        Role::System => "system",
        _ => "human",
    };
    let mut body = object(json!({"content": words}));
    let calls: Vec<Value> = turn
        .calls()
        .map(|call| {
            let (name, id) = (call.name.as_str(), call.id.as_str());
            json!({"name": name, "args": arguments(&call.arguments), "id": id, "type": "tool_call"})
        })
        .collect();
    if !calls.is_empty() {
        body.insert("tool_calls".to_owned(), Value::from(calls));
    }
    messages.push((kind, body));
    messages
}

impl Dump {
    fn message(self, kind: &str, mut body: Object) -> Object {
        if self == Self::Constructor {
            let class = match kind {
                "ai" => "AIMessage",
                "system" => "SystemMessage",
                "tool" => "ToolMessage",
                _ => "HumanMessage",
            };
            let id = json!(["langchain", "schema", "messages", class]);
            return object(json!({"lc": 1, "type": "constructor", "id": id, "kwargs": body}));
        }
        body.insert("type".to_owned(), Value::from(kind));
        match self {
            Self::Flat => body,
            _ => object(json!({"type": kind, "data": body})),
        }
    }
}
