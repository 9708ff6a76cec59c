//! The chunks of a completion as the events of a response.

use std::fmt;

use serde_json::{Value, json};

use super::{Bridge, output_text, status, too_long, usage};
use crate::api::limits::LONGEST_STREAM;
use crate::api::prefix::Remake;
use crate::api::sse::{Decoder, Event};

/// The bytes that an item takes beside its text; many small ones must not take more than a long one.
const ITEM: usize = 1 << 10;

/// Reads chunks and writes events.
pub(super) struct Streamed {
    bridge: Bridge,
    decoder: Decoder,
    output: Vec<Value>,
    open: Open,
    finish: Option<String>,
    usage: Option<Value>,
    number: u64,
    /// The bytes that have come, of which the text that is held is a part, and those of the items.
    bytes: usize,
    is_over: bool,
}

/// The item that grows.
#[derive(Default)]
enum Open {
    #[default]
    Nothing,
    Text(String),
    Call(Call),
}

#[derive(Default)]
struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl fmt::Debug for Streamed {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed").finish_non_exhaustive()
    }
}

impl Streamed {
    pub fn new(bridge: Bridge) -> Self {
        Self {
            bridge,
            decoder: Decoder::default(),
            output: Vec::new(),
            open: Open::Nothing,
            finish: None,
            usage: None,
            number: 0,
            bytes: 0,
            is_over: false,
        }
    }

    fn push(&mut self, out: &mut String, kind: &str, mut data: Value) {
        if let Some(data) = data.as_object_mut() {
            data.insert("type".to_owned(), json!(kind));
            data.insert("sequence_number".to_owned(), json!(self.number));
        }
        self.number += 1;
        out.push_str(&Event::new(kind, data.to_string()).encode());
    }

    fn accept(&mut self, out: &mut String, event: &Event) {
        if self.is_over {
            return;
        }
        if event.data.trim() == "[DONE]" {
            return self.complete(out);
        }
        let Ok(chunk) = serde_json::from_str::<Value>(&event.data) else {
            return;
        };
        self.begin(out);
        if let Some(error) = chunk.get("error").filter(|it| !it.is_null()) {
            return self.fail(out, error);
        }
        if let Some(used) = chunk.get("usage").filter(|it| !it.is_null()) {
            self.usage = Some(used.clone());
        }
        let Some(choice) = chunk.get("choices").and_then(|it| it.get(0)) else {
            return;
        };
        if let Some(delta) = choice.get("delta") {
            self.grow(out, delta);
        }
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
    }

    fn begin(&mut self, out: &mut String) {
        if self.number > 0 {
            return;
        }
        let begun = self.bridge.response("in_progress", &[], &Value::Null);
        self.push(out, "response.created", json!({"response": begun}));
        self.push(out, "response.in_progress", json!({"response": begun}));
    }

    fn grow(&mut self, out: &mut String, delta: &Value) {
        let text = delta.get("content").and_then(Value::as_str);
        let text = text.or_else(|| delta.get("refusal").and_then(Value::as_str));
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.say(out, text);
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.call(out, call);
        }
    }

    /// The place of the item that grows.
    fn place(&self, more: Value) -> Value {
        let place = self.output.len();
        let id = match &self.open {
            Open::Call(call) => self.item(call),
            _ => self.bridge.message(place, "in_progress", None),
        };
        let mut data = json!({"item_id": id.get("id"), "output_index": place});
        if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
            data.extend(more);
        }
        data
    }

    fn say(&mut self, out: &mut String, text: &str) {
        if !matches!(self.open, Open::Text(_)) {
            self.close(out);
            self.open = Open::Text(String::new());
            let place = self.output.len();
            let item = self.bridge.message(place, "in_progress", None);
            let added = json!({"output_index": place, "item": item});
            self.push(out, "response.output_item.added", added);
            let data = self.place(json!({"content_index": 0, "part": output_text("")}));
            self.push(out, "response.content_part.added", data);
        }
        if let Open::Text(said) = &mut self.open {
            said.push_str(text);
        }
        let data = self.place(json!({"content_index": 0, "delta": text, "logprobs": []}));
        self.push(out, "response.output_text.delta", data);
    }

    fn call(&mut self, out: &mut String, delta: &Value) {
        let text = |value: Option<&Value>, key: &str| {
            let found = value.and_then(|it| it.get(key)?.as_str());
            found.unwrap_or_default().to_owned()
        };
        let index = delta
            .get("index")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let function = delta.get("function");
        let (id, name) = (text(Some(delta), "id"), text(function, "name"));
        let is_open = matches!(&self.open, Open::Call(call)
            if call.index == index && (id.is_empty() || id == call.id));
        if !is_open {
            self.close(out);
            let call = Call {
                index,
                id,
                name,
                arguments: String::new(),
            };
            let added = json!({"output_index": self.output.len(), "item": self.opened(&call)});
            self.open = Open::Call(call);
            self.push(out, "response.output_item.added", added);
        }
        let piece = text(function, "arguments");
        let Open::Call(call) = &mut self.open else {
            return;
        };
        call.arguments.push_str(&piece);
        // The text of a custom tool stands inside its arguments: it is told when they are whole.
        let is_custom = self
            .bridge
            .tools
            .get(&call.name)
            .is_some_and(|it| it.is_custom);
        if !piece.is_empty() && !is_custom {
            let data = self.place(json!({"delta": piece}));
            self.push(out, "response.function_call_arguments.delta", data);
        }
    }

    fn item(&self, call: &Call) -> Value {
        let said = (call.name.as_str(), call.arguments.as_str());
        self.bridge.call(self.output.len(), &call.id, said)
    }

    /// A call as its first event shows it.
    fn opened(&self, call: &Call) -> Value {
        let mut item = self.item(call);
        if let Some(item) = item.as_object_mut() {
            item.insert("status".to_owned(), json!("in_progress"));
            for key in ["arguments", "input"] {
                if let Some(value) = item.get_mut(key) {
                    *value = json!("");
                }
            }
        }
        item
    }

    /// Ends the item that grows.
    fn close(&mut self, out: &mut String) {
        let place = self.output.len();
        let item = match &self.open {
            Open::Nothing => return,
            Open::Text(text) => {
                let text = text.clone();
                let part = output_text(&text);
                let data = self.place(json!({"content_index": 0, "text": text, "logprobs": []}));
                self.push(out, "response.output_text.done", data);
                let data = self.place(json!({"content_index": 0, "part": part}));
                self.push(out, "response.content_part.done", data);
                self.bridge.message(place, "completed", Some(&text))
            }
            Open::Call(call) => {
                let item = self.item(call);
                self.close_call(out, &item);
                item
            }
        };
        let done = json!({"output_index": place, "item": item});
        self.push(out, "response.output_item.done", done);
        self.output.push(item);
        self.bytes = self.bytes.saturating_add(ITEM);
        self.open = Open::Nothing;
    }

    fn close_call(&mut self, out: &mut String, item: &Value) {
        if let Some(input) = item.get("input") {
            let data = self.place(json!({"delta": input}));
            self.push(out, "response.custom_tool_call_input.delta", data);
            let data = self.place(json!({"input": input}));
            self.push(out, "response.custom_tool_call_input.done", data);
            return;
        }
        let data =
            self.place(json!({"arguments": item.get("arguments"), "name": item.get("name")}));
        self.push(out, "response.function_call_arguments.done", data);
    }

    fn complete(&mut self, out: &mut String) {
        self.begin(out);
        self.close(out);
        self.is_over = true;
        let status = status(self.finish.as_deref().unwrap_or_default());
        let usage = usage(self.usage.as_ref());
        let response = self.bridge.response(status, &self.output, &usage);
        let kind = format!("response.{status}");
        self.push(out, &kind, json!({"response": response}));
    }

    fn fail(&mut self, out: &mut String, error: &Value) {
        self.close(out);
        self.is_over = true;
        let mut response = self.bridge.response("failed", &self.output, &Value::Null);
        let text = |key| error.get(key).and_then(Value::as_str);
        if let Some(response) = response.as_object_mut() {
            let code = text("code").unwrap_or("server_error");
            let message = text("message")
                .or_else(|| error.as_str())
                .unwrap_or_default();
            response.insert(
                "error".to_owned(),
                json!({"code": code, "message": message}),
            );
        }
        self.push(out, "response.failed", json!({"response": response}));
    }

    /// Ends an answer that is too long. The held part is forgotten, and not told again.
    fn overflow(&mut self) -> Vec<u8> {
        let mut out = String::new();
        self.begin(&mut out);
        self.open = Open::Nothing;
        self.output = Vec::new();
        self.decoder = Decoder::default();
        self.fail(&mut out, &too_long(LONGEST_STREAM));
        out.into_bytes()
    }

    fn ready(&mut self) -> Vec<u8> {
        let mut out = String::new();
        while let Some(event) = self.decoder.next_event() {
            if let Ok(event) = event {
                self.accept(&mut out, &event);
            }
        }
        out.into_bytes()
    }
}

impl Remake for Streamed {
    fn piece(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.is_over {
            return Vec::new();
        }
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > LONGEST_STREAM {
            return self.overflow();
        }
        self.decoder.push(bytes);
        self.ready()
    }

    /// Some servers leave `[DONE]` out. A stream without a reason to stop was cut, and stays so.
    fn end(&mut self) -> Vec<u8> {
        self.decoder.finish();
        let mut out = self.ready();
        if !self.is_over && self.finish.is_some() {
            let mut rest = String::new();
            self.complete(&mut rest);
            out.extend(rest.into_bytes());
        }
        out
    }
}
