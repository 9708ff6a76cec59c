//! Items as messages.

use serde_json::{Map, Value, json};

use super::tools::{arguments, there};

/// An answer of the model under construction: Chat Completions has its text and its calls in one message.
#[derive(Default)]
struct Said {
    texts: Vec<String>,
    calls: Vec<Value>,
}

#[derive(Default)]
struct Written {
    messages: Vec<Value>,
    said: Said,
    /// The images of results, told once all results are there.
    shown: Vec<Value>,
    /// True once something other than the operator spoke.
    is_open: bool,
}

/// The messages of a request.
pub(super) fn written(request: &Map<String, Value>) -> Vec<Value> {
    let mut written = Written::default();
    let mut system: Vec<String> = Vec::new();
    let instructions = request.get("instructions").and_then(Value::as_str);
    system.extend(instructions.filter(|it| !it.is_empty()).map(str::to_owned));
    let bare;
    let items = match request.get("input") {
        Some(Value::Array(items)) => items.as_slice(),
        Some(Value::String(text)) => {
            bare = [json!({"role": "user", "content": text})];
            &bare
        }
        _ => &[],
    };
    for item in items {
        if !written.is_open && is_operators(item) {
            system.push(text_of(item.get("content")));
            continue;
        }
        written.is_open = true;
        written.add(item);
    }
    written.flush();
    if !system.is_empty() {
        let message = json!({"role": "system", "content": system.join("\n\n")});
        written.messages.insert(0, message);
    }
    written.messages
}

fn member<'v>(item: &'v Value, key: &str) -> &'v str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_operators(item: &Value) -> bool {
    matches!(member(item, "type"), "" | "message")
        && matches!(member(item, "role"), "system" | "developer")
}

impl Written {
    fn add(&mut self, item: &Value) {
        match member(item, "type") {
            "" | "message" if member(item, "role") == "assistant" => {
                if !self.said.calls.is_empty() {
                    self.flush();
                }
                self.show();
                self.said.texts.push(text_of(item.get("content")));
            }
            "" | "message" => {
                self.flush();
                let content = content(item.get("content"));
                if is_operators(item) && self.append(&content) {
                    return;
                }
                self.messages
                    .push(json!({"role": "user", "content": content}));
            }
            "function_call" => self.call(item, member(item, "arguments")),
            "custom_tool_call" => self.call(item, &arguments(member(item, "input"))),
            "local_shell_call" | "shell_call" | "apply_patch_call" => {
                let action = item.get("action").or_else(|| item.get("operation"));
                let action = action.map_or_else(|| "{}".to_owned(), Value::to_string);
                self.call(item, &action);
            }
            kind if kind.ends_with("_call_output") => self.result(item),
            // Reasoning, and what the provider did itself.
            _ => {}
        }
    }

    /// Adds the operator's words to the user's message before them. Returns false if there is none.
    fn append(&mut self, words: &Value) -> bool {
        let last = self.messages.last_mut();
        let last = last.filter(|message| member(message, "role") == "user");
        let (Some(said), Some(words)) = (
            last.and_then(|message| message.get_mut("content")),
            words.as_str(),
        ) else {
            return false;
        };
        match said {
            Value::String(said) => {
                said.push_str("\n\n");
                said.push_str(words);
            }
            Value::Array(parts) => parts.push(json!({"type": "text", "text": words})),
            _ => return false,
        }
        true
    }

    fn call(&mut self, item: &Value, arguments: &str) {
        self.show();
        let own = member(item, "name");
        let name = match own {
            "" => member(item, "type").trim_end_matches("_call"),
            own => own,
        };
        let namespace = item.get("namespace").and_then(Value::as_str);
        self.said.calls.push(json!({
            "id": call_id(item),
            "type": "function",
            "function": {"name": there(name, namespace), "arguments": arguments},
        }));
    }

    fn result(&mut self, item: &Value) {
        self.speak();
        let output = item.get("output");
        let text = match output {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(_)) => text_of(output),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let message = json!({"role": "tool", "tool_call_id": call_id(item), "content": text});
        self.messages.push(message);
        let parts = output.and_then(Value::as_array).into_iter().flatten();
        self.shown.extend(parts.filter_map(image));
    }

    /// Ends the answer of the model.
    fn speak(&mut self) {
        let said = std::mem::take(&mut self.said);
        if said.texts.is_empty() && said.calls.is_empty() {
            return;
        }
        let text = said.texts.join("\n\n");
        let mut message = json!({"role": "assistant", "content": text});
        if let (false, Some(message)) = (said.calls.is_empty(), message.as_object_mut()) {
            if text.is_empty() {
                message.insert("content".to_owned(), Value::Null);
            }
            message.insert("tool_calls".to_owned(), Value::Array(said.calls));
        }
        self.messages.push(message);
    }

    /// Shows what results held besides text.
    fn show(&mut self) {
        if !self.shown.is_empty() {
            let shown = std::mem::take(&mut self.shown);
            self.messages
                .push(json!({"role": "user", "content": shown}));
        }
    }

    fn flush(&mut self) {
        self.speak();
        self.show();
    }
}

fn call_id(item: &Value) -> &str {
    match member(item, "call_id") {
        "" => member(item, "id"),
        id => id,
    }
}

/// The text of a content, its parts one behind the other.
fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| {
                let text = part.get("text").or_else(|| part.get("refusal"));
                part.as_str().or_else(|| text?.as_str())
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The content of a user's message: a text where it is nothing else.
fn content(content: Option<&Value>) -> Value {
    let parts = content.and_then(Value::as_array).into_iter().flatten();
    let parts: Vec<Value> = parts.filter_map(part).collect();
    match parts
        .iter()
        .any(|part| part.get("type").is_none_or(|it| it != "text"))
    {
        true => Value::Array(parts),
        false => Value::String(text_of(content)),
    }
}

fn part(part: &Value) -> Option<Value> {
    match member(part, "type") {
        "input_image" => image(part),
        "input_file" => {
            let mut file = part.as_object()?.clone();
            file.shift_remove("type");
            Some(json!({"type": "file", "file": file}))
        }
        "input_audio" => Some(part.clone()),
        _ => {
            let text = part.as_str().or_else(|| part.get("text")?.as_str())?;
            Some(json!({"type": "text", "text": text}))
        }
    }
}

fn image(part: &Value) -> Option<Value> {
    if member(part, "type") != "input_image" {
        return None;
    }
    let mut image = json!({"url": part.get("image_url")?.as_str()?});
    if let (Some(detail), Some(image)) = (part.get("detail"), image.as_object_mut()) {
        image.insert("detail".to_owned(), detail.clone());
    }
    Some(json!({"type": "image_url", "image_url": image}))
}
