//! Each strategy that can be named, over sockets.

use gateway::config::StrategyChoice;
use homunculus::hosted::StrategyProgram;
use plumb::modules::BuiltIn;
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

#[tokio::test]
async fn cold_cache() {
    check("cold_cache", "swapped", 2).await;
}

#[tokio::test]
async fn pinning() {
    check("pinning", "swapped", 2).await;
}

/// A strategy that divides by zero as soon as there is something to do.
const BROKEN: &str =
    "let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(pressure > 0.5) ; map({ drop_to: 1 / (window - window) }) ; commands
  answers ; discard
}";

#[tokio::test]
async fn one_that_fails_gives_way_to_the_default_and_the_client_notices_nothing() {
    let mut choice = StrategyChoice::of("broken.plumb").expect("a file");
    assert!(choice.unread().is_some());
    choice.load(StrategyProgram::new("broken", BROKEN, &BuiltIn).expect("it checks"));
    let house = House::new(|config| config.policy.strategy = choice).await;
    let mut agent = Agent::new("key-one");
    let mut swaps = 0;
    for n in 0..24 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swaps += usize::from(came.did().contains("swapped"));
    }
    assert!(swaps > 0, "the default is at work");
    let metrics = house.gateway.metrics().render();
    let told = "ebbtide_failures_total{at=\"strategy\"} 1\n";
    assert!(metrics.contains(told), "{metrics}");
    house.close().await;
}

#[tokio::test]
async fn pins_that_the_strategy_does_not_keep_are_refused() {
    let choice = StrategyChoice::of("pinning").expect("a strategy");
    let house = House::new(|config| config.policy.strategy = choice).await;
    let mut agent = Agent::new("key-one");
    let long = words(3, 80);
    let mut refused = 0;
    for n in 0..40 {
        let came = agent.say(&house, &format!("#pin {n} {long}")).await;
        assert_eq!(came.status, 200, "{came:?}");
        refused += usize::from(came.did().contains("pin-refused"));
    }
    assert!((1..40).contains(&refused), "{refused}");
    let came = agent.say(&house, "go on").await;
    let path = format!("/ebbtide/api/conversations/{}/pins", came.conversation());
    let pin = agent.post(&house, &path, &json!({ "text": long })).await;
    assert_eq!(pin.body["error"]["code"], "E0829", "{pin:?}");
    house.close().await;
}

#[tokio::test]
async fn its_state_is_kept_with_the_conversation() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    for n in 0..3 {
        agent.say(&house, &words(n, 700)).await;
    }
    let engine = std::sync::Arc::clone(&house.engine);
    house.close().await;
    let tenant = engine.tenants().expect("tenants")[0];
    let mut kept = Vec::new();
    let read = engine.read(tenant, &mut |store| {
        let found = store.conversations(jiff::Timestamp::MAX, 9)?;
        kept.extend(found.into_iter().map(|found| found.strategy));
        Ok(())
    });
    read.expect("conversations");
    let text = kept[0].as_deref().expect("a state");
    let state: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let program = StrategyChoice::default().program().id();
    assert_eq!(state["state"]["program"], format!("{:016x}", program.0));
}
