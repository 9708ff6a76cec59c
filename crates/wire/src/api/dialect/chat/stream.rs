//! The stream of Chat Completions: chunks with deltas of the first choice, the usage in a chunk of
//! its own at the end.

use super::reply::stop_of;
use crate::api::Dialect;
use crate::api::failure::Failure;
use crate::api::json::members::GrowingObject;
use crate::api::json::tree::Value;
use crate::api::json::write::list;
use crate::api::reply::{Reply, Stop};
use crate::api::stream::{Progress, Stream, index, text};
use crate::api::usage::Usage;

#[derive(Default)]
pub(super) struct Chunks {
    id: Option<String>,
    model: Option<String>,
    stop: Option<Stop>,
    usage: Usage,
    message: GrowingObject,
    calls: Vec<Call>,
    function: Option<GrowingObject>,
    failure: Option<Failure>,
}

/// A tool call under construction.
#[derive(Clone, Default)]
struct Call {
    /// The number that the provider gives it; some give none.
    number: Option<u64>,
    members: GrowingObject,
    /// The object that holds the name and the arguments, and its key.
    body: GrowingObject,
    key: &'static str,
}

impl Stream for Chunks {
    fn accept(&mut self, _: &str, root: Value<'_>) -> Progress {
        if let Some(failure) = Failure::read(root) {
            self.failure = Some(failure);
            return Progress::Complete;
        }
        self.id = self.id.take().or_else(|| text(root, "id"));
        self.model = self.model.take().or_else(|| text(root, "model"));
        if let Some(usage) = root.get("usage").filter(|usage| !usage.is_null()) {
            self.usage = Usage::read(usage);
        }
        for choice in root.get("choices").into_iter().flat_map(Value::elements) {
            if index(choice, "index") == 0 {
                self.accept_choice(choice);
            }
        }
        Progress::Going
    }

    fn reply(&self) -> Reply {
        let mut extra = Vec::new();
        if !self.calls.is_empty() {
            extra.push(("tool_calls", list(self.calls.iter().map(Call::json))));
        }
        if let Some(function) = &self.function {
            extra.push(("function_call", function.json(&[])));
        }
        let spoke = !self.message.is_empty() || !extra.is_empty();
        Reply {
            id: self.id.clone(),
            model: self.model.clone(),
            stop: self.stop.clone(),
            usage: self.usage.clone(),
            pieces: spoke
                .then(|| self.message.json(&extra))
                .into_iter()
                .collect(),
            failure: self.failure.clone(),
            ..Reply::empty(Dialect::Chat)
        }
    }
}

impl Chunks {
    fn accept_choice(&mut self, choice: Value<'_>) {
        if let Some(reason) = text(choice, "finish_reason") {
            self.stop = Some(stop_of(&reason));
        }
        for (key, value) in choice.get("delta").into_iter().flat_map(Value::members) {
            match &*key.text().unwrap_or_default() {
                "role" => self
                    .message
                    .set_text("role", &value.text().unwrap_or_default()),
                "tool_calls" => value.elements().for_each(|call| self.accept_call(call)),
                "function_call" if !value.is_null() => {
                    grow_body(self.function.get_or_insert_default(), value);
                }
                other => self.message.grow(other, value),
            }
        }
    }

    /// A call goes on where its number, or without one its id, is known; without both, the last one
    /// goes on.
    fn accept_call(&mut self, delta: Value<'_>) {
        let number = delta.get("index").and_then(Value::whole);
        let id = text(delta, "id");
        let known = match (number, &id) {
            (Some(_), _) => self.calls.iter().position(|call| call.number == number),
            (None, Some(_)) => None,
            (None, None) => self.calls.len().checked_sub(1),
        };
        if known.is_none() {
            self.calls.push(Call {
                number,
                ..Call::default()
            });
        }
        let place = known.unwrap_or(self.calls.len() - 1);
        let Some(call) = self.calls.get_mut(place) else {
            return;
        };
        for (key, value) in delta.members() {
            match &*key.text().unwrap_or_default() {
                "index" => {}
                "function" => {
                    call.key = "function";
                    grow_body(&mut call.body, value);
                }
                "custom" => {
                    call.key = "custom";
                    grow_body(&mut call.body, value);
                }
                other => match value.text() {
                    Some(text) if !text.is_empty() => call.members.set_text(other, &text),
                    Some(_) => {}
                    None => call.members.grow(other, value),
                },
            }
        }
    }
}

impl Call {
    fn json(&self) -> String {
        if self.key.is_empty() {
            return self.members.json(&[]);
        }
        self.members.json(&[(self.key, self.body.json(&[]))])
    }
}

/// The name comes once, or again and again in full; everything else grows.
fn grow_body(body: &mut GrowingObject, delta: Value<'_>) {
    for (key, value) in delta.members() {
        match (&*key.text().unwrap_or_default(), value.text()) {
            ("name", Some(name)) if name.is_empty() => {}
            ("name", Some(name)) => body.set_text("name", &name),
            (key, _) => body.grow(key, value),
        }
    }
}
