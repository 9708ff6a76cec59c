//! Pinned documents: their limits, and where they stand after a swap.

use context::Tokens;
use context::pin::PinLimits;
use gateway::config::StrategyChoice;
use serde_json::{Value, json};

use crate::house::{Agent, Came, House, words};
use crate::strategies::strategy;

const WINDOW: Tokens = Tokens::new(200_000);

/// A house whose window has room for documents, and which sets cache breakpoints.
async fn wide() -> House {
    wide_under(StrategyChoice::default()).await
}

async fn wide_under(strategy: StrategyChoice) -> House {
    let provider = sim::Config {
        window: Some(WINDOW),
        ..sim::Config::default()
    };
    House::before(provider, |config| {
        config.policy.window = Some(WINDOW);
        config.policy.breakpoints = true;
        config.policy.strategy = strategy;
    })
    .await
}

/// A document of so many lines, of some ten tokens each.
fn document(lines: usize) -> String {
    let line = |n| format!("{n:05}: the rule of part_{n} is {}", n * 7_919 % 10_007);
    (0..lines).map(line).collect::<Vec<_>>().join("\n")
}

async fn pin(house: &House, agent: &Agent, of: &str, body: &Value) -> Came {
    let path = format!("/ebbtide/api/conversations/{of}/pins");
    agent.post(house, &path, body).await
}

/// Talks until a summary is swapped in.
async fn until_swapped(house: &House, agent: &mut Agent) {
    for n in 0.. {
        assert!(n < 40, "no swap in forty requests");
        let came = agent.tell(house, n, 12_000).await;
        if came.did().contains("swapped") {
            return;
        }
        house.prepared(came.conversation()).await;
    }
}

/// Checks that a pin stands verbatim at the front of the view after a swap, once, and that the next request
/// reads it from the provider's cache.
async fn check_in_front(house: &House, agent: &mut Agent, pin: &Value) {
    until_swapped(house, agent).await;
    let (text, tokens) = (pin["text"].as_str().expect("a text"), &pin["tokens"]);
    let messages = house.newest();
    let front = &messages[0]["content"];
    let front = front.as_str().or_else(|| front[0]["text"].as_str());
    let behind = front.and_then(|text| text.strip_prefix("[Pinned, in full:]\n- "));
    let behind = behind.and_then(|rest| rest.strip_prefix(text));
    assert!(behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('\n')));
    let shown = json!(messages).to_string();
    let verbatim = json!(text).to_string();
    assert_eq!(shown.matches(verbatim.trim_matches('"')).count(), 1);

    let read = |house: &House| house.sim.provider().total().used.cache_read.get();
    let before = read(house);
    let came = agent.say(house, "go on").await;
    let usage = &came.body["usage"];
    let tokens = tokens.as_u64().expect("a size");
    assert!(
        usage["cache_read_input_tokens"].as_u64() > Some(tokens),
        "{usage}"
    );
    assert!(read(house) - before > tokens, "the accounts say less");
    assert_eq!(house.newest()[0]["content"], messages[0]["content"]);
}

#[tokio::test]
async fn one_of_ten_thousand_tokens_stands_in_front_and_is_read_from_the_cache() {
    let house = wide().await;
    let mut agent = Agent::new("key-one");
    let came = agent.say(&house, "hello").await;
    let text = document(700);
    let set = pin(&house, &agent, came.conversation(), &json!({"text": text})).await;
    assert_eq!(set.status, 200, "{set:?}");
    let tokens = set.body["tokens"].as_u64().expect("a size");
    assert!((10_000..20_000).contains(&tokens), "{tokens}");
    check_in_front(&house, &mut agent, &set.body).await;
    house.close().await;
}

#[tokio::test]
async fn the_limits_are_a_share_of_the_window() {
    let house = wide().await;
    let mut agent = Agent::new("key-one");
    let came = agent.say(&house, "hello").await;
    let of = came.conversation();
    let check = async |body: Value, code: &str, limit: Tokens| {
        let came = pin(&house, &agent, of, &body).await;
        let error = &came.body["error"];
        assert_eq!(
            (came.status, &error["code"]),
            (409, &json!(code)),
            "{came:?}"
        );
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(&limit.to_string()), "{message}");
    };
    let limits = PinLimits::of_window(WINDOW);
    check(json!({"text": document(4_000)}), "E0421", limits.each).await;
    let mut all = 0;
    for part in 0..2 {
        let text = format!("part {part}\n{}", document(1_000));
        let set = pin(&house, &agent, of, &json!({"text": text})).await;
        all += set.body["tokens"].as_u64().expect("a size");
    }
    assert!(all > 25_000, "{all}");
    let text = format!("more\n{}", document(1_000));
    check(json!({"text": text}), "E0423", limits.total).await;
    let came = agent
        .say(&house, &format!("#pin {}", words(0, 5_000)))
        .await;
    assert!(!came.did().contains("pin-refused"), "{came:?}");
    house.close().await;
}

#[tokio::test]
async fn the_last_read_of_a_file_stands_in_front_and_is_read_from_the_cache() {
    let house = wide().await;
    let mut agent = Agent::new("key-one");
    let came = agent
        .say(&house, r#"@sim call read {"path":"/w/a.rs"}"#)
        .await;
    let (of, call) = (came.conversation().to_owned(), &came.body["content"][0]);
    let text = document(700);
    agent.messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call["id"], "content": text}]}));
    assert_eq!(agent.go_on(&house).await.status, 200);

    let check = async |body: Value, status: u16, code: &str| {
        let came = pin(&house, &agent, &of, &body).await;
        let told = (came.status, came.body["error"]["code"].as_str());
        assert_eq!(told, (status, Some(code)), "{came:?}");
    };
    check(json!({"turn": 99}), 409, "E0426").await;
    check(json!({"path": "b.rs"}), 409, "E0427").await;
    check(json!({"turn": 1, "path": "a.rs"}), 400, "E0825").await;

    let set = pin(&house, &agent, &of, &json!({"path": "a.rs"})).await;
    assert_eq!(set.status, 200, "{set:?}");
    let told = set.body["text"].as_str().expect("a text");
    let line = r#"Result of read {"path":"/w/a.rs"}:"#;
    assert_eq!(
        told,
        format!("{line}\n<tool_result>\n{text}\n</tool_result>")
    );
    // The window numbers turns as pins do.
    let window = format!("/ebbtide/api/conversations/{of}/window");
    let window = agent.get(&house, &window).await;
    let around = window.body["around"].as_array().expect("turns");
    let result = around.iter().find(|turn| turn["text"] == text.as_str());
    let at = &result.expect("the result")["at"];
    let same = pin(&house, &agent, &of, &json!({"turn": at})).await;
    assert_eq!(same.body["id"], set.body["id"]);
    check_in_front(&house, &mut agent, &set.body).await;
    house.close().await;
}

/// A strategy that works like the default, and gives this command for each record that passes this filter.
fn pinning(filter: &str, command: &str) -> StrategyChoice {
    strategy(&format!(
        "use mem use prepared
        let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(ctrl_out, telemetry, ctrl_in) {{
          spawn Prepared.main(ctrl_out, telemetry, ctrl_in)
          telemetry ; filter({filter}) ; map({command}) ; ctrl_in
        }}"
    ))
}

/// Has the agent read a document.
async fn read(house: &House, agent: &mut Agent, text: &str) -> Came {
    let came = agent
        .say(house, r#"@sim call read {"path":"/w/a.rs"}"#)
        .await;
    let call = &came.body["content"][0];
    agent.messages.push(json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call["id"], "content": text}]}));
    let came = agent.go_on(house).await;
    assert_eq!(came.status, 200, "{came:?}");
    came
}

/// The pins and the journal of a conversation.
async fn detail(house: &House, agent: &Agent, of: &str) -> Value {
    let path = format!("/ebbtide/api/conversations/{of}");
    agent.get(house, &path).await.body
}

#[tokio::test]
async fn one_that_the_strategy_pins_by_its_handle_stands_in_front_and_is_read_from_the_cache() {
    let large = "kind = \"turn\" && role = \"tool\" && share > 0.04";
    let mut house = wide_under(pinning(large, "{ pin: handle }")).await;
    let mut agent = Agent::new("key-one");
    let text = document(700);
    let came = read(&house, &mut agent, &text).await;
    let of = came.conversation().to_owned();
    let pins = detail(&house, &agent, &of).await["pins"].clone();
    let pin = &pins[0];
    assert_eq!(pin["origin"], "strategy", "{pins}");
    let shown = pin["text"].as_str().expect("a text");
    assert!(shown.contains(&text), "in full");
    assert!(pin["tokens"].as_u64() > Some(10_000), "{}", pin["tokens"]);
    check_in_front(&house, &mut agent, pin).await;
    house.restart().await;
    let again = detail(&house, &agent, &of).await["pins"].clone();
    assert_eq!(again[0]["id"], pin["id"], "it is kept");
    house.close().await;
}

#[tokio::test]
async fn what_a_person_said_is_pinned_where_it_stands_and_restated_after_a_swap() {
    let ill = "kind = \"turn\" && contains(typed, \"allergic\")";
    let house = wide_under(pinning(ill, "{ pin: handle }")).await;
    let mut agent = Agent::new("key-one");
    let text = format!("I am allergic to nuts.\n{}", document(700));
    let came = agent.say(&house, &text).await;
    assert!(!came.did().contains("pinned"), "it is shown: {came:?}");
    let of = came.conversation().to_owned();
    let pins = detail(&house, &agent, &of).await["pins"].clone();
    assert_eq!(pins[0]["text"], text.as_str());
    let came = agent.say(&house, "go on").await;
    assert!(!came.did().contains("pinned"), "it is shown: {came:?}");
    check_in_front(&house, &mut agent, &pins[0]).await;
    house.close().await;
}

#[tokio::test]
async fn a_text_of_the_strategy_stands_in_front() {
    // Longer than the labels by which notes name pins.
    let rule = format!("never touch the table users: {}", words(1, 300));
    let command = format!("{{ pin: \"{}\" }}", rule.trim());
    let house = wide_under(pinning("kind = \"usage\"", &command)).await;
    let mut agent = Agent::new("key-one");
    let came = agent.say(&house, "hello").await;
    let pins = detail(&house, &agent, came.conversation()).await["pins"].clone();
    assert_eq!(pins.as_array().map(Vec::len), Some(1), "{pins}");
    check_in_front(&house, &mut agent, &pins[0]).await;
    house.close().await;
}

#[tokio::test]
async fn a_pin_of_the_strategy_that_is_refused_is_named_in_the_journal() {
    let check = async |filter: &str, command: &str, named: &str| {
        let house = wide_under(pinning(filter, command)).await;
        let mut agent = Agent::new("key-one");
        let came = read(&house, &mut agent, &document(4_000)).await;
        let of = came.conversation().to_owned();
        agent.say(&house, "go on").await;
        let detail = detail(&house, &agent, &of).await;
        assert_eq!(detail["pins"], json!([]), "{command}");
        let told = detail["journal"].to_string();
        let line = format!("the strategy's command `pin` was refused: {named}");
        assert_eq!(told.matches(&line).count(), 1, "{command}: {told}");
        house.close().await;
    };
    let limits = PinLimits::of_window(WINDOW);
    let large = "kind = \"turn\" && role = \"tool\"";
    check(large, "{ pin: handle }", "this pin has ").await;
    check(large, "{ pin: text }", "a tool or the model said this text").await;
    let usage = "kind = \"usage\"";
    check(usage, "{ pin: \"turn:99\" }", "there is no turn 99").await;
    check(usage, "{ pin: \"path:b.rs\" }", "no tool result").await;
    assert_eq!(limits.each, Tokens::new(30_000));
}

#[tokio::test]
async fn a_strategy_lets_go_of_what_it_pinned() {
    let letting_go = strategy(
        "let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
          reports ; filter(kind = \"turn\" && contains(typed, \"note\")) ; map({ pin: handle }) ; commands
          reports ; filter(kind = \"turn\" && contains(typed, \"forget\")) ;
            map({ unpin: \"turn:1\" }) ; commands
          answers ; discard
        }",
    );
    let mut house = wide_under(letting_go).await;
    let mut agent = Agent::new("key-one");
    let came = agent.say(&house, "note this").await;
    let of = came.conversation().to_owned();
    let pins = async |house: &House, agent: &Agent| {
        let detail = detail(house, agent, &of).await;
        detail["pins"].as_array().map(Vec::len)
    };
    assert_eq!(pins(&house, &agent).await, Some(1));
    house.restart().await;
    assert_eq!(pins(&house, &agent).await, Some(1));
    agent.say(&house, "forget it").await;
    assert_eq!(pins(&house, &agent).await, Some(0));
    house.restart().await;
    assert_eq!(pins(&house, &agent).await, Some(0));
    house.close().await;
}
