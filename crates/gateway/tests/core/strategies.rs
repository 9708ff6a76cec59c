//! Each strategy that can be named, over sockets.

use conversation::homunculus::hosted::StrategyProgram;
use gateway::config::StrategyChoice;
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
        let pair = agent.read(&house, n, 700).await;
        for came in &pair {
            assert_eq!(came.status, 200, "{strategy:?} {n}: {came:?}");
            found += usize::from(came.did().contains(word));
            let usage = |key: &str| came.body["usage"][key].as_u64().expect("a count");
            let input = usage("input_tokens")
                + usage("cache_read_input_tokens")
                + usage("cache_creation_input_tokens");
            assert!(input < WINDOW, "{strategy:?} {n}: {input}");
        }
    }
    assert!(found >= least, "{strategy:?}: {word} {found} times");
    if word == "swapped" {
        let overview = agent.get(&house, "/ebbtide/api/overview").await.body;
        let counted = overview["conversations"][0]["compactions"].as_u64();
        assert_eq!(counted, Some(found as u64), "{strategy:?}");
    }
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
async fn thrifty() {
    check("thrifty", "swapped", 2).await;
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
    let house = House::new(|config| config.policy.strategy = strategy(BROKEN)).await;
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
async fn what_it_is_refused_stands_in_the_journal() {
    let swaps = BROKEN.replace("drop_to: 1 / (window - window)", "swap: true");
    let house = House::new(|config| config.policy.strategy = strategy(&swaps)).await;
    let mut agent = Agent::new("key-one");
    let mut newest = String::new();
    for n in 0..16 {
        newest = agent.tell(&house, n, 700).await.conversation().to_owned();
    }
    let at = format!("/ebbtide/api/conversations/{newest}");
    let told = agent.get(&house, &at).await.body.to_string();
    let entry = "the strategy's command `swap` was refused: nothing_ready";
    assert_eq!(told.matches(entry).count(), 1, "{told}");
    house.close().await;
}

/// The strategy of this text.
pub fn strategy(text: &str) -> StrategyChoice {
    let mut choice = StrategyChoice::of("mine.plumb").expect("a file");
    assert!(choice.unread().is_some());
    choice.load(StrategyProgram::new("mine", text, &BuiltIn).expect("it checks"));
    choice
}

/// A strategy that never orders anything.
const IDLE: &str = "let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(false) ; map({ swap: true }) ; commands
  answers ; discard
}";

/// A strategy that says nothing but that requests are to wait.
const PAUSING: &str =
    "let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; map({ pause: true }) ; commands
  answers ; discard
}";

/// Grows a conversation over the window: the strategy does nothing, and what is refused is made smaller
/// without it.
async fn check_rescue(text: &str, model: &str) {
    let house = House::new(|config| config.policy.strategy = strategy(text)).await;
    let mut agent = Agent::new("key-one");
    agent.model = model.to_owned();
    let mut rescued = 0;
    agent.say(&house, "#pin never touch main.rs").await;
    for n in 0..50 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        let did = came.did();
        let is_rescued = did.contains("rescued");
        rescued += usize::from(is_rescued);
        assert_eq!(did.contains("swapped"), is_rescued, "{n}: {did}");
    }
    assert!(rescued >= 2, "{rescued} times");
    let sent = house.sent().pop().expect("a request").to_string();
    assert!(sent.contains("never touch main.rs"), "{sent}");
    let metrics = house.gateway.metrics().render();
    let told = format!("ebbtide_rescues_total{{result=\"answered\"}} {rescued}\n");
    assert!(metrics.contains(&told), "{metrics}");
    let told = format!("ebbtide_swaps_total{{route=\"extractive\"}} {rescued}\n");
    assert!(metrics.contains(&told), "{metrics}");
    let came = agent.say(&house, "and now?").await;
    let path = format!("/ebbtide/api/conversations/{}", came.conversation());
    let detail = agent.get(&house, &path).await.body.to_string();
    assert!(detail.contains("shortened by the gateway"), "{detail}");
    house.close().await;
}

#[tokio::test]
async fn what_is_refused_is_made_smaller_whatever_the_strategy() {
    check_rescue(IDLE, "claude-opus-5-5").await;
    check_rescue(IDLE, "claude-opus-4-5").await;
    check_rescue(PAUSING, "claude-opus-5-5").await;
}

/// A strategy that fails when it is asked about a pin.
const PINLESS: &str =
    "let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(kind = \"pin\") ; map({ drop_to: 1 / (window - window) }) ; commands
  answers ; discard
}";

#[tokio::test]
async fn one_that_fails_on_a_pin_gives_way_to_the_default_and_is_counted() {
    let check = async |by_line: bool| {
        let house = House::new(|config| config.policy.strategy = strategy(PINLESS)).await;
        let mut agent = Agent::new("key-one");
        let first = if by_line { "#pin p\nhello" } else { "hello" };
        let came = agent.say(&house, first).await;
        if !by_line {
            let path = format!("/ebbtide/api/conversations/{}/pins", came.conversation());
            let pin = agent.post(&house, &path, &json!({ "text": "p" })).await;
            assert_eq!(pin.status, 200, "{pin:?}");
        }
        let metrics = house.gateway.metrics().render();
        let told = "ebbtide_failures_total{at=\"strategy\"} 1\n";
        assert!(metrics.contains(told), "{metrics}");
        let mut swaps = 0;
        for n in 0..24 {
            let came = agent.say(&house, &words(n, 700)).await;
            swaps += usize::from(came.did().contains("swapped"));
        }
        assert!(swaps > 0, "the default is at work");
        house.close().await;
    };
    check(true).await;
    check(false).await;
}

/// A strategy that prepares a summary with each pin.
const ON_PINS: &str =
    "protocol Preparation = send Mark . recv Marked . send Prepare . recv Prepared . end

let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(ctrl_out, telemetry, ctrl_in) {
  let answers : !CtrlResp = channel
  telemetry ; filter(kind = \"pin\") ; map(null) ; preparation@trigger
  (answers, ctrl_in) <-> Preparation as preparation
  ctrl_out ;
    filter(defined(marked) || defined(prepared) || command = \"mark\" || command = \"compressor\") ;
    answers
  preparation@trigger ; map({ mark: true, keep: 0.05 }) ; preparation@send(Mark)
  preparation@recv(Marked) ;
    map({ memory: marked }) ;
    Mem.compressor ;
    map({ prepare: set_memory }) ;
    preparation@send(Prepare)
}";

#[tokio::test]
async fn a_summary_that_is_ordered_with_a_pin_is_made_with_the_request() {
    let on_pins = format!("use mem\n{ON_PINS}");
    let check = async |by_line: bool| {
        let house = House::new(|config| config.policy.strategy = strategy(&on_pins)).await;
        let mut agent = Agent::new("key-one");
        for n in 0..6 {
            agent.say(&house, &words(n, 700)).await;
        }
        let came = agent
            .say(&house, if by_line { "#pin p" } else { "go on" })
            .await;
        assert_eq!(came.did().contains("preparing"), by_line, "{came:?}");
        if !by_line {
            let path = format!("/ebbtide/api/conversations/{}/pins", came.conversation());
            agent.post(&house, &path, &json!({ "text": "p" })).await;
            let came = agent.say(&house, "go on").await;
            assert!(came.did().contains("preparing"), "{came:?}");
        }
        house.close().await;
    };
    check(true).await;
    check(false).await;
}

#[tokio::test]
async fn results_that_together_are_too_long_are_shortened_when_they_are_refused() {
    let check = async |before: usize, each: usize| {
        let house = House::new(|_| {}).await;
        let mut agent = Agent::new("key-one");
        for n in 0..before {
            agent.say(&house, &words(n, 700)).await;
        }
        let call = |n: usize| format!("@sim call read {{\"path\":\"src/module_{n}.rs\"}}");
        let calls: Vec<String> = (0..6).map(call).collect();
        let asked = agent.say(&house, &calls.join("\n")).await;
        let called = asked.body["content"].as_array().expect("content");
        let called = called.iter().filter(|block| block["type"] == "tool_use");
        let results: Vec<_> = called
            .enumerate()
            .map(|(n, call)| {
                json!({"type": "tool_result", "tool_use_id": call["id"], "content": words(n, each)})
            })
            .collect();
        assert_eq!(results.len(), 6, "{asked:?}");
        agent
            .messages
            .push(json!({"role": "user", "content": results}));
        let came = agent.go_on(&house).await;
        assert_eq!(came.status, 200, "{came:?}");
        assert!(
            came.did().contains("rescued") && came.did().contains("shrunk"),
            "{came:?}"
        );
        let shown = house.sent().pop().expect("a request");
        // It stays as it was shown.
        let came = agent.say(&house, "and now?").await;
        assert_eq!(came.status, 200, "{came:?}");
        assert!(!came.did().contains("rescued"), "{came:?}");
        let next = house.sent().pop().expect("a request");
        let (shown, next) = (shown["messages"].as_array(), next["messages"].as_array());
        let (shown, next) = (shown.expect("a list"), next.expect("a list"));
        let results = |messages: &Vec<serde_json::Value>| -> Vec<String> {
            let blocks = messages.iter().filter_map(|it| it["content"].as_array());
            let results = blocks.flatten().filter(|it| it["type"] == "tool_result");
            results.map(|it| it["content"].to_string()).collect()
        };
        assert_eq!(results(shown), results(next));
        house.close().await;
    };
    check(0, 3_500).await;
    check(9, 3_000).await;
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

/// A strategy that gives an agent another view of things when it goes in circles.
const CIRCLES: &str = "let terms : () -> !Terms = once({ guards: false })
let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(kind = \"pulse\" && repeats = 3) ; map({ extract: true, keep: 0.05 }) ; commands
  reports ; filter(kind = \"held\" && swap = \"ok\") ; map({ swap: true }) ; commands
  answers ; discard
}";

/// A step of the agent: it calls a tool with this argument and gets this. What was done to the request that
/// brings the result.
async fn step(agent: &mut Agent, house: &House, path: &str, got: &str) -> String {
    let id = format!("call-{}", agent.messages.len());
    let call = json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": path}});
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": got});
    agent.messages.pop();
    agent
        .messages
        .push(json!({"role": "assistant", "content": [call]}));
    agent
        .messages
        .push(json!({"role": "user", "content": [result]}));
    let came = agent.go_on(house).await;
    assert_eq!(came.status, 200, "{came:?}");
    came.did().to_owned()
}

#[tokio::test]
async fn one_that_reads_pulses_acts_when_the_agent_goes_in_circles() {
    let check = async |restarts: bool| {
        let mut house = House::new(|config| config.policy.strategy = strategy(CIRCLES)).await;
        let mut agent = Agent::new("key-one");
        agent.say(&house, &words(0, 700)).await;
        for n in 0..6 {
            let got = words(n, 500);
            let did = step(&mut agent, &house, &format!("src/module_{n}.rs"), &got).await;
            assert!(!did.contains("swapped"), "{n}: {did}");
        }
        for n in 0..2 {
            let did = step(&mut agent, &house, "src/main.rs", "it is empty").await;
            assert!(!did.contains("swapped"), "{n}: {did}");
        }
        if restarts {
            house.restart().await;
        }
        let did = step(&mut agent, &house, "src/main.rs", "it is empty").await;
        assert!(did.contains("swapped"), "{restarts}: {did}");
        house.close().await;
    };
    check(false).await;
    check(true).await;
}
