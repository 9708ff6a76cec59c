//! The agent's HTTP: requests that are streamed back, and their times.

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

/// The key. The simulated provider takes any; it stands for one organisation.
const KEY: &str = "demo-key";

/// A client with its connections.
pub struct Http {
    client: Client<HttpConnector, Full<Bytes>>,
}

/// An answer that came whole.
pub struct Answered {
    /// Its headers.
    pub headers: HeaderMap,
    /// What was said.
    pub reply: Reply,
    /// Until the first event of the answer.
    pub first: Duration,
}

/// An answer that says no.
pub struct Refused {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: String,
}

impl Http {
    /// A client without connections.
    pub fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// Asks for the next message, as a stream. `name` is the conversation's, `number` the request's.
    pub async fn ask(
        &self,
        base: &str,
        (name, number): (&str, usize),
        body: String,
    ) -> Result<Result<Answered, Refused>, Failure> {
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
            return Ok(Err(Refused {
                status: head.status,
                body: String::from_utf8_lossy(&body).into_owned(),
            }));
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
            return Err(broken("the answer broke off"));
        }
        Ok(Ok(Answered {
            headers: head.headers,
            reply: answer.reply(),
            first: first.unwrap_or_default(),
        }))
    }

    /// Sends a JSON body to the control interface. The status and the body of the answer.
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

/// The header that numbers the agent's requests, from 1.
pub const NUMBER: &str = "x-demo-request";

/// The failure of a demo whose parts do not understand each other.
pub fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::DemoBroken {
        reason: what.to_string(),
    }
}
