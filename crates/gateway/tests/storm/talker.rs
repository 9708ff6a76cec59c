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

pub const KEY: &str = "sk-ant-of-the-storm";
/// The longest that anything may take: the provider's silence three times over, and the store's wait.
pub const LONGEST: Duration = Duration::from_secs(30);

/// What became of a request.
#[derive(Debug)]
pub enum Came {
    Answered(Value),
    Refused(StatusCode, String),
    Broken,
    /// Nothing came in time.
    Late,
}

pub struct Talker {
    runtime: Runtime,
    pub messages: Vec<Value>,
}

impl Talker {
    pub fn new() -> Self {
        Self {
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            messages: Vec::new(),
        }
    }

    /// The conversation as a request.
    pub fn body(&self, streamed: bool) -> String {
        let tools = json!([{"name": "read", "description": "reads a file",
            "input_schema": {"type": "object"}}]);
        let body = json!({
            "model": "claude-opus-4-8",
            "max_tokens": 256,
            "stream": streamed,
            "system": "You are a careful assistant.",
            "tools": tools,
            "messages": self.messages,
        });
        body.to_string()
    }

    /// Sends the conversation once.
    pub fn send(&self, url: &str, streamed: bool) -> Came {
        self.post(url, self.body(streamed).into(), streamed)
    }

    /// Sends any bytes.
    pub fn post(&self, url: &str, body: Bytes, streamed: bool) -> Came {
        let request = Request::post(format!("{url}/v1/messages"))
            .header("content-type", "application/json")
            .header("x-api-key", KEY)
            .header("anthropic-version", "2023-06-01")
            .body(Full::new(body))
            .unwrap();
        let Some((status, body)) = self.ask(request) else {
            return Came::Late;
        };
        match status {
            None => Came::Broken,
            Some(StatusCode::OK) => message(&body, streamed).map_or(Came::Broken, Came::Answered),
            Some(status) => Came::Refused(status, String::from_utf8_lossy(&body).into_owned()),
        }
    }

    /// Reads from the control API.
    pub fn get(&self, url: &str) -> Value {
        let request = Request::get(url)
            .header("x-api-key", KEY)
            .body(Full::new(Bytes::new()))
            .unwrap();
        let (_, body) = self.ask(request).unwrap_or_default();
        serde_json::from_slice(&body).unwrap_or_default()
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
            let came = timeout(LONGEST, asked).await.ok()?;
            Some(came.map_or((None, Bytes::new()), |(status, body)| (Some(status), body)))
        })
    }
}

/// Returns a complete answer as a message of the conversation.
fn message(body: &[u8], streamed: bool) -> Option<Value> {
    let reply = if streamed {
        let mut decoder = Decoder::default();
        let mut answer = Accumulator::new(Dialect::Anthropic);
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
        Response::parse(Dialect::Anthropic, body).ok()?.reply()
    };
    let message: Value = serde_json::from_str(&reply.message()).ok()?;
    let is_empty = message["content"].as_array().is_none_or(Vec::is_empty);
    (!is_empty).then_some(message)
}
