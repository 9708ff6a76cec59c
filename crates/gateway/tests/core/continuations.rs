//! Conversations that go on after their client compacted by itself: what was pinned before stays pinned.

use gateway::config::RouteChoice;
use history::ConversationId;
use serde_json::{Value, json};

use crate::house::{Agent, Came, House, words};

const TYPED: &str = "Never touch the folder vendor.";
const SET: &str = "Answer in whole sentences.";
const SUMMARY: &str = "The user wants every module read in turn and its error codes listed; \
     modules 0 to 3 were read, module 4 is next, and nothing was decided yet.";

/// Claude Code's prompt for a compaction, as far as it is known by.
fn prompt(answer: &str) -> String {
    format!(
        "Your task is to create a detailed summary of what was said: a detailed summary of the \
         conversation so far.\nThink in <analysis> tags, then write it in <summary> tags.\n{answer}"
    )
}

/// A conversation with a pin that its user typed and one that was set from outside.
async fn pinned(house: &House, agent: &mut Agent) -> String {
    let mut id = String::new();
    for n in 0..4 {
        let text = match n {
            0 => format!("#pin {TYPED}\n{}", words(n, 100)),
            _ => words(n, 100),
        };
        let came = agent.say(house, &text).await;
        assert_eq!(came.status, 200, "{came:?}");
        id = came.conversation().to_owned();
    }
    let path = format!("/ebbtide/api/conversations/{id}/pins");
    let came = agent.post(house, &path, &json!({"text": SET})).await;
    assert!(came.status < 300, "{came:?}");
    id
}

/// The client asks for a summary in its own words, and takes it in place of everything.
async fn summarised(house: &House, agent: &mut Agent, answer: &str) -> Came {
    let came = agent.say(house, &prompt(answer)).await;
    assert_eq!(came.status, 200, "{came:?}");
    agent.messages.clear();
    came
}

/// Says something in a new conversation, and whether the provider is shown both pins.
async fn shows_pins(house: &House, agent: &mut Agent, text: &str) -> (Came, bool) {
    let came = agent.say(house, text).await;
    assert_eq!(came.status, 200, "{came:?}");
    let sent = house.sent();
    let newest = sent[sent.len() - 1].to_string();
    (came, newest.contains(TYPED) && newest.contains(SET))
}

fn parent(house: &House, key: &str, id: &str) -> Option<String> {
    let tenant = history::Tenant::of(&house.engine.secret().expect("a secret"), key.as_bytes());
    let id = ConversationId::parse(id).expect("an id");
    let mut parent = None;
    let mut look = |store: &dyn history::Store| {
        parent = store.conversation(id)?.and_then(|found| found.parent);
        Ok(())
    };
    house.engine.read(tenant, &mut look).expect("a store");
    parent.map(|parent| parent.to_string())
}

/// The receipt of a conversation: the conversation that it names, and its entries.
async fn lost(house: &House, agent: &mut Agent, id: &str) -> (Value, String) {
    let path = format!("/ebbtide/api/conversations/{id}/lost");
    let told = agent.get(house, &path).await.body;
    (told["conversation"].clone(), told["entries"].to_string())
}

fn goes_on(summary: &str) -> String {
    format!("This session goes on from an earlier one. Summary:\n{summary}\n\nRead module 4.")
}

#[tokio::test]
async fn a_summary_in_the_clients_own_words() {
    let mut house = House::new(|config| config.policy.answer_compaction = false).await;
    let mut agent = Agent::new("key-one");
    let before = pinned(&house, &mut agent).await;
    let answer = format!("@sim say <analysis>well</analysis><summary>{SUMMARY}</summary>");
    summarised(&house, &mut agent, &answer).await;
    // Neither what a tool returned nor another key's words go on with it.
    let mut other = Agent::new("key-one");
    other.messages = vec![
        json!({"role": "user", "content": "Read the notes."}),
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": SUMMARY}]}),
    ];
    let came = other.go_on(&house).await;
    assert_eq!(came.status, 200, "{came:?}");
    assert_eq!(parent(&house, "key-one", came.conversation()), None);
    let mut foreign = Agent::new("key-two");
    let (came, shown) = shows_pins(&house, &mut foreign, &goes_on(SUMMARY)).await;
    assert!(!shown, "{came:?}");
    assert_eq!(parent(&house, "key-two", came.conversation()), None);

    house.restart().await;
    let (came, shown) = shows_pins(&house, &mut agent, &goes_on(SUMMARY)).await;
    assert!(shown, "{came:?}");
    assert!(came.did().contains("pinned"), "{came:?}");
    let id = came.conversation().to_owned();
    assert_eq!(parent(&house, "key-one", &id), Some(before));
    // They are its own from now on, over swaps, restarts and another compaction.
    for n in 0..24 {
        let (came, shown) = shows_pins(&house, &mut agent, &words(n, 700)).await;
        assert!(shown, "{n}: {came:?}");
        assert_eq!(came.conversation(), id);
        if n % 9 == 8 {
            house.restart().await;
        }
    }
    let again = SUMMARY.replace("module 4", "module 28");
    summarised(&house, &mut agent, &format!("@sim say {again}")).await;
    let (came, shown) = shows_pins(&house, &mut agent, &goes_on(&again)).await;
    assert!(shown, "{came:?}");
    assert_eq!(parent(&house, "key-one", came.conversation()), Some(id));
    house.close().await;
}

#[tokio::test]
async fn a_summary_that_was_prepared_here() {
    let house = House::new(|config| config.policy.answer_compaction = true).await;
    let mut agent = Agent::new("key-one");
    let before = pinned(&house, &mut agent).await;
    let mut n = 4;
    while !house
        .gateway
        .metrics()
        .render()
        .contains(r#"result="ready""#)
    {
        assert!(n < 20, "no summary was prepared");
        let (came, _) = shows_pins(&house, &mut agent, &words(n, 700)).await;
        assert_eq!(came.conversation(), before);
        house.prepared(came.conversation()).await;
        n += 1;
    }
    let came = summarised(&house, &mut agent, "").await;
    assert_eq!(came.did(), "answered", "{came:?}");
    let text = came.body["content"][0]["text"].as_str().expect("a text");
    let inside = text.replace("<summary>", "").replace("</summary>", "");
    let (came, shown) = shows_pins(&house, &mut agent, &goes_on(inside.trim())).await;
    assert!(shown, "{came:?}");
    assert_eq!(parent(&house, "key-one", came.conversation()), Some(before));
    house.close().await;
}

#[tokio::test]
async fn the_providers_own_block() {
    let house = House::new(|config| config.policy.route = RouteChoice::Native).await;
    let mut agent = Agent::new("key-one");
    agent.beta = "compact-2026-09-04";
    let before = pinned(&house, &mut agent).await;
    let mut body = agent.body();
    body["compaction"] = json!({"type": "summarize"});
    let came = agent.post(&house, "/v1/messages", &body).await;
    assert_eq!(came.body["stop_reason"], "compaction", "{came:?}");
    // As the SDK's runner goes on: with nothing but the block.
    agent.messages = vec![json!({"role": "assistant", "content": came.body["content"]})];
    let came = agent.go_on(&house).await;
    assert_eq!(came.status, 200, "{came:?}");
    let sent = house.sent();
    let newest = &sent[sent.len() - 1]["messages"];
    assert_eq!(newest[0], agent.messages[0], "the block, byte for byte");
    let restated = newest.to_string();
    assert!(
        restated.contains(TYPED) && restated.contains(SET),
        "{restated}"
    );
    let id = came.conversation().to_owned();
    assert_eq!(parent(&house, "key-one", &id), Some(before));
    for n in 4..24 {
        let (came, shown) = shows_pins(&house, &mut agent, &words(n, 700)).await;
        assert!(shown, "{n}: {came:?}");
        assert_eq!(came.conversation(), id);
    }
    house.close().await;
}

#[tokio::test]
async fn an_item_of_responses() {
    let house = House::new(|config| config.policy.route = RouteChoice::Native).await;
    let agent = Agent::new("key-one");
    let mut input: Vec<Value> = Vec::new();
    let say = async |input: &mut Vec<Value>, item: Value| {
        input.push(item);
        let body = json!({"model": "gpt-5.5", "input": input});
        let came = agent.post(&house, "/v1/responses", &body).await;
        assert_eq!(came.status, 200, "{came:?}");
        let output = came.body["output"].as_array().expect("a list").clone();
        input.extend(output.clone());
        (came, output)
    };
    let first = format!("#pin {TYPED}\n{}", words(0, 100));
    say(&mut input, json!({"role": "user", "content": first})).await;
    let (came, output) = say(&mut input, json!({"type": "compaction_trigger"})).await;
    let before = came.conversation().to_owned();
    assert_eq!(output[0]["type"], "compaction", "{output:?}");
    let mut input = output;
    let next = json!({"role": "user", "content": "Read the next one."});
    let (came, _) = say(&mut input, next).await;
    let sent = house.sent();
    let newest = sent[sent.len() - 1].to_string();
    assert!(newest.contains(TYPED), "{newest}");
    let now = came.conversation();
    assert_eq!(parent(&house, "key-one", now), Some(before));
    house.close().await;
}

#[tokio::test]
async fn the_clients_own_summary_leaves_a_receipt_and_what_it_lost_is_regretted() {
    const RULE: &str = "Please run every command inside the container, with no exception.";
    let house = House::new(|config| config.policy.answer_compaction = false).await;
    let mut agent = Agent::new("key-one");
    let before = agent.say(&house, RULE).await.conversation().to_owned();
    for n in 0..3 {
        agent.tell(&house, n, 100).await;
    }
    let answer = format!("@sim say <summary>{SUMMARY}</summary>");
    summarised(&house, &mut agent, &answer).await;
    let came = agent.say(&house, &goes_on(SUMMARY)).await;
    let after = came.conversation().to_owned();
    assert_ne!(after, before);
    // Both of them tell of it.
    for id in [&before, &after] {
        let lost = lost_once_made(&house, &agent, id).await;
        assert_eq!(lost["conversation"], before.as_str(), "{lost}");
        let entries = lost["entries"].as_array().expect("a list");
        let is_rule = |entry: &Value| entry["text"] == RULE && entry["handle"] == "turn:1";
        assert!(entries.iter().any(is_rule), "{lost}");
    }
    let metrics = || house.gateway.metrics().render();
    assert!(!metrics().contains("ebbtide_regrets_total{"));
    let again = "No! Every command has to run inside the container.";
    assert_eq!(agent.say(&house, again).await.status, 200);
    let regrets = metrics();
    let counted = r#"ebbtide_regrets_total{kind="corrected",swap="client",strategy="prepared""#;
    assert!(regrets.contains(counted), "{regrets}");
    let path = format!("/ebbtide/api/conversations/{after}");
    let detail = agent.get(&house, &path).await.body;
    assert_eq!(detail["line"]["regrets"]["corrected"], 1, "{detail}");
    let journal = detail["journal"].to_string();
    assert!(
        journal.contains("the user said something again"),
        "{journal}"
    );
    house.close().await;
}

/// The receipt of a conversation, which is made in the background.
async fn lost_once_made(house: &House, agent: &Agent, id: &str) -> Value {
    let path = format!("/ebbtide/api/conversations/{id}/lost");
    let mut lost = Value::Null;
    for _ in 0..200 {
        lost = agent.get(house, &path).await.body;
        if lost["turns"] != 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_ne!(lost["turns"], 0, "no receipt was made");
    lost
}

#[tokio::test]
async fn what_a_strategy_drops_without_a_summary_is_listed() {
    let house = House::new(|config| {
        let truncate = gateway::config::StrategyChoice::of("truncate");
        config.policy.strategy = truncate.expect("a strategy");
    })
    .await;
    let mut agent = Agent::new("key-one");
    let rule = "Never touch the schema of the table users.";
    let id = agent.say(&house, rule).await.conversation().to_owned();
    let mut n = 0;
    while house
        .newest()
        .iter()
        .any(|message| message.to_string().contains(rule))
    {
        assert!(n < 60, "nothing was dropped");
        agent.tell(&house, n, 700).await;
        n += 1;
    }
    let path = format!("/ebbtide/api/conversations/{id}/lost");
    let lost = agent.get(&house, &path).await.body;
    assert_eq!(lost["mark"], Value::Null);
    let entries = lost["entries"].as_array().expect("a list");
    assert!(entries.iter().any(|entry| entry["text"] == rule), "{lost}");
    let path = format!("/ebbtide/api/conversations/{id}");
    let detail = agent.get(&house, &path).await.body;
    assert_eq!(detail["dropped"]["turns"], lost["turns"], "{lost}");
    house.close().await;
}

#[tokio::test]
async fn what_a_clients_own_summary_left_out_is_told_after_a_restart() {
    let mut house = House::new(|config| config.policy.answer_compaction = false).await;
    let mut agent = Agent::new("key-one");
    let rule = "Always run the linter before a commit, as Mara asked on Friday.";
    let came = agent.say(&house, rule).await;
    let before = came.conversation().to_owned();
    agent.say(&house, &words(1, 100)).await;
    summarised(
        &house,
        &mut agent,
        &format!("@sim say <summary>{SUMMARY}</summary>"),
    )
    .await;
    let came = agent.say(&house, &goes_on(SUMMARY)).await;
    let after = came.conversation().to_owned();
    assert_eq!(parent(&house, "key-one", &after), Some(before.clone()));
    // A conversation beside them, which no summary stands in.
    let mut other = Agent::new("key-one");
    let beside = other.say(&house, "What time is it?").await;
    let beside = beside.conversation().to_owned();
    for is_restarted in [false, true] {
        if is_restarted {
            house.restart().await;
        }
        for id in [&before, &after] {
            let (of, entries) = lost(&house, &mut agent, id).await;
            assert_eq!(of, before.as_str(), "{is_restarted}");
            assert!(entries.contains(rule), "{is_restarted}: {entries}");
            assert!(!entries.contains("module 4"), "{is_restarted}: {entries}");
        }
        let told = lost(&house, &mut agent, &beside).await;
        assert_eq!(told, (Value::Null, "[]".to_owned()));
        let (of, entries) = lost(&house, &mut Agent::new("key-two"), &after).await;
        assert_eq!((of, entries), (Value::Null, "null".to_owned()));
    }
    // In memory again, it is told all the same.
    let came = agent.say(&house, "Go on.").await;
    assert_eq!(came.conversation(), after);
    assert!(lost(&house, &mut agent, &after).await.1.contains(rule));
    house.close().await;
}
