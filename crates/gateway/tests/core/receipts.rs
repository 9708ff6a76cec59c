//! After a swap, the note quotes what the summary leaves out, and work that the agent repeats is counted.

use gateway::config::{Config, Mode, RouteChoice};
use serde_json::{Value, json};
use sim::{Say, Script};

use crate::house::{Agent, House};

const PATH: &str = "src/pool.rs";

/// Sentences of all kinds.
const SENTENCES: &str = include_str!("../../../lab/src/survival/sentences.tsv");

fn sentences() -> impl Iterator<Item = &'static str> {
    let lines = SENTENCES.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split('\t').nth(2))
}

/// The answers of a model that reads a file and decides more than a summary has room for.
fn script() -> Script {
    let call = Say::Call {
        name: "read".to_owned(),
        input: json!({ "path": PATH }),
    };
    let sentences: Vec<&str> = sentences().collect();
    let decided = sentences.chunks(8).take(12).map(|some| {
        let decisions = some
            .iter()
            .map(|it| format!("I decided to do this instead of asking: {it}"));
        vec![Say::Text(decisions.collect::<Vec<_>>().join("\n"))]
    });
    let read = [vec![call], vec![Say::Text("I see.".to_owned())]];
    Script::Steps(read.into_iter().chain(decided).collect())
}

async fn house(change: impl FnOnce(&mut Config)) -> House {
    let provider = sim::Config {
        script: script(),
        ..sim::Config::default()
    };
    House::before(provider, change).await
}

/// Says this, and answers the call with the file.
async fn read(agent: &mut Agent, house: &House, text: &str) {
    let came = agent.say(house, text).await;
    let calls = came.body["content"].as_array().expect("blocks");
    let call = calls.iter().find(|block| block["type"] == "tool_use");
    let id = &call.expect("a call")["id"];
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": "pub struct Pool;"});
    agent
        .messages
        .push(json!({"role": "user", "content": [result]}));
    assert_eq!(agent.go_on(house).await.status, 200);
}

/// Works through the script.
async fn decided(house: &House, agent: &mut Agent) {
    read(agent, house, "Look at the pool.").await;
    for _ in 0..12 {
        assert_eq!(agent.say(house, "Go on.").await.status, 200);
    }
}

/// Reads the file again.
async fn again(house: &House, agent: &mut Agent) {
    let call = json!({ "path": PATH });
    read(agent, house, &format!("@sim call read {call}")).await;
    agent.tell(house, 90, 50).await;
}

/// The texts of the newest request.
fn shown(house: &House) -> String {
    let messages = house.newest();
    let blocks = messages
        .iter()
        .flat_map(|message| match &message["content"] {
            Value::Array(blocks) => blocks.clone(),
            text => vec![json!({ "text": text })],
        });
    let texts = blocks.filter_map(|block| block["text"].as_str().map(str::to_owned));
    texts.collect::<Vec<_>>().join("\n")
}

fn regrets(house: &House) -> Vec<String> {
    let metrics = house.gateway.metrics().render();
    let lines = metrics.lines();
    let lines = lines.filter(|line| line.starts_with("ebbtide_regrets_total{"));
    lines.map(str::to_owned).collect()
}

/// The losses that the note in the newest request quotes.
fn quoted(house: &House) -> Vec<String> {
    let shown = shown(house);
    let quoted = shown.split_once("not in the summary (quoted from the turns removed):\n");
    let (_, listed) = quoted.expect("no losses are quoted");
    let lines = listed.lines().take_while(|line| line.starts_with("- "));
    lines.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_note_quotes_up_to_three_losses_and_a_file_that_is_read_again_is_counted() {
    let house = house(|config| config.policy.route = RouteChoice::Extractive).await;
    let mut agent = Agent::new("key-one");
    decided(&house, &mut agent).await;
    agent.until_swapped(&house, 0, 0).await;
    let lines = quoted(&house);
    assert!((1..=3).contains(&lines.len()), "{lines:?}");
    assert!(regrets(&house).is_empty(), "{:?}", regrets(&house));
    again(&house, &mut agent).await;
    let counted = regrets(&house);
    let is_it =
        |line: &String| line.contains(r#"kind="read_again",swap="ours",strategy="prepared""#);
    assert!(counted.iter().any(is_it), "{counted:?}");
    house.close().await;
}

#[tokio::test]
async fn the_note_quotes_losses_behind_a_block_of_the_provider_too() {
    let house = House::new(|config| config.policy.route = RouteChoice::Native).await;
    let mut agent = Agent::new("key-one");
    // More than the share of the user's words holds.
    let said: Vec<&str> = sentences().collect();
    let mut is_swapped = false;
    for some in said.chunks(20).cycle().take(60) {
        let came = agent.say(&house, &some.join("\n")).await;
        is_swapped = came.did().contains("swapped");
        if is_swapped {
            break;
        }
        house.prepared(came.conversation()).await;
    }
    assert!(is_swapped, "no swap");
    let lines = quoted(&house);
    assert!((1..=3).contains(&lines.len()), "{lines:?}");
    let newest = house.newest();
    assert_eq!(newest[0]["content"][0]["type"], "compaction");
    house.close().await;
}

#[tokio::test]
async fn in_observe_mode_it_is_counted_too_and_no_note_is_sent() {
    let house = house(|config| config.mode = Mode::Observe).await;
    let mut agent = Agent::new("key-one");
    decided(&house, &mut agent).await;
    let mut n = 0;
    loop {
        let id = agent.tell(&house, n, 500).await.conversation().to_owned();
        let path = format!("/ebbtide/api/conversations/{id}");
        let journal = agent.get(&house, &path).await.body["journal"].to_string();
        if journal.contains("would have swapped") {
            break;
        }
        n += 1;
        assert!(n < 30, "{journal}");
    }
    assert!(!shown(&house).contains("not in the summary"));
    again(&house, &mut agent).await;
    let counted = regrets(&house);
    let is_it = |line: &String| line.contains(r#"kind="read_again""#);
    assert!(counted.iter().any(is_it), "{counted:?}");
    house.close().await;
}
