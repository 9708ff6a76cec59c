//! A provider on a socket, and servers that do one thing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use model::{Client, Endpoint, Retries, Settings, Timeouts};
use serde_json::{Value, json};
use sim::{Config, Running, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wire::api::Dialect;

pub const KEY: &str = "sk-secret-key";

/// A provider that answers at once.
pub async fn provider(config: Config) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    serve(listener, config, clock, None).unwrap()
}

pub fn endpoint(dialect: Dialect, url: &str) -> Endpoint {
    Endpoint::new(dialect, url).unwrap().with_key(KEY).unwrap()
}

/// A client that tries three times.
pub fn client() -> Client {
    waiting(Duration::from_secs(5))
}

/// A client that waits for so long, and tries three times.
pub fn waiting(patience: Duration) -> Client {
    Client::new(Settings {
        timeouts: Timeouts {
            connect: Duration::from_secs(2),
            first_byte: patience,
            silence: patience,
            whole: Duration::from_secs(10),
        },
        retries: Retries {
            most: 2,
            first: Duration::from_millis(2),
            longest: Duration::from_millis(10),
            longest_asked: Duration::from_secs(2),
        },
        ..Settings::default()
    })
}

/// A request that says `text`.
pub fn saying(dialect: Dialect, text: &str, stream: bool) -> Bytes {
    let messages = json!([{"role": "user", "content": text}]);
    let mut body = match dialect {
        Dialect::Anthropic => {
            json!({"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages})
        }
        Dialect::Chat => json!({"model": "gpt-5", "messages": messages}),
        Dialect::Responses => json!({"model": "gpt-5", "input": messages}),
    };
    body["stream"] = Value::Bool(stream);
    Bytes::from(body.to_string())
}

/// A server that does `answer` with each connection, after having read a whole request.
pub async fn server<F>(answer: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let tasks = tokio_util::task::TaskTracker::new();
    tasks.clone().spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await;
            tasks.spawn(answer(stream));
        }
    });
    url
}

async fn read_request(stream: &mut TcpStream) {
    let mut held = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece).await.unwrap();
        held.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&held).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                return;
            }
        }
    }
}

/// Writes a response's head and a part of its body.
pub async fn write(stream: &mut TcpStream, kind: &str, body: &str) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 9999\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
}
