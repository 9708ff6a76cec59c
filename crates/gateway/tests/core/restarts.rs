//! A gateway that was ended and started again on the same store.

use serde_json::Value;

use crate::house::{Agent, House, words};

#[tokio::test]
async fn a_swap_stands_over_a_restart_byte_for_byte() {
    let mut house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let mut swapped = false;
    for n in 0..24 {
        let text = match n {
            2 => format!("#pin keep the tests green\n{}", words(n, 700)),
            _ => words(n, 700),
        };
        let came = agent.say(&house, &text).await;
        assert_eq!(came.status, 200, "{came:?}");
        swapped |= came.did().contains("swapped");
    }
    assert!(swapped);
    let before = agent.clone().say(&house, "and now?").await;
    house.restart().await;
    let after = agent.say(&house, "and now?").await;
    assert_eq!(after.status, 200, "{after:?}");
    assert_eq!(after.conversation(), before.conversation());
    let sent = house.sent();
    let [one, other] = &sent[sent.len() - 2..] else {
        panic!("two requests");
    };
    assert_eq!(one, other, "the same bytes");
    for n in 30..50 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{came:?}");
        assert_eq!(came.conversation(), before.conversation());
    }
    house.close().await;
}

#[tokio::test]
async fn what_happened_is_still_told_after_a_restart() {
    let mut house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let mut came = agent.say(&house, "Mend the parser.").await;
    for n in 0..24 {
        came = agent.say(&house, &words(n, 700)).await;
    }
    let at = format!("/ebbtide/api/conversations/{}", came.conversation());
    let before = agent.get(&house, &at).await.body;
    let swaps = |detail: &Value| {
        let entries = detail["journal"].as_array().expect("a list");
        let told = entries.iter().filter_map(|it| it["text"].as_str());
        told.filter(|text| text.starts_with("swapped")).count()
    };
    assert!(swaps(&before) > 0, "{before}");
    house.restart().await;
    let resting = agent.get(&house, &at).await.body;
    assert_eq!(resting["line"]["title"], "Mend the parser.");
    assert_eq!(resting["journal"], before["journal"]);
    assert_eq!(resting["pressure"], before["pressure"]);
    assert!(resting["line"]["gauge"]["tokens"].as_u64() > Some(1_000));
    assert_eq!(resting["line"]["gauge"], before["line"]["gauge"]);
    let listed = agent.get(&house, "/ebbtide/api/overview").await.body;
    assert_eq!(listed["conversations"][0]["gauge"], before["line"]["gauge"]);
    agent.say(&house, "And now?").await;
    let again = agent.get(&house, &at).await.body;
    assert!(swaps(&again) >= swaps(&before), "{again}");
    let requests = |detail: &Value| detail["pressure"].as_array().expect("a list").len();
    assert_eq!(requests(&again), requests(&before) + 1);
    house.close().await;
}
