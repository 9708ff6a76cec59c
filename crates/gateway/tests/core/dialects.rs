//! Conversations over boundaries in OpenAI's dialects.

use bytes::Bytes;
use gateway::config::RouteChoice;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::house::{House, words};

async fn post(house: &House, path: &str, body: &Value) -> (u16, String, Value) {
    house.time.pass(10);
    let client = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::post(format!("{}{path}", house.gateway.url()))
        .header("authorization", "Bearer key-one")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request");
    let (head, body) = client
        .request(request)
        .await
        .expect("an answer")
        .into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let did = head.headers.get("x-ebbtide-did");
    let did = did.map_or("", |did| did.to_str().expect("text")).to_owned();
    let body = serde_json::from_slice(&body).expect("JSON");
    (head.status.as_u16(), did, body)
}

/// Grows a conversation and counts its swaps. `list` is the key of the messages, `said` takes them out
/// of an answer.
async fn grown(
    route: RouteChoice,
    (path, list): (&str, &str),
    said: impl Fn(&Value) -> Vec<Value>,
) -> usize {
    let house = House::new(|config| config.policy.route = route).await;
    let mut messages = vec![json!({"role": "system", "content": "Be careful."})];
    let mut swaps = 0;
    for n in 0..40 {
        messages.push(json!({"role": "user", "content": words(n, 1_400)}));
        let mut body = json!({"model": "gpt-5.5"});
        body[list] = Value::from(messages.clone());
        let (status, did, answer) = post(&house, path, &body).await;
        assert_eq!(status, 200, "{n}: {answer}");
        swaps += usize::from(did.contains("swapped"));
        messages.extend(said(&answer));
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    }
    house.close().await;
    swaps
}

fn choice(answer: &Value) -> Vec<Value> {
    vec![answer["choices"][0]["message"].clone()]
}

fn output(answer: &Value) -> Vec<Value> {
    answer["output"].as_array().expect("a list").clone()
}

const CHAT: (&str, &str) = ("/v1/chat/completions", "messages");
const RESPONSES: (&str, &str) = ("/v1/responses", "input");

#[tokio::test]
async fn chat() {
    assert!(grown(RouteChoice::Extractive, CHAT, choice).await >= 2);
    assert!(grown(RouteChoice::Auto, CHAT, choice).await >= 1);
}

#[tokio::test]
async fn responses() {
    assert!(grown(RouteChoice::Extractive, RESPONSES, output).await >= 2);
    assert!(grown(RouteChoice::Auto, RESPONSES, output).await >= 1);
}
