//! Requests over HTTP: answers, streams, faults, the log, the end.

use std::io::Write;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use serde_json::{Value, json};
use sim::{Config, Fault, Log, Running, When, serve};
use tokio::net::TcpListener;

type Http = Client<HttpConnector, Full<Bytes>>;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn started() -> (Running, Http, Kept) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let kept = Kept::default();
    let log = Log::new(Box::new(kept.clone()));
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let running = serve(listener, Config::default(), clock, Some(log)).unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http();
    (running, client, kept)
}

/// The status and the body; `None` where the connection broke.
async fn send(client: &Http, url: &str, body: &str, fault: &str) -> Option<(StatusCode, String)> {
    let request = Request::post(format!("{url}/v1/messages"))
        .header("x-api-key", "sk-secret")
        .header("anthropic-version", "2023-06-01")
        .header("x-sim-fault", fault)
        .body(Full::new(Bytes::from(body.to_owned())))
        .unwrap();
    let response = client.request(request).await.ok()?;
    let status = response.status();
    let body = response.into_body().collect().await.ok()?.to_bytes();
    Some((status, String::from_utf8(body.to_vec()).unwrap()))
}

fn ask(stream: bool) -> String {
    let messages = [json!({"role": "user", "content": "hi"})];
    json!({"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages, "stream": stream})
        .to_string()
}

#[tokio::test]
async fn an_answer_that_is_cut_has_begun() {
    let (running, client, _) = started().await;
    let request = Request::post(format!("{}/v1/messages", running.url()))
        .header("x-api-key", "sk-secret")
        .header("anthropic-version", "2023-06-01")
        .header("x-sim-fault", "cut:3")
        .body(Full::new(Bytes::from(ask(true))))
        .unwrap();
    let mut body = client.request(request).await.unwrap().into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let text = String::from_utf8(first.to_vec()).unwrap();
    assert!(text.starts_with("event: message_start"), "{text}");
    assert!(text.contains("event: content_block_start"), "{text}");
    assert!(body.frame().await.unwrap().is_err());
    running.shutdown().await;
}

#[tokio::test]
async fn answers_streams_and_logs() {
    let (running, client, kept) = started().await;
    let url = running.url();
    let (status, body) = send(&client, &url, &ask(false), "").await.unwrap();
    assert_eq!(status, 200);
    let message: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(message["content"][0]["text"], "You said: hi");
    let (_, stream) = send(&client, &url, &ask(true), "").await.unwrap();
    assert!(stream.starts_with("event: message_start\n"));
    assert!(stream.contains("event: ping\n"));
    assert!(stream.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
    assert_eq!(running.provider().total().requests, 2);
    running.shutdown().await;
    let log = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    assert_eq!(log.lines().count(), 2);
    assert!(!log.contains("sk-secret"));
    let line: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(line["body"].to_string(), ask(false));
}

#[tokio::test]
async fn faults() {
    let (running, client, _) = started().await;
    let url = running.url();
    for (word, status) in [("429:7", 429), ("500", 500), ("529", 529)] {
        let (found, body) = send(&client, &url, &ask(true), word).await.unwrap();
        assert_eq!(found.as_u16(), status, "{body}");
    }
    assert!(send(&client, &url, &ask(true), "reset").await.is_none());
    assert!(send(&client, &url, &ask(true), "cut:2").await.is_none());
    assert!(send(&client, &url, &ask(false), "cut:2").await.is_none());
    running.provider().inject(When::Turn, Fault::Overloaded);
    let (status, _) = send(&client, &url, &ask(false), "").await.unwrap();
    assert_eq!(status, 529);
    let (status, _) = send(&client, &url, &ask(false), "").await.unwrap();
    assert_eq!(status, 200);
    running.shutdown().await;
}

#[tokio::test]
async fn other_endpoints() {
    let (running, client, _) = started().await;
    let get = async |method: &str, path: &str| {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", running.url()))
            .header("x-api-key", "k")
            .header("anthropic-version", "2023-06-01")
            .body(Full::new(Bytes::new()))
            .unwrap();
        let response = client.request(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let value = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        (status, value)
    };
    assert_eq!(get("HEAD", "/api/hello").await.0, 200);
    let (_, list) = get("GET", "/v1/models?limit=1000").await;
    assert!(list["data"].as_array().unwrap().len() > 10);
    let (_, model) = get("GET", "/v1/models/claude-opus-5-5").await;
    assert_eq!(
        model["capabilities"]["compaction"]["summarize"]["supported"],
        true
    );
    assert_eq!(model["max_input_tokens"], 1_000_000);
    assert_eq!(get("GET", "/v1/models/none").await.0, 404);
    assert_eq!(get("GET", "/v1/messages").await.0, 405);
    assert_eq!(get("GET", "/elsewhere").await.0, 404);
    running.shutdown().await;
}

#[tokio::test]
async fn too_much_and_nonsense() {
    let (running, client, _) = started().await;
    let url = running.url();
    let (status, body) = send(&client, &url, "{", "").await.unwrap();
    assert_eq!(status, 400);
    assert!(body.contains("invalid_request_error"));
    let huge = " ".repeat(sim::LONGEST_BODY + 10);
    if let Some((status, _)) = send(&client, &url, &huge, "").await {
        assert_eq!(status, 413);
    }
    running.shutdown().await;
}
