//! A provider whose window is far smaller than believed.

use context::Tokens;
use gateway::config::RouteChoice;
use serde_json::json;

use crate::house::{Agent, House, WINDOW, words};

/// The gateway believes in a window of 200,000; the provider's is 16,000.
async fn house(route: RouteChoice) -> House {
    House::new(|config| {
        config.policy.window = Some(Tokens::new(200_000));
        config.policy.route = route;
    })
    .await
}

/// The number of requests that the provider found too long.
fn refusals(house: &House) -> u64 {
    let metrics = house.gateway.metrics().render();
    let line = metrics
        .lines()
        .filter(|line| line.starts_with("ebbtide_rescues_total"));
    let counts = line.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

/// Grows a conversation over the real window several times: one refusal tells of it.
async fn check(route: RouteChoice) {
    let house = house(route).await;
    let mut agent = Agent::new("key-one");
    let (mut swaps, mut rescued) = (0, 0);
    for n in 0..60 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swaps += usize::from(came.did().contains("swapped"));
        rescued += usize::from(came.did().contains("rescued"));
        house.prepared(came.conversation()).await;
    }
    assert_eq!(rescued, 1, "the next boundary is prepared ahead");
    assert!(swaps >= 2, "{swaps} swaps");
    // Another conversation with the same model knows it from the start.
    let before = refusals(&house);
    let mut other = Agent::new("key-one");
    for n in 0..24 {
        let came = other
            .say(&house, &format!("Apart. {}", words(n, 700)))
            .await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        assert!(!came.did().contains("rescued"), "{n}: {came:?}");
        house.prepared(came.conversation()).await;
    }
    assert_eq!(refusals(&house), before);
    house.close().await;
}

#[tokio::test]
async fn a_window_is_learnt_from_one_refusal_extractive() {
    check(RouteChoice::Extractive).await;
}

#[tokio::test]
async fn a_window_is_learnt_from_one_refusal_readable() {
    check(RouteChoice::Readable).await;
}

#[tokio::test]
async fn a_history_that_comes_at_once_is_rescued() {
    let house = house(RouteChoice::Readable).await;
    let mut agent = Agent::new("key-one");
    for n in 0..30 {
        let said = json!({"role": "user", "content": words(n, 1_000)});
        agent.messages.push(said);
        agent
            .messages
            .push(json!({"role": "assistant", "content": "done"}));
    }
    let came = agent.say(&house, "and now?").await;
    assert_eq!(came.status, 200, "{came:?}");
    assert!(came.did().contains("rescued"), "{came:?}");
    let came = agent.say(&house, "and then?").await;
    assert_eq!(came.status, 200, "{came:?}");
    assert!(!came.did().contains("rescued"), "{came:?}");
    let input = &came.body["usage"]["input_tokens"];
    assert!(input.as_u64().expect("a number") < WINDOW, "{came:?}");
    house.close().await;
}
