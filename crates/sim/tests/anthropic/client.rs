//! A client without a socket.

use http::{HeaderMap, HeaderValue, Method};
use jiff::Timestamp;
use serde_json::{Value, json};
use sim::{Answer, Config, Incoming, Provider};

/// The model most tests ask: it binds thinking, compacts, and takes system messages anywhere.
pub const MODEL: &str = "claude-opus-5-5";

/// A provider and what a client sends with every request.
pub struct Client {
    pub provider: Provider,
    pub key: &'static str,
    pub betas: Vec<&'static str>,
    pub second: i64,
    pub version: &'static str,
}

impl Client {
    pub fn new(config: Config) -> Self {
        Self {
            provider: Provider::new(config),
            key: "key",
            betas: Vec::new(),
            second: 0,
            version: "2023-06-01",
        }
    }

    pub fn with(betas: &[&'static str]) -> Self {
        Self {
            betas: betas.to_vec(),
            ..Self::new(Config::default())
        }
    }

    /// Sends a body to a path.
    pub fn send(&mut self, path: &str, body: &str) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static(self.key));
        headers.insert("anthropic-version", HeaderValue::from_static(self.version));
        if !self.betas.is_empty() {
            let list = self.betas.join(",");
            headers.insert("anthropic-beta", HeaderValue::from_str(&list).unwrap());
        }
        self.provider.answer(&Incoming {
            method: &Method::POST,
            path,
            headers: &headers,
            body: body.as_bytes(),
            now: Timestamp::from_second(self.second).unwrap(),
        })
    }

    /// Asks for an answer: what is missing from `body` gets a default.
    pub fn ask(&mut self, body: Value) -> (u16, Value) {
        let answer = self.send("/v1/messages", &complete(&body).to_string());
        let value = serde_json::from_str(&answer.text()).unwrap();
        (answer.status, value)
    }

    /// Asks, and expects an answer.
    #[track_caller]
    pub fn answered(&mut self, body: Value) -> Value {
        let (status, answer) = self.ask(body);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Asks, and expects a refusal with this status, stable code and a part of its text.
    #[track_caller]
    pub fn refused(&mut self, body: Value, status: u16, code: &str, text: &str) {
        let (found, answer) = self.ask(body);
        let error = &answer["error"];
        assert_eq!(found, status, "{answer}");
        assert_eq!(answer["type"], "error");
        let own = error["details"]["error_code"].as_str().unwrap_or_default();
        assert_eq!(own, code, "{answer}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(text), "{message} has no {text}");
    }
}

/// The body with a model, `max_tokens` and a message, where it has none.
pub fn complete(body: &Value) -> Value {
    let mut whole = json!({"model": MODEL, "max_tokens": 1_000, "messages": [user("hi")]});
    for (key, value) in body.as_object().unwrap() {
        whole[key] = value.clone();
    }
    whole
}

pub fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

pub fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": "a"}})
}

pub fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
}

pub fn says(role: &str, blocks: Value) -> Value {
    json!({"role": role, "content": blocks})
}

pub fn tool() -> Value {
    json!({"name": "read", "description": "Reads a file.", "input_schema": {"type": "object"}})
}
