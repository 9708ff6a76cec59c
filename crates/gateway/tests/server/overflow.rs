//! Tests with a provider that reports an over-long request within its stream, under a status of success.

use std::sync::{Arc, Mutex};

use context::Tokens;
use gateway::config::RouteChoice;
use http::{Request, Response};
use http_body_util::BodyExt;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::harness::{
    Came, Made, Upstream, anthropic, ask, gateway, openai, send, upstream, whole,
};
use crate::streams::{Piece, by_hand, data, piece};

/// Requests above this many bytes are too long.
const MOST: usize = 20_000;

/// The sizes of the received requests.
type Received = Arc<Mutex<Vec<usize>>>;

/// A provider that, after these events, refuses an over-long request within its stream.
async fn provider(
    before: &'static str,
    refusal: &'static str,
    answer: &'static str,
) -> (Upstream, Received) {
    let received = Received::default();
    let sizes = Arc::clone(&received);
    let provider = upstream(move |request: Request<hyper::body::Incoming>| {
        let sizes = Arc::clone(&sizes);
        async move {
            let body = request
                .into_body()
                .collect()
                .await
                .expect("a body")
                .to_bytes();
            sizes.lock().expect("a lock").push(body.len());
            let stream = match body.len() > MOST {
                true => format!("{before}{refusal}"),
                false => answer.to_owned(),
            };
            Response::builder()
                .header("content-type", "text/event-stream")
                .body(whole(stream))
                .expect("an answer")
        }
    })
    .await;
    (provider, received)
}

/// Builds a conversation of about 12,000 tokens.
fn messages() -> Vec<Value> {
    (0..21)
        .map(|n| {
            let role = ["user", "assistant"][n % 2];
            json!({"role": role, "content": format!("{n}: {}", "look at the parser ".repeat(120))})
        })
        .collect()
}

const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n";
const LONG: &str = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 12000 tokens > 8000 maximum\"}}\n\n";
const FINE: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Fine.\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
const WORD: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Well\"}}\n\n";

const CREATED: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"error\":null,\"output\":[]}}\n\n";
const FAILED: &str = "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model.\"},\"output\":[]}}\n\n";
const COMPLETED: &str = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"error\":null,\"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Fine.\"}]}]}}\n\n";

const ERROR: &str = "data: {\"error\":{\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\",\"message\":\"This model's maximum context length is 8000 tokens.\"}}\n\n";
const CHUNK: &str = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Fine.\"}}]}\n\ndata: [DONE]\n\n";

async fn asked(upstream: &Upstream, make: impl FnOnce(&str) -> Request<Made>) -> Came {
    let gateway = gateway(&upstream.url, |config| {
        config.policy.window = Some(Tokens::new(16_000));
        config.policy.route = RouteChoice::Extractive;
    })
    .await;
    let came = ask(make(&gateway.url())).await;
    gateway.shutdown().await;
    came
}

fn to_anthropic(url: &str) -> Request<Made> {
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "stream": true,
        "messages": messages()});
    anthropic(url, "/v1/messages", body.to_string())
}

fn to_chat(url: &str) -> Request<Made> {
    let body = json!({"model": "gpt-5", "stream": true, "messages": messages()});
    openai(url, "/v1/chat/completions", body.to_string())
}

fn to_responses(url: &str) -> Request<Made> {
    let body = json!({"model": "gpt-5", "stream": true, "input": messages()});
    openai(url, "/v1/responses", body.to_string())
}

#[tokio::test]
async fn a_request_is_sent_again_smaller_while_its_client_has_heard_nothing() {
    let check = async |events: [&'static str; 3], make: fn(&str) -> Request<Made>| {
        let [before, refusal, answer] = events;
        let (provider, received) = provider(before, refusal, answer).await;
        let came = asked(&provider, make).await;
        let sizes = received.lock().expect("a lock").clone();
        assert_eq!(came.body, answer, "{came:?}");
        assert!(came.header("x-ebbtide-did").contains("rescued"), "{came:?}");
        assert!(
            matches!(sizes[..], [first, second] if first > MOST && second <= MOST),
            "{sizes:?}"
        );
    };
    check([START, LONG, FINE], to_anthropic).await;
    check(["", LONG, FINE], to_anthropic).await;
    check([CREATED, FAILED, COMPLETED], to_responses).await;
    check(["", ERROR, CHUNK], to_chat).await;
}

#[tokio::test]
async fn once_its_client_has_heard_a_word_the_answer_stands() {
    let before = format!("{START}{WORD}").leak();
    let (provider, received) = provider(before, LONG, FINE).await;
    let came = asked(&provider, to_anthropic).await;
    assert_eq!(came.body, format!("{before}{LONG}"));
    assert!(
        !came.header("x-ebbtide-did").contains("rescued"),
        "{came:?}"
    );
    assert_eq!(received.lock().expect("a lock").len(), 1);
}

/// A provider whose bodies the test sends, with the size of each request.
async fn paced() -> (Upstream, Receiver<(usize, Sender<Piece>)>) {
    let (bodies, made) = channel(4);
    let upstream = upstream(move |request: Request<hyper::body::Incoming>| {
        let bodies = bodies.clone();
        async move {
            let body = request.into_body().collect().await.expect("a body");
            let (sender, stream) = by_hand();
            let size = body.to_bytes().len();
            bodies.send((size, sender)).await.expect("somebody waits");
            Response::builder()
                .header("content-type", "text/event-stream")
                .body(stream)
                .expect("an answer")
        }
    })
    .await;
    (upstream, made)
}

const PING: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// Has a stream begin and ping before it goes on like this. What else the client got.
async fn paced_stream(
    rest: &'static [&'static str],
    again: Option<&'static str>,
) -> (String, usize) {
    let (upstream, mut bodies) = paced().await;
    let gateway = gateway(&upstream.url, |config| {
        config.policy.window = Some(Tokens::new(16_000));
        config.policy.route = RouteChoice::Extractive;
    })
    .await;
    let sent = send(to_anthropic(&gateway.url()));
    let (answer, (first, sender)) = tokio::join!(sent, async {
        let (size, sender) = bodies.recv().await.expect("a request");
        sender.send(data(START)).await.expect("it is read");
        (size, sender)
    });
    assert_eq!(answer.status(), 200, "the head waits for nothing");
    let mut body = answer.into_body();
    // The start has a ping already.
    assert_eq!(piece(&mut body).await.as_deref(), Some(PING.as_bytes()));
    for text in [": wait\n\n", PING] {
        sender.send(data(text)).await.expect("it is read");
        let came = piece(&mut body).await;
        assert_eq!(came.as_deref(), Some(text.as_bytes()));
    }
    for text in rest {
        sender.send(data(text)).await.expect("it is read");
    }
    drop(sender);
    let mut requests = 1;
    if let Some(again) = again {
        let (second, sender) = bodies.recv().await.expect("another request");
        assert!(second < first, "{second} < {first}");
        sender.send(data(again)).await.expect("it is read");
        requests += 1;
    }
    let mut came = String::new();
    while let Some(data) = piece(&mut body).await {
        came.push_str(std::str::from_utf8(&data).expect("text"));
    }
    gateway.shutdown().await;
    (came, requests)
}

#[tokio::test]
async fn head_and_pings_go_on_while_it_is_open_what_the_stream_is() {
    let begun = START.replace(PING, "");
    let (came, _) = paced_stream(&[FINE], None).await;
    assert_eq!(came, format!("{begun}{FINE}"));
    let (came, _) = paced_stream(&[WORD, LONG], None).await;
    assert_eq!(came, format!("{begun}{WORD}{LONG}"));
    let (came, requests) = paced_stream(&[LONG], Some(FINE)).await;
    assert_eq!(
        (came.as_str(), requests),
        (FINE, 2),
        "the other answer alone"
    );
}

#[tokio::test]
async fn a_stream_that_ends_before_it_has_content_names_the_provider() {
    for (silence, status) in [(10_000, 502), (100, 504)] {
        let (upstream, mut bodies) = paced().await;
        let gateway = gateway(&upstream.url, |config| {
            config.policy.window = Some(Tokens::new(16_000));
            config.policy.route = RouteChoice::Extractive;
            config.limits.silence = SignedDuration::from_millis(silence);
        })
        .await;
        let (came, _open) = tokio::join!(ask(to_anthropic(&gateway.url())), async {
            let (_, sender) = bodies.recv().await.expect("a request");
            sender.send(data(START)).await.expect("it is read");
            if status == 502 {
                let cut = std::io::Error::other("the provider broke");
                sender.send(Err(cut)).await.expect("it is read");
            }
            sender
        });
        assert_eq!(came.status, status, "{came:?}");
        let address = upstream.url.trim_start_matches("http://");
        let said = came.json()["error"]["message"].to_string();
        assert!(said.contains(&format!("({address})")), "{said}");
        gateway.shutdown().await;
    }
}

/// A provider that finds two tokens in five bytes, twice as many as the gateway, and has room for 16,000.
async fn counting() -> (Upstream, Received) {
    let received = Received::default();
    let counts = Arc::clone(&received);
    let provider = upstream(move |request: Request<hyper::body::Incoming>| {
        let counts = Arc::clone(&counts);
        async move {
            let body = request.into_body().collect().await.expect("a body");
            let tokens = body.to_bytes().len() * 2 / 5;
            counts.lock().expect("a lock").push(tokens);
            let (status, answer) = match tokens > 16_000 {
                true => {
                    let message = format!("prompt is too long: {tokens} tokens > 16000 maximum");
                    let error = json!({"type": "invalid_request_error", "message": message});
                    (400, json!({"type": "error", "error": error}))
                }
                false => (
                    200,
                    json!({"id": "m", "type": "message", "role": "assistant",
                        "content": [{"type": "text", "text": "Fine."}],
                        "usage": {"input_tokens": tokens, "output_tokens": 5}}),
                ),
            };
            Response::builder()
                .status(status)
                .header("content-type", "application/json")
                .body(whole(answer.to_string()))
                .expect("an answer")
        }
    })
    .await;
    (provider, received)
}

#[tokio::test]
async fn the_size_that_the_provider_states_corrects_our_count() {
    for results in [0, 1, 6, 40] {
        let (provider, received) = counting().await;
        let gateway = gateway(&provider.url, |config| {
            config.policy.route = RouteChoice::Extractive;
        })
        .await;
        let mut messages = messages();
        let ids: Vec<String> = (0..results).map(|n| format!("toolu_{n}")).collect();
        let call = |id: &String| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
        let result = |id: &String| {
            let text = format!(
                "{id}: {}",
                "what the file says, line by line\n".repeat(4_000 / results)
            );
            json!({"type": "tool_result", "tool_use_id": id, "content": text})
        };
        if results > 0 {
            let calls: Vec<Value> = ids.iter().map(call).collect();
            messages.push(json!({"role": "assistant", "content": calls}));
            let results: Vec<Value> = ids.iter().map(result).collect();
            messages.push(json!({"role": "user", "content": results}));
        }
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages});
        let came = ask(anthropic(&gateway.url(), "/v1/messages", body.to_string())).await;
        let counts = received.lock().expect("a lock").clone();
        assert_eq!(came.status, 200, "{results} results: {counts:?} {came:?}");
        assert!(
            counts.is_sorted_by(|a, b| a > b),
            "each is smaller: {counts:?}"
        );
        gateway.shutdown().await;
    }
}
