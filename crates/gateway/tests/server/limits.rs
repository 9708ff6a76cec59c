//! Tests of the limits on size, time and number, and of providers that do not answer.

use std::time::Duration;

use gateway::config::Config;
use http::Request;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use jiff::SignedDuration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::harness::{self, Came, anthropic, ask, gateway, openai, upstream, whole};

/// Longer than anything here takes, shorter than a reader's patience.
const LONG: Duration = Duration::from_secs(20);
const SOON: SignedDuration = SignedDuration::from_millis(300);

#[track_caller]
fn check(came: &Came, status: u16, kind: &str, code: &str) {
    assert_eq!(came.status, status, "{came:?}");
    let error = &came.json()["error"];
    assert_eq!(error["type"], kind, "{came:?}");
    let said = error["message"].as_str().expect("a message");
    assert!(said.starts_with(&format!("ebbtide[{code}]: ")), "{said}");
    assert_eq!(came.header("x-ebbtide-error"), code);
    let retried = matches!(status, 503 | 529);
    assert_eq!(came.header("retry-after"), if retried { "1" } else { "" });
}

/// The message says where and what to do.
#[track_caller]
fn says(came: &Came, words: &[&str]) {
    let said = came.json()["error"]["message"].to_string();
    assert!(words.iter().all(|it| said.contains(it)), "{said}");
}

/// Sends raw bytes and returns what comes back until the connection is closed.
async fn raw(url: &str, bytes: &[u8]) -> String {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(bytes).await.expect("it takes bytes");
    let mut answer = Vec::new();
    // A reset after the answer also ends it.
    let _ = timeout(LONG, stream.read_to_end(&mut answer))
        .await
        .expect("the connection is closed");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn bodies_that_are_too_large() {
    let gateway = gateway("http://127.0.0.1:9", |config| config.limits.body = 1000).await;
    let url = gateway.url();
    let large = "x".repeat(1001);
    let came = ask(anthropic(&url, "/v1/messages", large.clone())).await;
    check(&came, 413, "request_too_large", "E0801");
    says(&came, &["of 1000 bytes.", "raise `limits.body`"]);
    assert_eq!(came.json()["type"], "error");
    let came = ask(openai(&url, "/v1/chat/completions", large)).await;
    check(&came, 413, "invalid_request_error", "E0801");
    // A body without a length.
    let pieces = futures_util::stream::repeat_with(|| Ok(Frame::data("x".repeat(100).into())));
    let request = Request::post(format!("{url}/v1/messages"))
        .body(BodyExt::boxed(StreamBody::new(pieces)))
        .expect("a request");
    check(&ask(request).await, 413, "request_too_large", "E0801");
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_client_that_sends_everything_first_gets_the_answer() {
    const SIZE: usize = 20 << 20;
    let head = |path: &str| {
        let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: k\r\n");
        head + "connection: close\r\nanthropic-version: 2023-06-01\r\n"
    };
    let chunk = [b"100000\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    let limited = gateway("http://127.0.0.1:9", |config| config.limits.body = 1000).await;
    let url = limited.url();
    let announced = format!("{}content-length: {SIZE}\r\n\r\n", head("/v1/messages"));
    let whole = [announced.as_bytes(), &vec![b'x'; SIZE]].concat();
    let streamed = format!("{}transfer-encoding: chunked\r\n\r\n", head("/v1/messages"));
    let streamed = [streamed.as_bytes(), &chunk.repeat(20), b"0\r\n\r\n"].concat();
    let foreign = String::from_utf8(whole.clone()).expect("text");
    let foreign = foreign.replacen("host: localhost", "host: evil.example", 1);
    for (sent, status, code) in [
        (whole.as_slice(), 413, "E0801"),
        (&streamed, 413, "E0801"),
        (foreign.as_bytes(), 403, "E0824"),
    ] {
        let answer = raw(&url, sent).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer:.200}"
        );
        assert!(answer.contains(code), "{answer}");
    }
    limited.shutdown().await;
    // A provider that refuses an upload before it has read it.
    let refusing = upstream(|request: Request<hyper::body::Incoming>| async {
        let mut reading = tokio::task::JoinSet::new();
        reading.spawn(request.into_body().collect());
        reading.detach_all();
        let answer = http::Response::builder().status(413);
        answer.body(harness::whole("too much")).expect("an answer")
    })
    .await;
    let passing = gateway(&refusing.url, |_| {}).await;
    let upload = format!("{}content-length: {SIZE}\r\n\r\n", head("/v1/files"));
    let upload = [upload.as_bytes(), &vec![b'x'; SIZE]].concat();
    let answer = raw(&passing.url(), &upload).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer:.200}");
    passing.shutdown().await;
}

#[tokio::test]
async fn clients_that_are_too_slow() {
    let gateway = gateway("http://127.0.0.1:9", |config| config.limits.read = SOON).await;
    let url = gateway.url();
    let begun = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{";
    let answer = raw(&url, begun.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("E0802"), "{answer}");
    for stuck in ["", "P", "PRI * HT", "POST /v1/messages HTTP/1.1\r\nho"] {
        let answer = raw(&url, stuck.as_bytes()).await;
        assert!(!answer.contains(" 200 "), "{stuck}: {answer}");
    }
    let stuck = "POST /ebbtide/api/conversations/x/pins HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{";
    let answer = raw(&url, stuck.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    gateway.shutdown().await;
}

#[tokio::test]
async fn headers_without_end() {
    let gateway = gateway("http://127.0.0.1:9", |_| {}).await;
    let long = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-long: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let address = gateway.address();
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    // The gateway stops reading in the middle.
    let _ = stream.write_all(long.as_bytes()).await;
    let mut answer = [0; 12];
    if timeout(LONG, stream.read_exact(&mut answer))
        .await
        .expect("an end")
        .is_ok()
    {
        assert_eq!(&answer, b"HTTP/1.1 431");
    }
    gateway.shutdown().await;
}

/// Starts a gateway in front of a provider that never answers, with one request waiting.
async fn occupied(
    change: impl FnOnce(&mut Config),
) -> (gateway::Running, tokio::task::JoinSet<()>) {
    let never = upstream(|_| std::future::pending()).await;
    let gateway = gateway(&never.url, change).await;
    let mut waiting = tokio::task::JoinSet::new();
    let request = anthropic(&gateway.url(), "/v1/messages", "x".repeat(800));
    waiting.spawn(async move {
        let _never = never;
        ask(request).await;
    });
    let metrics = || gateway.metrics().render();
    while !metrics().contains("ebbtide_in_flight 1") {
        sleep(Duration::from_millis(5)).await;
    }
    // The request is admitted before its body is read.
    sleep(Duration::from_millis(50)).await;
    (gateway, waiting)
}

#[tokio::test]
async fn too_many_at_once() {
    let (gateway, waiting) = occupied(|config| config.limits.requests = 1).await;
    let url = gateway.url();
    check(
        &ask(anthropic(&url, "/v1/messages", "{}")).await,
        529,
        "overloaded_error",
        "E0805",
    );
    check(
        &ask(openai(&url, "/v1/responses", "{}")).await,
        503,
        "server_error",
        "E0805",
    );
    drop(waiting);
    gateway.shutdown().await;
}

#[tokio::test]
async fn too_many_bytes_at_once() {
    let (gateway, waiting) = occupied(|config| {
        config.limits.body = 1000;
        config.limits.bodies = 1000;
    })
    .await;
    let url = gateway.url();
    let came = ask(anthropic(&url, "/v1/messages", "x".repeat(800))).await;
    check(&came, 529, "overloaded_error", "E0806");
    // Their slots are free once the first request has ended.
    drop(waiting);
    while gateway.metrics().render().contains("ebbtide_in_flight 1") {
        sleep(Duration::from_millis(5)).await;
    }
    let freed = timeout(
        Duration::from_millis(300),
        ask(anthropic(&url, "/v1/messages", "x".repeat(800))),
    );
    assert!(!matches!(freed.await, Ok(came) if came.status == 529));
    gateway.shutdown_within(Duration::ZERO).await;
}

#[tokio::test]
async fn providers_that_do_not_answer() {
    let gone = gateway("http://127.0.0.1:9", |_| {}).await;
    let url = gone.url();
    let came = ask(anthropic(&url, "/v1/messages?key=of-a-test", "{}")).await;
    check(&came, 502, "api_error", "E0803");
    says(&came, &["provider (127.0.0.1:9).", "--anthropic-url"]);
    assert!(!came.json().to_string().contains("of-a-test"), "{came:?}");
    check(
        &ask(openai(&url, "/v1/models", "{}")).await,
        502,
        "server_error",
        "E0803",
    );
    gone.shutdown().await;
    let never = upstream(|_| std::future::pending()).await;
    let silent = gateway(&never.url, |config| config.limits.silence = SOON).await;
    let url = silent.url();
    check(
        &ask(anthropic(&url, "/v1/messages", "{}")).await,
        504,
        "timeout_error",
        "E0804",
    );
    check(
        &ask(openai(&url, "/v1/files", "{}")).await,
        504,
        "server_error",
        "E0804",
    );
    silent.shutdown().await;
}

#[tokio::test]
async fn a_websocket_where_requests_are_read() {
    let gateway = gateway("http://127.0.0.1:9", |_| {}).await;
    let request = Request::get(format!("{}/v1/responses", gateway.url()))
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .body(whole(""))
        .expect("a request");
    check(&ask(request).await, 426, "invalid_request_error", "E0807");
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_provider_that_hangs_up_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let mut hangs_up = JoinSet::new();
    hangs_up.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.read(&mut [0; 4096]).await;
        }
    });
    let gateway = gateway(&format!("http://{address}"), |_| {}).await;
    let came = ask(anthropic(&gateway.url(), "/v1/messages", "{}")).await;
    check(&came, 502, "api_error", "E0809");
    says(&came, &[&format!("({address})"), "Send it again."]);
    gateway.shutdown().await;
    hangs_up.abort_all();
}
