//! The agent's HTTP client: streams answers and measures the time to their first event.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;
use wire::api::{Accumulator, Decoder, Dialect, Reply};

use crate::failure::Failure;

/// The API key. The simulated provider accepts any key.
const KEY: &str = "demo-key";

pub struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
}

/// A complete answer.
pub struct Answer {
    pub headers: HeaderMap,
    pub reply: Reply,
    /// The time to the first event.
    pub first: Duration,
}

impl Http {
    pub fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// Sends a streaming request. `name` labels the session, `number` the request.
    pub async fn ask(
        &self,
        base: &str,
        (name, number): (&str, usize),
        body: String,
    ) -> Result<Answer, Failure> {
        let request = Request::post(format!("{base}/v1/messages"))
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-api-key", KEY)
            .header("anthropic-version", "2023-06-01")
            .header("x-ebbtide-session", name)
            .header(NUMBER, number)
            .body(Full::new(Bytes::from(body)))
            .map_err(broken)?;
        let begun = Instant::now();
        let response = self.client.request(request).await.map_err(broken)?;
        let (head, mut body) = response.into_parts();
        if head.status != StatusCode::OK {
            let body = body.collect().await.map_err(broken)?.to_bytes();
            let (status, body) = (head.status, String::from_utf8_lossy(&body));
            let reason = format!("request {number} was answered with {status}: {body:.300}");
            return Err(broken(reason));
        }
        let mut decoder = Decoder::default();
        let mut answer = Accumulator::new(Dialect::Anthropic);
        let mut first = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(broken)?;
            decoder.push(frame.data_ref().map_or(&[], |bytes| bytes));
            while let Some(event) = decoder.next_event() {
                first.get_or_insert_with(|| begun.elapsed());
                answer.accept(&event.map_err(broken)?).map_err(broken)?;
            }
        }
        if !answer.is_complete() {
            return Err(broken("the answer is incomplete"));
        }
        Ok(Answer {
            headers: head.headers,
            reply: answer.reply(),
            first: first.unwrap_or_default(),
        })
    }

    /// Posts a JSON body to the control API, and returns the status and body of the response.
    pub async fn post(&self, url: &str, body: String) -> Result<(StatusCode, String), Failure> {
        let request = Request::post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header("x-api-key", KEY)
            .body(Full::new(Bytes::from(body)))
            .map_err(broken)?;
        let response = self.client.request(request).await.map_err(broken)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(broken)?;
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        Ok((status, text))
    }
}

/// The header with the number of the agent's request, from 1. The audit finds requests by it.
pub const NUMBER: &str = "x-demo-request";

/// The failure of the demo's own parts, which is a bug.
pub fn broken(reason: impl std::fmt::Display) -> Failure {
    Failure::DemoBroken(reason.to_string())
}
