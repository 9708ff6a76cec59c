//! The agent's calls of its model: streams answers and measures the time to their first event.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use model::{Client, Endpoint, Retries, Settings};
use tokio::time::Instant;
use wire::api::{Accumulator, Dialect, Reply};

use crate::failure::Failure;

/// The API key. The simulated provider accepts any key.
pub const KEY: &str = "demo-key";

/// The header with the number of the agent's request, from 1. The audit finds requests by it.
pub const NUMBER: &str = "x-demo-request";

/// A complete answer.
pub struct Answer {
    pub headers: HeaderMap,
    pub reply: Reply,
    /// The time to the first event.
    pub first: Duration,
}

impl Answer {
    /// The text of a header; empty without it.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).and_then(|it| it.to_str().ok());
        value.unwrap_or_default()
    }
}

/// A client that fails at the first error: a retry would hide what the demo has to show.
pub fn client() -> Client {
    let retries = Retries {
        most: 0,
        ..Retries::default()
    };
    Client::new(Settings {
        retries,
        ..Settings::default()
    })
}

/// Sends a streaming request and reads the whole answer.
pub async fn ask(
    client: &Client,
    endpoint: Endpoint,
    number: usize,
    body: String,
) -> Result<Answer, Failure> {
    let endpoint = endpoint.with_header(NUMBER, &number.to_string());
    let endpoint = endpoint.map_err(broken)?;
    let begun = Instant::now();
    let events = client.events(&endpoint, Bytes::from(body)).await;
    let mut events = events.map_err(|error| broken(format!("request {number}: {error}")))?;
    let first = begun.elapsed();
    let mut answer = Accumulator::new(Dialect::Anthropic);
    while let Some(event) = events.next().await {
        answer.accept(&event.map_err(broken)?).map_err(broken)?;
    }
    if !answer.is_complete() {
        return Err(broken("the answer is incomplete"));
    }
    Ok(Answer {
        headers: events.headers().clone(),
        reply: answer.reply(),
        first,
    })
}

/// The failure of the demo's own parts, which is a bug.
pub fn broken(reason: impl std::fmt::Display) -> Failure {
    Failure::DemoBroken(reason.to_string())
}
