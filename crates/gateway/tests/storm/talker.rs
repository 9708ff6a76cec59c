//! A client that waits only so long.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use wire::api::{Accumulator, Decoder, Dialect, Response};

use crate::vessel::patient;

pub const KEY: &str = "sk-ant-of-the-storm";
/// The administrator's.
pub const ADMIN: &str = "admin-of-the-storm";
/// The longest that anything may take: the provider's silence three times over, and the store's wait.
pub const LONGEST: Duration = Duration::from_secs(30);

/// The outcome of a request.
#[derive(Debug)]
pub enum Came {
    /// The messages that the answer adds to the conversation.
    Answered(Vec<Value>),
    Refused(StatusCode, String),
    Broken,
    /// Nothing came in time.
    Late,
}

/// A client of one dialect.
pub struct Talker {
    runtime: Runtime,
    pub dialect: Dialect,
    pub messages: Vec<Value>,
}

const SYSTEM: &str = "You are a careful assistant.";

impl Talker {
    pub fn new(dialect: Dialect) -> Self {
        Self {
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            dialect,
            messages: Vec::new(),
        }
    }

    /// The first `count` messages as a request.
    pub fn body(&self, count: usize, streamed: bool) -> String {
        let said = &self.messages[..count];
        let led = [&[json!({"role": "system", "content": SYSTEM})], said].concat();
        let (schema, does) = (json!({"type": "object"}), "reads a file");
        let body = match self.dialect {
            Dialect::Anthropic => json!({
                "model": "claude-opus-4-8",
                "max_tokens": 256,
                "stream": streamed,
                "system": SYSTEM,
                "tools": [{"name": "read", "description": does, "input_schema": schema}],
                "messages": said,
            }),
            // Without `stream_options` a stream says nothing of the request's size.
            Dialect::Chat => json!({
                "model": "gpt-5.5",
                "stream": streamed,
                "tools": [{"type": "function",
                    "function": {"name": "read", "description": does, "parameters": schema}}],
                "messages": led,
            }),
            Dialect::Responses => json!({
                "model": "gpt-5.5",
                "stream": streamed,
                "store": false,
                "instructions": SYSTEM,
                "tools": [{"type": "function", "name": "read", "description": does, "parameters": schema}],
                "input": said,
            }),
        };
        body.to_string()
    }

    /// The calls of the newest answer that wait for a result.
    pub fn calls(&self) -> Vec<Value> {
        let newest = self.messages.iter().rev();
        let asked: Vec<&Value> = match self.dialect {
            Dialect::Anthropic => newest
                .take(1)
                .flat_map(|it| blocks(&it["content"]))
                .collect(),
            Dialect::Chat => newest
                .take(1)
                .flat_map(|it| blocks(&it["tool_calls"]))
                .collect(),
            Dialect::Responses => newest.take_while(|it| it["role"] != "user").collect(),
        };
        let asked = asked
            .into_iter()
            .take_while(|it| it["type"] != "function_call_output");
        let id = |call: &Value| match call["type"].as_str() {
            Some("tool_use" | "function") => Some(call["id"].clone()),
            Some("function_call") => Some(call["call_id"].clone()),
            _ => None,
        };
        asked.filter_map(id).collect()
    }

    /// The messages that answer calls.
    pub fn results(&self, results: &[(Value, String)]) -> Vec<Value> {
        let each = results.iter().map(|(id, text)| match self.dialect {
            Dialect::Anthropic => {
                json!({"type": "tool_result", "tool_use_id": id, "content": text})
            }
            Dialect::Chat => json!({"role": "tool", "tool_call_id": id, "content": text}),
            Dialect::Responses => {
                json!({"type": "function_call_output", "call_id": id, "output": text})
            }
        });
        let each: Vec<Value> = each.collect();
        match self.dialect {
            Dialect::Anthropic => vec![json!({"role": "user", "content": each})],
            Dialect::Chat | Dialect::Responses => each,
        }
    }

    /// Sends the conversation once.
    pub fn send(&self, url: &str, streamed: bool) -> Came {
        let body = self.body(self.messages.len(), streamed);
        self.post(url, body.into(), streamed)
    }

    /// Sends any bytes.
    pub fn post(&self, url: &str, body: Bytes, streamed: bool) -> Came {
        let path = match self.dialect {
            Dialect::Anthropic => "/v1/messages",
            Dialect::Chat => "/v1/chat/completions",
            Dialect::Responses => "/v1/responses",
        };
        let request =
            Request::post(format!("{url}{path}")).header("content-type", "application/json");
        let request = match self.dialect {
            Dialect::Anthropic => request
                .header("x-api-key", KEY)
                .header("anthropic-version", "2023-06-01"),
            Dialect::Chat | Dialect::Responses => {
                request.header("authorization", format!("Bearer {KEY}"))
            }
        };
        let request = request.body(Full::new(body)).unwrap();
        let Some((status, body)) = self.ask(request) else {
            return Came::Late;
        };
        match status {
            None => Came::Broken,
            Some(StatusCode::OK) => {
                answer(self.dialect, &body, streamed).map_or(Came::Broken, Came::Answered)
            }
            Some(status) => Came::Refused(status, String::from_utf8_lossy(&body).into_owned()),
        }
    }

    /// Reads from the control API with a key.
    pub fn get(&self, key: &str, url: &str) -> Value {
        serde_json::from_slice(&self.read(key, url)).unwrap_or_default()
    }

    /// The answers that ended before the store had them, since the process began.
    pub fn ended_without_store(&self, url: &str) -> u64 {
        let metrics = self.read(ADMIN, &format!("{url}/ebbtide/metrics"));
        let metrics = String::from_utf8_lossy(&metrics);
        assert!(metrics.contains("ebbtide_"), "{metrics}");
        let late = "ebbtide_failures_total{at=\"keeping_in_time\"} ";
        let count = metrics.lines().find_map(|line| line.strip_prefix(late));
        count.map_or(0, |count| count.parse().unwrap())
    }

    fn read(&self, key: &str, url: &str) -> Bytes {
        let request = Request::get(url)
            .header("authorization", format!("Bearer {key}"))
            .body(Full::new(Bytes::new()))
            .unwrap();
        let (_, body) = self.ask(request).unwrap_or_default();
        body
    }

    /// The status and the body; no status where the connection broke, `None` where nothing came in time.
    fn ask(&self, request: Request<Full<Bytes>>) -> Option<(Option<StatusCode>, Bytes)> {
        self.runtime.block_on(async move {
            let pool: Client<HttpConnector, Full<Bytes>> =
                Client::builder(TokioExecutor::new()).build_http();
            let asked = async {
                let answer = pool.request(request).await.ok()?;
                let status = answer.status();
                let body = answer.into_body().collect().await;
                Some((status, body.ok()?.to_bytes()))
            };
            let came = timeout(patient(LONGEST), asked).await.ok()?;
            Some(came.map_or((None, Bytes::new()), |(status, body)| (Some(status), body)))
        })
    }
}

/// Returns a complete answer as messages of the conversation.
fn answer(dialect: Dialect, body: &[u8], streamed: bool) -> Option<Vec<Value>> {
    let reply = if streamed {
        let mut decoder = Decoder::default();
        let mut answer = Accumulator::new(dialect);
        decoder.push(body);
        decoder.finish();
        while let Some(event) = decoder.next_event() {
            answer.accept(&event.ok()?).ok()?;
        }
        if !answer.is_complete() || answer.reply().failure.is_some() {
            return None;
        }
        answer.reply()
    } else {
        Response::parse(dialect, body).ok()?.reply()
    };
    let messages: Vec<Value> = serde_json::from_str(&format!("[{}]", reply.message())).ok()?;
    let says = |message: &Value| match dialect {
        Dialect::Anthropic => blocks(&message["content"]).next().is_some(),
        Dialect::Chat => message["content"].is_string() || message["tool_calls"].is_array(),
        Dialect::Responses => message["type"].is_string(),
    };
    messages.iter().any(says).then_some(messages)
}

fn blocks(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
