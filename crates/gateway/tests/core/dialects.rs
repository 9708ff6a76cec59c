//! Conversations over boundaries in OpenAI's dialects.

use std::collections::BTreeSet;

use bytes::Bytes;
use context::Tokens;
use gateway::config::{Config, RouteChoice};
use http::Request;
use http::response::Parts;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::house::{Came, House, words};

pub async fn post(house: &House, path: &str, body: &Value) -> Came {
    post_as("key-one", house, path, body).await
}

/// Posts with this key.
pub async fn post_as(key: &str, house: &House, path: &str, body: &Value) -> Came {
    let (head, body) = answered(key, house, path, body).await;
    Came {
        status: head.status.as_u16(),
        headers: head.headers,
        body: serde_json::from_slice(&body).expect("JSON"),
    }
}

/// Sends a request, and waits for the summary that it may have begun. Returns the words for its treatment,
/// and the answer as a text.
pub async fn stream(house: &House, path: &str, body: &Value) -> (String, String) {
    let (head, body) = answered("key-one", house, path, body).await;
    assert_eq!(head.status, 200, "{body:?}");
    let header = |name: &str| head.headers[name].to_str().expect("text");
    house.prepared(header("x-ebbtide-conversation")).await;
    (
        header("x-ebbtide-did").to_owned(),
        String::from_utf8(body.to_vec()).expect("text"),
    )
}

async fn answered(key: &str, house: &House, path: &str, body: &Value) -> (Parts, Bytes) {
    house.time.pass(10);
    let client = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::post(format!("{}{path}", house.gateway.url()))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request");
    let answer = client.request(request).await.expect("an answer");
    let (head, body) = answer.into_parts();
    (head, body.collect().await.expect("a body").to_bytes())
}

/// The number of times that a conversation was made smaller.
struct Grown {
    /// In all.
    swaps: usize,
    /// Those of them after the provider had found it too long.
    rescues: usize,
}

/// Grows a conversation. `list` is the key of the messages, `said` takes them out of an answer.
async fn grown(
    change: impl FnOnce(&mut Config),
    (path, list): (&str, &str),
    said: impl Fn(&Value) -> Vec<Value>,
) -> Grown {
    let house = House::new(change).await;
    let mut messages = vec![json!({"role": "system", "content": "Be careful."})];
    let (mut swaps, mut rescues) = (0, 0);
    for n in 0..40 {
        messages.push(json!({"role": "user", "content": words(n, 1_400)}));
        let mut body = json!({"model": "gpt-5.5"});
        body[list] = Value::from(messages.clone());
        let came = post(&house, path, &body).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swaps += usize::from(came.did().contains("swapped"));
        rescues += usize::from(came.did().contains("rescued"));
        messages.extend(said(&came.body));
        house.prepared(came.conversation()).await;
    }
    house.close().await;
    Grown { swaps, rescues }
}

fn choice(answer: &Value) -> Vec<Value> {
    vec![answer["choices"][0]["message"].clone()]
}

fn output(answer: &Value) -> Vec<Value> {
    answer["output"].as_array().expect("a list").clone()
}

pub const CHAT: (&str, &str) = ("/v1/chat/completions", "messages");
pub const RESPONSES: (&str, &str) = ("/v1/responses", "input");

/// Summaries are made like this.
fn by(route: RouteChoice) -> impl FnOnce(&mut Config) {
    move |config| config.policy.route = route
}

#[tokio::test]
async fn chat() {
    let extracted = grown(by(RouteChoice::Extractive), CHAT, choice).await;
    assert!(extracted.swaps >= 2);
    let written = grown(by(RouteChoice::Auto), CHAT, choice).await;
    assert!(written.swaps >= 1);
    assert_eq!(extracted.rescues + written.rescues, 0);
}

#[tokio::test]
async fn responses() {
    let extracted = grown(by(RouteChoice::Extractive), RESPONSES, output).await;
    assert!(extracted.swaps >= 2);
    let written = grown(by(RouteChoice::Auto), RESPONSES, output).await;
    assert!(written.swaps >= 1);
    assert_eq!(extracted.rescues + written.rescues, 0);
}

/// The gateway believes in a window that is many times the provider's.
fn believing_too_much(config: &mut Config) {
    config.policy.window = Some(Tokens::new(200_000));
}

#[tokio::test]
async fn a_window_is_learnt_from_one_refusal_by_chat() {
    // It says how many tokens it takes.
    let grown = grown(believing_too_much, CHAT, choice).await;
    assert_eq!(grown.rescues, 1);
    assert!(grown.swaps >= 2);
}

#[tokio::test]
async fn a_window_is_learnt_from_one_refusal_by_responses() {
    // It says only that it was too much: what was refused is taken for the window, and is close to it.
    let grown = grown(believing_too_much, RESPONSES, output).await;
    assert_eq!(grown.rescues, 1);
    assert!(grown.swaps >= 2);
}

#[tokio::test]
async fn instructions_that_differ_each_time_keep_a_chat_together() {
    let house = House::new(|_| {}).await;
    let (mut messages, mut conversations) = (Vec::new(), BTreeSet::new());
    let mut swaps = 0;
    for n in 0..40 {
        let lead = [
            json!({"role": "system", "content": format!("It is minute {n}.")}),
            json!({"role": "developer", "content": vec!["src/file.rs"; n % 3].join("\n")}),
        ];
        messages.push(json!({"role": "user", "content": words(n, 1_400)}));
        let all: Vec<&Value> = lead.iter().chain(&messages).collect();
        let came = post(
            &house,
            CHAT.0,
            &json!({"model": "gpt-5.5", "messages": all}),
        )
        .await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swaps += usize::from(came.did().contains("swapped"));
        conversations.insert(came.conversation().to_owned());
        let sent = house.newest();
        assert_eq!(sent[..2], lead, "{n}");
        assert!(sent[2..].iter().all(|it| it["role"] != "developer"), "{n}");
        messages.extend(choice(&came.body));
    }
    assert!(swaps >= 3, "{swaps}");
    assert_eq!(conversations.len(), 1, "{conversations:?}");
    house.close().await;
}

/// The text of a streamed answer.
fn said(events: &str) -> String {
    let data = events.lines().filter_map(|it| it.strip_prefix("data: "));
    let chunks = data.filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let delta = |chunk: Value| {
        let text = chunk["choices"][0]["delta"]["content"].as_str();
        text.map(str::to_owned)
    };
    chunks.filter_map(delta).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_counted_where_a_stream_brings_no_usage() {
    let house = House::new(by(RouteChoice::Extractive)).await;
    let mut messages = vec![json!({"role": "system", "content": "Be careful."})];
    let mut did = Vec::new();
    for n in 0..160 {
        // So little is said that the notes are a third of all.
        messages.push(json!({"role": "user", "content": words(n, 500)}));
        let body = json!({"model": "gpt-5.5", "stream": true, "messages": messages});
        let (done, events) = stream(&house, CHAT.0, &body).await;
        did.push(done);
        messages.push(json!({"role": "assistant", "content": said(&events)}));
    }
    house.close().await;
    let count = |word: &str| did.iter().filter(|done| done.contains(word)).count();
    assert!(count("swapped") >= 2 && count("noted") > 100, "{did:?}");
    assert_eq!(count("rescued"), 0, "{did:?}");
}
