//! Pins stay in what the provider is sent, whatever the client does with its messages.

use gateway::config::RouteChoice;
use serde_json::json;

use crate::house::{Agent, House, words};

const TYPED: &str = "p0";
const SET: &str = "answer in \"French\",\nalways";

/// A conversation with two pins, at the request with which the provider's own summary was swapped in.
async fn swapped(house: &House) -> Agent {
    let mut agent = Agent::new("key-one");
    let mut n = 0;
    loop {
        assert!(n < 60, "no swap in sixty requests");
        let text = match n {
            0 => format!("{}\n#pin {TYPED}", words(n, 700)),
            _ => words(n, 700),
        };
        let came = agent.say(house, &text).await;
        assert_eq!(came.status, 200, "{came:?}");
        if n == 0 {
            let path = format!("/ebbtide/api/conversations/{}/pins", came.conversation());
            let came = agent.post(house, &path, &json!({"text": SET})).await;
            assert!(came.status < 300, "{came:?}");
        }
        if came.did().contains("swapped") {
            return agent;
        }
        house.prepared(came.conversation()).await;
        n += 1;
    }
}

/// Returns true if the newest request that the provider was sent states both pins in full.
fn states_pins(house: &House) -> bool {
    let sent = house.sent();
    let messages = sent[sent.len() - 1]["messages"].to_string();
    let stated = |pin: &str| {
        let item = json!(format!("\n- {pin}")).to_string();
        messages.contains(item.trim_matches('"'))
    };
    messages.contains("[Pinned, in full:]") && stated(TYPED) && stated(SET)
}

async fn native() -> House {
    House::new(|config| config.policy.route = RouteChoice::Native).await
}

#[tokio::test]
async fn an_edited_message_takes_no_pin_away() {
    let house = native().await;
    let mut agent = swapped(&house).await;
    assert!(states_pins(&house));
    for n in 0..2 {
        agent.messages.truncate(agent.messages.len() - 2);
        let came = agent.say(&house, &format!("or rather this, {n}")).await;
        assert!(came.did().contains("pinned"), "{came:?}");
        assert!(states_pins(&house));
    }
    let came = agent.say(&house, "and then").await;
    assert!(!came.did().contains("pinned"), "once is enough: {came:?}");
    assert!(states_pins(&house));
    house.close().await;
}

#[tokio::test]
async fn a_branch_states_them() {
    let house = native().await;
    let mut agent = swapped(&house).await;
    agent.say(&house, "one more").await;
    let mut branch = agent.clone();
    branch.messages.truncate(branch.messages.len() - 4);
    let came = branch.say(&house, "elsewhere").await;
    assert_eq!(came.status, 200, "{came:?}");
    assert!(states_pins(&house));
    agent.say(&house, "and on").await;
    assert!(states_pins(&house));
    house.close().await;
}

#[tokio::test]
async fn a_pin_from_outside_outlives_the_message_it_went_out_with() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let came = agent.say(&house, "hello").await;
    let path = format!("/ebbtide/api/conversations/{}/pins", came.conversation());
    let set = agent.post(&house, &path, &json!({"text": SET})).await;
    assert!(set.status < 300, "{set:?}");
    for text in ["first", "edited"] {
        let came = agent.say(&house, text).await;
        assert!(came.did().contains("pinned"), "{came:?}");
        let sent = house.sent();
        assert!(
            sent[sent.len() - 1]["messages"]
                .to_string()
                .contains("French")
        );
        agent.messages.truncate(agent.messages.len() - 2);
    }
    house.close().await;
}

#[tokio::test]
async fn they_are_listed_after_a_restart_and_a_refused_line_is_told() {
    let mut house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    agent.say(&house, "#pin never push").await;
    let came = agent
        .say(&house, &format!("#pin {}", "x ".repeat(9_000)))
        .await;
    assert!(came.did().contains("pin-refused"), "{came:?}");
    let came = agent.say(&house, "go on").await;
    assert!(!came.did().contains("pin-refused"), "{came:?}");
    let path = format!("/ebbtide/api/conversations/{}", came.conversation());
    house.restart().await;
    let listed = agent.get(&house, &path).await;
    assert_eq!(listed.body["pins"][0]["text"], "never push", "{listed:?}");
    assert_eq!(listed.body["pins"][0]["removable"], false);
    assert!(
        listed.body["line"]["gauge"]["hard"].as_u64() > Some(0),
        "{listed:?}"
    );
    let order = agent
        .post(&house, &format!("{path}/prepare"), &json!({}))
        .await;
    assert_eq!(order.body["error"]["code"], "E0828", "{order:?}");
    house.close().await;
}
