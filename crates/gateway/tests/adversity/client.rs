//! A client like real ones: it sends the whole conversation each time, and again after the
//! provider failed.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use wire::api::{Accumulator, Decoder, Dialect, Response};

pub const MODEL: &str = "claude-opus-4-8";

pub struct Client {
    runtime: Runtime,
    pool: Pool<HttpConnector, Full<Bytes>>,
    key: &'static str,
    pub messages: Vec<Value>,
}

/// The result of one attempt.
#[derive(Debug)]
pub enum Attempt {
    Answered {
        did: String,
    },
    /// A refusal by the provider, or by the gateway if the provider disconnected.
    Refused {
        status: StatusCode,
        body: String,
    },
    /// The connection or the stream broke.
    Broken,
}

impl Client {
    pub fn new() -> Self {
        Self::with_key("sk-ant-secret-of-one")
    }

    pub fn with_key(key: &'static str) -> Self {
        Self {
            key,
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            pool: Pool::builder(TokioExecutor::new()).build(HttpConnector::new()),
            messages: Vec::new(),
        }
    }

    pub fn says(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    /// Appends the results of the calls in the newest answer. Returns false if it has none.
    pub fn returns(&mut self, text: &str) -> bool {
        let newest = self.messages.last().unwrap()["content"].as_array();
        let calls = newest.into_iter().flatten();
        let results = calls
            .filter(|block| block["type"] == "tool_use")
            .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": text}));
        let results: Vec<Value> = results.collect();
        if results.is_empty() {
            return false;
        }
        self.messages
            .push(json!({"role": "user", "content": results}));
        true
    }

    pub fn body(&self, streamed: bool) -> Value {
        json!({
            "model": MODEL,
            "max_tokens": 256,
            "stream": streamed,
            "system": "You are a careful assistant.",
            "tools": [{"name": "read", "input_schema": {"type": "object"}}],
            "messages": self.messages,
        })
    }

    /// Sends a request to the control API.
    pub fn ask(&self, method: Method, url: &str, body: Option<Value>) -> (StatusCode, Value) {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header("content-type", "application/json")
            .header("x-api-key", self.key)
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        let pool = self.pool.clone();
        self.runtime.block_on(async move {
            let answer = pool.request(request).await.unwrap();
            let status = answer.status();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            (status, serde_json::from_slice(&body).unwrap_or_default())
        })
    }

    /// Sends the conversation once and appends the answer.
    pub fn send(&mut self, url: &str, streamed: bool) -> Attempt {
        let request = Request::post(format!("{url}/v1/messages"))
            .header("content-type", "application/json")
            .header("x-api-key", self.key)
            .header("anthropic-version", "2023-06-01")
            .body(Full::new(Bytes::from(self.body(streamed).to_string())))
            .unwrap();
        let pool = self.pool.clone();
        let sent = self.runtime.block_on(async move {
            let answer = pool.request(request).await.ok()?;
            let status = answer.status();
            let did = answer.headers().get("x-ebbtide-did");
            let did = did.map(|did| did.to_str().unwrap().to_owned());
            let body = answer.into_body().collect().await.ok()?.to_bytes();
            Some((status, did.unwrap_or_default(), body))
        });
        let Some((status, did, body)) = sent else {
            return Attempt::Broken;
        };
        if status != StatusCode::OK {
            let body = String::from_utf8_lossy(&body).into_owned();
            return Attempt::Refused { status, body };
        }
        let Some(message) = message(&body, streamed) else {
            return Attempt::Broken;
        };
        self.messages.push(message);
        Attempt::Answered { did }
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
            answer.accept(&event.unwrap()).unwrap();
        }
        if !answer.is_complete() || answer.reply().failure.is_some() {
            return None;
        }
        answer.reply()
    } else {
        Response::parse(Dialect::Anthropic, body).unwrap().reply()
    };
    let message = serde_json::from_str(&reply.message());
    // An empty answer means that the view filled the window, which is a defect.
    Some(message.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(body))))
}
