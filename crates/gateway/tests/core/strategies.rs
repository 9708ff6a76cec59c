//! Each strategy that can be named, over sockets.

use gateway::config::StrategyChoice;
use serde_json::json;

use crate::house::{Agent, House, WINDOW, words};

/// A conversation with tool results that grows over the window: whatever the strategy, no request is
/// refused and the view stays within the window. The answer is how many requests had one of these words.
async fn check(strategy: &str, word: &str, least: usize) {
    let choice = StrategyChoice::of(strategy).expect("a strategy");
    let house = House::new(|config| config.policy.strategy = choice).await;
    let mut agent = Agent::new("key-one");
    let mut found = 0;
    for n in 0..40 {
        let text = format!("@sim call read {{\"path\":\"src/module_{n}.rs\"}}");
        let asked = agent.say(&house, &text).await;
        assert_eq!(asked.status, 200, "{strategy:?} {n}: {asked:?}");
        let call = &asked.body["content"][0];
        assert_eq!(call["type"], "tool_use", "{asked:?}");
        let result = json!({
            "type": "tool_result", "tool_use_id": call["id"], "content": words(n, 700),
        });
        agent
            .messages
            .push(json!({"role": "user", "content": [result]}));
        let came = agent.go_on(&house).await;
        assert_eq!(came.status, 200, "{strategy:?} {n}: {came:?}");
        for came in [&asked, &came] {
            found += usize::from(came.did().contains(word));
            let usage = |key: &str| came.body["usage"][key].as_u64().expect("a count");
            let input = usage("input_tokens")
                + usage("cache_read_input_tokens")
                + usage("cache_creation_input_tokens");
            assert!(input < WINDOW, "{strategy:?} {n}: {input}");
        }
    }
    assert!(found >= least, "{strategy:?}: {word} {found} times");
    assert_eq!(house.sim.provider().total().refused, 0, "{strategy:?}");
    house.close().await;
}

#[tokio::test]
async fn prepared() {
    check("prepared", "swapped", 2).await;
}

#[tokio::test]
async fn stop_the_world() {
    check("stop_the_world", "waited", 2).await;
}

#[tokio::test]
async fn truncate() {
    check("truncate", "swapped", 2).await;
}

#[tokio::test]
async fn clear_tool_results() {
    check("clear_tool_results", "swapped", 1).await;
}

#[tokio::test]
async fn keep_last() {
    check("keep_last_n", "swapped", 2).await;
}
