//! The costs of streams that report no usage or are cut off.

use context::Tokens;
use serde_json::{Value, json};
use sim::Config;

use crate::house::{Agent, House, words};

async fn house() -> House {
    let provider = Config {
        window: Some(Tokens::new(200_000)),
        ..Config::default()
    };
    House::before(provider, |config| {
        config.policy.window = Some(Tokens::new(200_000));
    })
    .await
}

async fn money(agent: &Agent, house: &House) -> Value {
    let overview = agent.get(house, "/ebbtide/api/overview").await.body;
    assert_eq!(
        overview["conversations"].as_array().map(Vec::len),
        Some(1),
        "{overview}"
    );
    overview["totals"].clone()
}

/// A talk in Chat Completions; the client's answers are its own, so that streams need not be read.
async fn chat(stream: bool) -> Value {
    let (house, agent) = (house().await, Agent::new("key-one"));
    let mut messages = vec![json!({"role": "system", "content": words(0, 900)})];
    for n in 1..20 {
        messages.push(json!({"role": "user", "content": words(n, 700)}));
        let body = json!({"model": "gpt-5", "messages": messages, "stream": stream});
        let came = agent
            .stream(&house, "/v1/chat/completions", (&body, None))
            .await;
        assert_eq!(came, 200);
        messages.push(json!({"role": "assistant", "content": format!("Read file {n}.")}));
    }
    let money = money(&agent, &house).await;
    house.close().await;
    money
}

#[tokio::test]
async fn a_stream_without_usage_costs_what_it_costs_with_usage() {
    let (streamed, told) = (chat(true).await, chat(false).await);
    for of in ["cost", "cost_without"] {
        let [estimate, account] = [&streamed, &told].map(|it| it[of].as_f64().expect("a cost"));
        assert!(
            (estimate / account - 1.0).abs() < 0.05,
            "{of}: {estimate} of {account}, {streamed} {told}"
        );
    }
}

#[tokio::test]
async fn what_was_cut_off_is_paid_for() {
    let (mut house, agent) = (house().await, Agent::new("key-one"));
    let mut messages = Vec::new();
    for n in 0..10 {
        messages.push(json!({"role": "user", "content": words(n, 900)}));
        let body = json!({
            "model": "claude-opus-5-5", "max_tokens": 400, "stream": true, "messages": messages,
        });
        for fault in [None, Some("cut:3")] {
            let came = agent.stream(&house, "/v1/messages", (&body, fault)).await;
            assert_eq!(came, 200);
        }
        messages.push(json!({"role": "assistant", "content": format!("Read file {n}.")}));
    }
    let money = money(&agent, &house).await;
    assert_eq!(money["requests"], 20, "{money}");
    house.restart().await;
    assert_eq!(self::money(&agent, &house).await, money, "after a restart");
    let account = house.sim.provider().total().cost.get();
    let told = money["cost"].as_f64().expect("a cost");
    assert!((told / account - 1.0).abs() < 0.05, "{told} of {account}");
    house.close().await;
}

#[tokio::test]
async fn a_stream_without_content_costs_nothing() {
    let (house, agent) = (house().await, Agent::new("key-one"));
    let messages = [json!({"role": "user", "content": words(0, 900)})];
    let body = json!({"model": "gpt-5", "stream": true, "messages": messages});
    for _ in 0..3 {
        let path = "/v1/chat/completions";
        let came = agent.stream(&house, path, (&body, Some("cut:1"))).await;
        assert_eq!(came, 200);
    }
    let overview = agent.get(&house, "/ebbtide/api/overview").await.body;
    assert_eq!(overview["totals"]["cost"], 0.0, "{overview}");
    house.close().await;
}
