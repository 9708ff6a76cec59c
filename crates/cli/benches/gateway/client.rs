//! The benchmark's HTTP client.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::Failed;

#[derive(Clone)]
pub struct Client(Pool<HttpConnector, Full<Bytes>>);

/// The answer to one request.
pub struct Taken {
    pub time: Duration,
    /// The `x-ebbtide-did` header; empty without a gateway.
    pub did: String,
    /// The answer.
    pub answer: Bytes,
}

impl Client {
    pub fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(Pool::builder(TokioExecutor::new()).build(connector))
    }

    /// Sends one request and reads the answer to its end.
    pub async fn send(&self, url: &str, body: &Bytes) -> Result<Taken, Failed> {
        let start = Instant::now();
        let answer = self.0.request(request(url, body)?).await?;
        let status = answer.status();
        let did = answer.headers().get("x-ebbtide-did");
        let did = did
            .and_then(|did| did.to_str().ok())
            .unwrap_or_default()
            .to_owned();
        let body = answer.into_body().collect().await?.to_bytes();
        let time = start.elapsed();
        if !status.is_success() {
            return Err(format!("{url}: {status} {}", String::from_utf8_lossy(&body)).into());
        }
        let answer = body;
        Ok(Taken { time, did, answer })
    }

    /// Sends one request and returns the body of the answer to come.
    pub async fn open(&self, url: &str, body: &Bytes) -> Result<Incoming, Failed> {
        let answer = self.0.request(request(url, body)?).await?;
        if !answer.status().is_success() {
            return Err(format!("{url}: {}", answer.status()).into());
        }
        Ok(answer.into_body())
    }
}

fn request(url: &str, body: &Bytes) -> Result<Request<Full<Bytes>>, http::Error> {
    Request::post(format!("{url}/v1/messages"))
        .header(header::CONTENT_TYPE, "application/json")
        .header("x-api-key", "bench")
        .header("anthropic-version", "2023-06-01")
        .body(Full::new(body.clone()))
}
