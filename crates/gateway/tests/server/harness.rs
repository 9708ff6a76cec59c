//! A gateway with an upstream and a client.

use std::convert::Infallible;
use std::future::Future;
use std::io::Write;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gateway::config::{Config, Upstreams};
use gateway::{Gateway, Running};
use history::{Engine, Limits, MemoryEngine};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The time at which all tests begin.
pub fn now() -> Timestamp {
    Timestamp::from_second(1_790_000_000).expect("a time")
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}

/// Starts a gateway in front of this upstream.
pub async fn gateway(upstream: &str, change: impl FnOnce(&mut Config)) -> Running {
    let engine = MemoryEngine::new([7; 32], Limits::default());
    keeping(Arc::new(engine), upstream, change).await
}

/// Starts a gateway with this store.
pub async fn keeping(
    engine: Arc<dyn Engine>,
    upstream: &str,
    change: impl FnOnce(&mut Config),
) -> Running {
    let mut config = Config {
        upstream: Upstreams {
            anthropic: upstream.to_owned(),
            openai: upstream.to_owned(),
            ..Upstreams::default()
        },
        tenants: gateway::config::Tenancy::Keys,
        ..Config::default()
    };
    change(&mut config);
    let gateway = Gateway {
        config,
        engine,
        clock: Arc::new(now),
    };
    gateway::serve(listener().await, gateway).expect("a gateway")
}

/// The strict provider.
pub async fn sim() -> sim::Running {
    sim::serve(
        listener().await,
        sim::Config::default(),
        Arc::new(now),
        None,
    )
    .expect("a provider")
}

/// A provider with its own settings, and a log of the requests that it receives.
pub async fn logged(config: sim::Config, log: Received) -> sim::Running {
    let log = sim::Log::new(Box::new(log));
    sim::serve(listener().await, config, Arc::new(now), Some(log)).expect("a provider")
}

/// The requests that a provider received.
#[derive(Clone, Default)]
pub struct Received(Arc<Mutex<Vec<u8>>>);

impl Write for Received {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("a lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Received {
    /// The lines of the log.
    pub fn lines(&self) -> Vec<String> {
        let log = self.0.lock().expect("a lock").clone();
        let text = String::from_utf8(log).expect("text");
        text.lines().map(str::to_owned).collect()
    }
}

/// The body of a handmade upstream's answer.
pub type Made = BoxBody<Bytes, std::io::Error>;

/// An upstream that answers each request with `answer`.
pub struct Upstream {
    pub url: String,
    /// Stops the upstream when it is dropped.
    _serving: JoinSet<()>,
}

pub async fn upstream<F, A>(answer: F) -> Upstream
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Response<Made>> + Send + 'static,
{
    let listener = listener().await;
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            connections.spawn(async move {
                let service = service_fn(move |request| {
                    let answered = answer(request);
                    async move { Ok::<_, Infallible>(answered.await) }
                });
                let server = hyper::server::conn::http1::Builder::new();
                let connection = server.serve_connection(TokioIo::new(stream), service);
                // The connection ends when the gateway closes it.
                let _ = connection.with_upgrades().await;
            });
        }
    });
    Upstream {
        url,
        _serving: serving,
    }
}

/// A whole body.
pub fn whole(text: impl Into<Bytes>) -> Made {
    Full::new(text.into())
        .map_err(|never| match never {})
        .boxed()
}

/// A complete answer.
#[derive(Debug)]
pub struct Came {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Came {
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// Sends a request and waits for the head of its answer.
pub async fn send(request: Request<Made>) -> Response<Incoming> {
    let client: Client<_, Made> = Client::builder(TokioExecutor::new()).build_http();
    client.request(request).await.expect("an answer")
}

/// Sends a request and waits for its complete answer.
pub async fn ask(request: Request<Made>) -> Came {
    let (head, body) = send(request).await.into_parts();
    Came {
        status: head.status,
        headers: head.headers,
        body: body.collect().await.expect("a body").to_bytes(),
    }
}

/// Builds a request to Anthropic's API.
pub fn anthropic(url: &str, path: &str, body: impl Into<Bytes>) -> Request<Made> {
    Request::post(format!("{url}{path}"))
        .header("x-api-key", "key-of-a-test")
        .header("anthropic-version", "2023-06-01")
        .header("content-type", "application/json")
        .body(whole(body))
        .expect("a request")
}

/// Builds a request to OpenAI's API.
pub fn openai(url: &str, path: &str, body: impl Into<Bytes>) -> Request<Made> {
    Request::post(format!("{url}{path}"))
        .header("authorization", "Bearer key-of-a-test")
        .header("content-type", "application/json")
        .body(whole(body))
        .expect("a request")
}
