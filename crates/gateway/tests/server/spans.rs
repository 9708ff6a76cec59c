//! Tests of the exported spans.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::mpsc::channel;
use tokio::time::timeout;

use crate::harness::{anthropic, ask, gateway, sim, upstream, whole};

const GOOD: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"a secret word"}]}"#;
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The value of an attribute, whatever its type.
fn attribute<'a>(span: &'a Value, name: &str) -> &'a str {
    let all = span["attributes"].as_array().expect("a list");
    let found = all.iter().find(|entry| entry["key"] == name);
    let value = found.and_then(|entry| entry["value"].as_object()?.values().next());
    value.and_then(Value::as_str).unwrap_or_default()
}

#[tokio::test]
async fn each_generation_is_a_span_without_content() {
    let (seen, mut came) = channel(8);
    let collector = upstream(move |request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect().await.expect("a body");
            seen.send((path, body.to_bytes()))
                .await
                .expect("somebody looks");
            Response::new(whole("{}"))
        }
    })
    .await;
    let sim = sim().await;
    let url = collector.url.clone();
    let gateway = gateway(&sim.url(), |config| config.otlp = Some(url)).await;
    let mut request = anthropic(&gateway.url(), "/v1/messages", GOOD);
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    request
        .headers_mut()
        .insert("traceparent", parent.parse().expect("a value"));
    assert_eq!(ask(request).await.status, 200);
    assert_eq!(
        ask(anthropic(&gateway.url(), "/v1/messages", "{"))
            .await
            .status,
        400
    );
    // Counting tokens is not a generation.
    ask(anthropic(&gateway.url(), "/v1/messages/count_tokens", GOOD)).await;
    gateway.shutdown().await;
    let mut spans = Vec::new();
    while spans.len() < 2 {
        let sent = timeout(Duration::from_secs(20), came.recv())
            .await
            .expect("in time");
        let (path, body) = sent.expect("spans");
        assert_eq!(path, "/v1/traces");
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(
            !text.contains("secret") && !text.contains("key-of-a-test"),
            "{text}"
        );
        let batch: Value = serde_json::from_str(&text).expect("JSON");
        let batch = &batch["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.extend(batch.as_array().expect("a list").iter().cloned());
    }
    let [good, bad] = spans.as_slice() else {
        panic!("two spans: {spans:?}");
    };
    assert_eq!(good["name"], "chat claude-sonnet-4-5");
    assert_eq!(good["traceId"], TRACE);
    assert_eq!(good["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(attribute(good, "gen_ai.operation.name"), "chat");
    assert_eq!(attribute(good, "gen_ai.provider.name"), "anthropic");
    assert_eq!(attribute(good, "gen_ai.request.model"), "claude-sonnet-4-5");
    assert!(
        attribute(good, "gen_ai.usage.input_tokens")
            .parse::<u64>()
            .expect("a number")
            > 0
    );
    assert_eq!(attribute(bad, "error.type"), "400");
    assert_eq!(bad["status"]["code"], 2);
    assert_ne!(bad["traceId"], TRACE);
}
