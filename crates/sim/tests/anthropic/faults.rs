//! Summaries that go wrong, and what waits for whom.

use std::time::Duration;

use crate::client::{Client, complete, user};
use serde_json::{Value, json};
use sim::{Body, Config, Fault, Latency, Say, Script, When};

const BETA: &str = "compact-2026-09-04";

fn ask() -> Value {
    json!({"messages": [user("a")], "compaction": {"type": "summarize"}})
}

#[test]
fn native_summaries_go_wrong() {
    let mut client = Client::with(&[BETA]);
    client.provider.inject(When::Next, Fault::SummaryEmpty);
    // A fault of summaries leaves other requests alone.
    client.answered(json!({}));
    let empty = client.answered(ask());
    assert_eq!(
        (&empty["content"], &empty["stop_reason"]),
        (&json!([]), &json!("end_turn"))
    );
    client.provider.inject(When::Next, Fault::SummaryGarbage);
    let garbage = client.answered(ask());
    assert!(
        !garbage["content"][0]["content"]
            .as_str()
            .unwrap()
            .contains("## Goal")
    );
    client.provider.inject(When::Next, Fault::SummaryNever);
    let body = complete(&ask()).to_string();
    assert_eq!(client.send("/v1/messages", &body).body, Body::Never);
    let late = Duration::from_secs(7);
    client.provider.inject(When::Next, Fault::SummaryLate(late));
    match client.send("/v1/messages", &body).body {
        Body::Whole { after, .. } => assert_eq!(after, late),
        other => panic!("{other:?}"),
    }
    client
        .provider
        .inject(When::Next, Fault::SummaryUnavailable);
    client.refused(ask(), 529, "compaction_unavailable", "");
    assert_eq!(client.answered(ask())["stop_reason"], "compaction");
}

#[test]
fn a_late_summary_sends_pings() {
    let mut client = Client::with(&[BETA]);
    client
        .provider
        .inject(When::Next, Fault::SummaryLate(Duration::from_secs(35)));
    let mut body = complete(&ask());
    body["stream"] = json!(true);
    let Body::Stream { events, .. } = client.send("/v1/messages", &body.to_string()).body else {
        panic!("no stream")
    };
    let names: Vec<&str> = events.iter().map(|it| it.event.name.as_str()).collect();
    assert_eq!(
        names.first_chunk(),
        Some(&["ping", "ping", "ping", "message_start"])
    );
}

#[test]
fn no_room_for_a_summary() {
    let mut client = Client::with(&[BETA]);
    let mut body = ask();
    body["max_tokens"] = json!(3);
    let answer = client.answered(body);
    assert_eq!(
        (&answer["content"], &answer["stop_reason"]),
        (&json!([]), &json!("max_tokens"))
    );
}

#[test]
fn scripts() {
    let steps = [vec![Say::Text("one".to_owned())]];
    let mut client = Client::new(Config {
        script: Script::Steps(steps.into_iter().collect()),
        ..Config::default()
    });
    let said = |answer: &Value| answer["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(said(&client.answered(json!({}))), "one");
    assert_eq!(said(&client.answered(json!({}))), "You said: hi");
    client.provider.config_mut().script = Script::Function(std::sync::Arc::new(|prompt| {
        vec![Say::Text(format!("{} turns", prompt.turns.len()))]
    }));
    assert_eq!(
        said(&client.answered(json!({"messages": [user("a"), user("b")]}))),
        "2 turns"
    );
}

#[test]
fn the_cache_shortens_the_wait() {
    let mut client = Client::new(Config {
        latency: Some(Latency::default()),
        ..Config::default()
    });
    let block = json!({"type": "text", "text": "many words ".repeat(20_000), "cache_control": {"type": "ephemeral"}});
    let body = complete(&json!({"messages": [{"role": "user", "content": [block]}]})).to_string();
    let mut wait = |second: i64| {
        client.second = second;
        match client.send("/v1/messages", &body).body {
            Body::Whole { after, .. } => after,
            other => panic!("{other:?}"),
        }
    };
    let cold = wait(0);
    // Before the first answer has begun there is nothing to read.
    assert_eq!(wait(1), cold);
    assert!(wait(60) < cold / 2);
}
