//! A whole completion as a response.

use std::fmt;

use serde_json::Value;

use super::{Bridge, status, too_long, usage};
use crate::api::limits::LONGEST_BODY;
use crate::api::prefix::Remake;

/// Reads a body to its end.
pub(super) struct Whole {
    bridge: Bridge,
    body: Vec<u8>,
    is_too_long: bool,
}

impl fmt::Debug for Whole {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whole").finish_non_exhaustive()
    }
}

impl Whole {
    pub fn new(bridge: Bridge) -> Self {
        Self {
            bridge,
            body: Vec::new(),
            is_too_long: false,
        }
    }

    fn failed(&self) -> Value {
        let mut response = self.bridge.response("failed", &[], &Value::Null);
        if let Some(response) = response.as_object_mut() {
            response.insert("error".to_owned(), too_long(LONGEST_BODY));
        }
        response
    }

    fn response(&self, completion: &Value) -> Option<Value> {
        let choice = completion.get("choices")?.get(0)?;
        let message = choice.get("message")?;
        let mut output = Vec::new();
        let text = message.get("content").and_then(Value::as_str);
        let text = text.or_else(|| message.get("refusal").and_then(Value::as_str));
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            output.push(self.bridge.message(0, "completed", Some(text)));
        }
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let function = call.get("function")?;
            let text = |value: &Value, key: &str| {
                let found = value.get(key).and_then(Value::as_str);
                found.unwrap_or_default().to_owned()
            };
            let (name, arguments) = (text(function, "name"), text(function, "arguments"));
            let said = (name.as_str(), arguments.as_str());
            output.push(self.bridge.call(output.len(), &text(call, "id"), said));
        }
        let finish = choice.get("finish_reason").and_then(Value::as_str);
        let usage = usage(completion.get("usage"));
        let status = status(finish.unwrap_or_default());
        Some(self.bridge.response(status, &output, &usage))
    }
}

impl Remake for Whole {
    fn piece(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.is_too_long |= self.body.len() + bytes.len() > LONGEST_BODY;
        match self.is_too_long {
            true => self.body = Vec::new(),
            false => self.body.extend_from_slice(bytes),
        }
        Vec::new()
    }

    /// A body that is no completion stays as it is. One that is too long becomes a response that failed.
    fn end(&mut self) -> Vec<u8> {
        if self.is_too_long {
            return self.failed().to_string().into_bytes();
        }
        let body = std::mem::take(&mut self.body);
        let completion: Option<Value> = serde_json::from_slice(&body).ok();
        let response = completion.and_then(|completion| self.response(&completion));
        response.map_or(body, |response| response.to_string().into_bytes())
    }
}
