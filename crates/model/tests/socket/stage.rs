//! A provider on a socket, and servers that do one thing.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use context::Tokens;
use history::Route;
use jiff::Timestamp;
use model::{
    ChunksInMemory, Client, Endpoint, Order, Retries, Routes, Sent, Settings, Shows, Timeouts,
};
use serde_json::{Value, json};
use sim::{Config, Running, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wire::api::{Dialect, Request};

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
    write_of(stream, kind, body, 9_999).await;
}

/// Writes a response.
pub async fn write_whole(stream: &mut TcpStream, kind: &str, body: &str) {
    write_of(stream, kind, body, body.len()).await;
}

async fn write_of(stream: &mut TcpStream, kind: &str, body: &str, length: usize) {
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
}

/// Messages in which a user gives a task and the agent reads `files` files, one step each.
pub fn messages(files: usize) -> Vec<Value> {
    let mut messages = vec![json!({
        "role": "user",
        "content": "Find out why build 4711 of crates/gateway fails. Never touch src/generated.rs.",
    })];
    for file in 0..files {
        let id = format!("toolu_{file}");
        let call = json!({"type": "tool_use", "id": id, "name": "read",
            "input": {"path": format!("src/module_{file}.rs")}});
        let said = json!({"type": "text", "text": format!("I read module_{file} now.")});
        messages.push(json!({"role": "assistant", "content": [said, call]}));
        let lines: Vec<String> = (0..20)
            .map(|line| {
                format!("fn handler_{file}_{line}() -> Result<(), Error{file}> {{ check({line}) }}")
            })
            .collect();
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": lines.join("\n")});
        messages.push(json!({"role": "user", "content": [result]}));
    }
    messages
}

/// A request of an agent, as its client sends it: with tools, instructions and breakpoints.
pub fn agent(mut messages: Vec<Value>) -> Value {
    let mark = json!({"type": "ephemeral"});
    if let Some(last) = messages.last_mut()
        && let Some(block) = last["content"].as_array_mut().and_then(|it| it.last_mut())
    {
        block["cache_control"] = mark.clone();
    }
    json!({
        "model": "claude-opus-5-5",
        "max_tokens": 800,
        "stream": true,
        "system": [{"type": "text", "text": "You repair builds. ".repeat(200), "cache_control": mark}],
        "tools": [{"name": "read", "description": "Reads a file.", "input_schema": {
            "type": "object", "properties": {"path": {"type": "string"}}}}],
        "messages": messages,
    })
}

/// The same in the shape of OpenAI Responses.
pub fn agent_by_items(files: usize) -> Value {
    let mut input = vec![json!({"role": "user",
        "content": "Find out why build 4711 of crates/gateway fails."})];
    for file in 0..files {
        let id = format!("call_{file}");
        input.push(
            json!({"type": "function_call", "call_id": id, "name": "read",
            "arguments": json!({"path": format!("src/module_{file}.rs")}).to_string()}),
        );
        input.push(json!({"type": "function_call_output", "call_id": id,
            "output": format!("fn handler_{file}() -> Error{file} {{}}\n").repeat(30)}));
    }
    json!({"model": "gpt-5", "stream": true, "instructions": "You repair builds.", "input": input,
        "tools": [{"type": "function", "name": "read", "parameters": {"type": "object"}}]})
}

/// A request as it was sent, and an order to sum up its messages but the last `tail`.
pub fn sent(dialect: Dialect, url: &str, body: &Value, tail: usize) -> (Sent, Order) {
    let bytes = Bytes::from(body.to_string());
    let model = body["model"].as_str().unwrap();
    let counter = tokens::counter_for(model);
    let request = Request::parse(dialect, &bytes).unwrap();
    let mut old = request.turns(&*counter);
    let tail = old.split_off(old.len() - tail);
    let order = Order {
        old: old.into(),
        tail: tail.into(),
        pins: Vec::new(),
        budget: Tokens::new(1_500),
        words: Tokens::new(2_000),
        standing: Tokens::new(4_000),
        instructions: None,
        model: model.to_owned(),
        counter,
    };
    let sent = Sent {
        endpoint: endpoint(dialect, url),
        tokens: order.counter.count(&body.to_string()),
        body: bytes,
        shows: Shows::Originals,
        window: Tokens::new(200_000),
    };
    (sent, order)
}

/// Routes of which none is open yet.
pub fn routes(first: Route) -> Routes {
    Routes {
        first,
        native: None,
        alongside: None,
        apart: None,
        chunks: Arc::new(ChunksInMemory::default()),
    }
}
