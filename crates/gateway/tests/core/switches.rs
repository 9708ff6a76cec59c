//! Clients that go on with another model, and clients that go back to where a summary does not reach.

use serde_json::{Value, json};

use crate::house::{Agent, House};

#[tokio::test]
async fn another_model_is_told_in_ways_that_it_takes() {
    for first in ["claude-opus-5-5", "claude-opus-4-5"] {
        for other in ["claude-opus-5-5", "claude-haiku-4-5", "claude-sonnet-4-6"] {
            let house = House::new(|_| {}).await;
            let mut agent = Agent::new("key-one");
            agent.model = first.to_owned();
            let mut n = agent.until_swapped(&house, 2, 100).await;
            for model in [other, first, other] {
                agent.model = model.to_owned();
                let one = agent.tell(&house, n, 100).await;
                assert!(one.did().contains("compacted"), "{first} {other}: {one:?}");
                n += 1;
            }
            house.close().await;
        }
    }
}

#[tokio::test]
async fn who_goes_back_to_before_a_summary_is_shown_what_was_shown_there() {
    for restarts in [false, true] {
        let mut house = House::new(|_| {}).await;
        let mut agent = Agent::thinking("key-one");
        let n = agent.until_swapped(&house, 2, 100).await;
        let early = house.sent()[4]["messages"].clone();
        let early = early.as_array().expect("a list").clone();
        assert!(early.iter().any(|it| it["role"] == "system"), "a note");
        let mut back = agent.clone();
        back.messages.truncate(8);
        if restarts {
            house.restart().await;
        }
        back.tell(&house, n, 100).await;
        let shown = house.newest();
        assert_eq!(
            shown[..early.len() - 2],
            early[..early.len() - 2],
            "{restarts}"
        );
        // And so is who goes on with the summary meanwhile.
        let on = agent.tell(&house, n + 1, 100).await;
        assert_eq!(on.status, 200);
        back.tell(&house, n + 2, 100).await;
        house.close().await;
    }
}

#[tokio::test]
async fn a_branch_from_before_a_summary_is_shown_what_was_shown_there() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::thinking("key-one");
    let n = agent.until_swapped(&house, 2, 100).await;
    for messages in [4, 8, 12] {
        let mut branch = agent.clone();
        branch.messages.truncate(messages);
        for n in [n, n + 1] {
            let came = branch.tell(&house, n, 100).await;
            // Its thinking fits to what it is shown.
            assert!(!came.did().contains("rescued"), "{messages}: {came:?}");
        }
        agent.tell(&house, n + 2, 50).await;
    }
    house.close().await;
}

#[tokio::test]
async fn who_comes_back_with_another_key_goes_on_without_the_thinking() {
    for swaps in [false, true] {
        let mut house = House::new(|_| {}).await;
        let mut agent = Agent::thinking("key-one");
        let mut n = match swaps {
            true => agent.until_swapped(&house, 2, 100).await,
            false => 4,
        };
        // All of it together is above the window, or far below where a summary would be made.
        let more = if swaps { 16 } else { 4 };
        for n in 0..more {
            agent.tell(&house, n, 100).await;
        }
        agent.key = "key-two".to_owned();
        let came = agent.tell(&house, n, 100).await;
        // What comes at once and does not fit waits until it is summarised, and has no thinking then.
        let expected = if swaps { "swapped" } else { "rescued" };
        assert!(came.did().contains(expected), "{swaps}: {came:?}");
        assert!(
            !Value::from(house.newest())
                .to_string()
                .contains("signature")
        );
        for restarts in [false, true] {
            if restarts {
                house.restart().await;
            }
            n += 1;
            let came = agent.tell(&house, n, 100).await;
            assert!(!came.did().contains("rescued"), "{swaps}: {came:?}");
            let shown = house.newest();
            let thinks = |message: &&Value| message.to_string().contains("signature");
            assert!(
                shown.iter().filter(thinks).count() > 0,
                "new thinking stays"
            );
        }
        let at = format!("/ebbtide/api/conversations/{}", came.conversation());
        let told = agent.get(&house, &at).await;
        assert_eq!(told.status, 200, "{told:?}");
        house.close().await;
    }
}

#[tokio::test]
async fn what_is_only_watched_is_refused_as_it_is() {
    let house = House::new(|config| config.mode = gateway::config::Mode::Observe).await;
    let mut agent = Agent::thinking("key-one");
    for n in 0..3 {
        agent.tell(&house, n, 100).await;
    }
    agent.messages[0]["content"][0]["text"] = json!("Something else.");
    let came = agent.say(&house, "And now?").await;
    assert_eq!(came.status, 400, "{came:?}");
    house.close().await;
}

#[tokio::test]
async fn a_conversation_is_reported_while_and_after_a_request_is_not_answered() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let came = agent.tell(&house, 0, 100).await;
    let at = format!("/ebbtide/api/conversations/{}", came.conversation());
    agent
        .messages
        .push(json!({"role": "user", "content": [{"type": "nonsense"}]}));
    let refused = agent.send(&house).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    let told = agent.get(&house, &at).await;
    assert_eq!(told.status, 200, "{told:?}");
    agent.messages.pop();
    agent.tell(&house, 1, 100).await;
    let told = agent.get(&house, &at).await;
    assert_eq!(told.status, 200, "{told:?}");
    house.close().await;
}
