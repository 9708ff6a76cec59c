//! A stream adds up to the answer that is no stream.

use crate::client::{Client, complete, tool, user};
use serde_json::{Value, json};
use sim::{Body, Config, Latency};
use wire::api::{Accumulator, Decoder, Dialect, Response};

fn reply(client: &mut Client, body: &Value, streams: bool) -> wire::api::Reply {
    let mut body = complete(body);
    body["stream"] = json!(streams);
    let answer = client.send("/v1/messages", &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.text();
    if !streams {
        return Response::parse(Dialect::Anthropic, text.as_bytes())
            .unwrap()
            .reply();
    }
    let mut accumulator = Accumulator::new(Dialect::Anthropic);
    let mut decoder = Decoder::default();
    decoder.push(text.as_bytes());
    while let Some(event) = decoder.next_event() {
        accumulator.accept(&event.unwrap()).unwrap();
    }
    accumulator.reply()
}

#[track_caller]
fn check(body: &Value, betas: &[&'static str]) {
    let whole = reply(&mut Client::with(betas), body, false);
    let streamed = reply(&mut Client::with(betas), body, true);
    let values = |reply: &wire::api::Reply| -> Vec<Value> {
        let pieces = reply.pieces.iter();
        pieces.map(|it| serde_json::from_str(it).unwrap()).collect()
    };
    assert_eq!(values(&whole), values(&streamed));
    assert_eq!(
        (whole.stop, whole.id, whole.usage),
        (streamed.stop, streamed.id, streamed.usage)
    );
}

#[test]
fn streams_add_up() {
    let long = format!(
        "@sim think {}\n@sim say {}\n@sim call read {{\"path\":\"é\\\"x\"}}",
        "hm ".repeat(40),
        "wörd ".repeat(40)
    );
    let body = json!({
        "messages": [user(&long)], "tools": [tool()], "thinking": {"type": "adaptive"},
    });
    check(&body, &[]);
    check(&json!({}), &[]);
    check(
        &json!({"compaction": {"type": "summarize"}}),
        &["compact-2026-09-04"],
    );
}

#[test]
fn events_come_when_they_are_due() {
    let mut client = Client::new(Config {
        latency: Some(Latency::default()),
        ..Config::default()
    });
    let body = complete(&json!({"stream": true}));
    let answer = client.send("/v1/messages", &body.to_string());
    let Body::Stream { events, .. } = answer.body else {
        panic!("no stream")
    };
    assert!(events.is_sorted_by_key(|event| event.after));
    assert!(events[0].after >= Latency::default().base);
    assert!(events.last().unwrap().after > events[0].after);
}
