//! Branches, retries, questions on the side, and tenants.

use serde_json::json;

use crate::house::{Agent, House, words};

/// A conversation that was swapped once and has gone on for four requests: some way from the next swap,
/// however long summaries take.
async fn grown(house: &House, key: &str) -> Agent {
    let mut agent = Agent::new(key);
    agent.until_swapped(house, 4, 700).await;
    agent
}

#[tokio::test]
async fn a_branch_is_shown_as_its_parent_was() {
    let house = House::new(|_| {}).await;
    let mut agent = grown(&house, "key-one").await;
    let mut branch = agent.clone();
    branch.messages.truncate(branch.messages.len() - 6);
    let main = agent.say(&house, &words(50, 100)).await;
    assert!(main.did().contains("compacted"), "{main:?}");
    let branched = branch.say(&house, &words(60, 100)).await;
    assert_eq!(branched.status, 200);
    assert!(branched.did().contains("compacted"), "{branched:?}");
    assert_ne!(branched.conversation(), main.conversation());
    let sent = house.sent();
    let [one, other] = &sent[sent.len() - 2..] else {
        panic!("two requests");
    };
    assert_eq!(
        one["messages"][0], other["messages"][0],
        "the same summary in front"
    );
    let again = agent.say(&house, &words(51, 100)).await;
    assert_eq!(again.conversation(), main.conversation());
    house.close().await;
}

#[tokio::test]
async fn a_branch_from_before_its_summary_was_made_is_told_nothing_of_what_came_then() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let mut asked = None;
    for n in 0.. {
        assert!(n < 60, "no swap in sixty requests");
        let came = agent.say(&house, &words(n, 700)).await;
        if came.did().contains("preparing") {
            asked = Some(n);
        }
        if came.did().contains("swapped") {
            break;
        }
    }
    let asked = asked.expect("a summary was made");
    // All but one that is in front is shown as it was said.
    let hidden = agent.messages.len() - house.newest().len();
    let said = |message: &serde_json::Value| message.to_string();
    let newest = format!("src/module_{asked}.rs");
    assert!(hidden > 2, "something is summed up");

    let mut branch = agent.clone();
    branch.messages.truncate(hidden + 2);
    assert!(!branch.messages.iter().any(|it| said(it).contains(&newest)));
    let branched = branch.say(&house, "And the tower?").await;
    assert_eq!(branched.status, 200, "{branched:?}");
    let shown = house.newest();
    assert!(
        !shown.iter().any(|it| said(it).contains(&newest)),
        "{shown:?}"
    );
    assert!(said(&shown[0]).contains("src/module_0.rs"), "all is shown");
    house.close().await;
}

#[tokio::test]
async fn what_was_taken_back_is_in_no_summary() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    for n in 0..8 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.did(), if n == 0 { "kept" } else { "noted" }, "{n}");
    }
    let mut other = agent.clone();
    let came = agent.say(&house, &words(77, 9_600)).await;
    assert!(came.did().contains("swapped"), "{came:?}");
    let shown = serde_json::Value::from(house.newest()).to_string();
    assert!(shown.contains("module_77"), "the newest turn is shown");
    let edited = other.say(&house, "And the tower?").await;
    assert_eq!(edited.conversation(), came.conversation());
    assert_eq!(edited.status, 200, "{edited:?}");
    let shown = serde_json::Value::from(house.newest()).to_string();
    assert!(!shown.contains("module_77"), "{shown}");
    house.close().await;
}

#[tokio::test]
async fn branches_that_take_turns_stay_apart_over_their_boundaries() {
    let house = House::new(|_| {}).await;
    let first = grown(&house, "key-one").await;
    let mut branches = [("north", first.clone()), ("south", first)];
    let mut ids = [String::new(), String::new()];
    let mut shown = [Vec::new(), Vec::new()];
    let mut swaps = [0, 0];
    for n in 100..150 {
        for at in [0, 1] {
            let (name, agent) = &mut branches[at];
            let text = match n {
                100 => format!("#pin Only the {name} tower.\n{}", words(n, 700)),
                _ => format!("the {name} side: {}", words(n, 700)),
            };
            let came = agent.say(&house, &text).await;
            assert_eq!(came.status, 200, "{name} {n}: {came:?}");
            // What differs in its last message only may be an edit, until both go on.
            if n > 101 {
                assert_eq!(came.conversation(), ids[at], "{name} {n}");
            }
            came.conversation().clone_into(&mut ids[at]);
            let now = house.newest();
            let said = serde_json::Value::from(now.clone()).to_string();
            assert!(
                said.contains(&format!("Only the {name} tower.")),
                "{name} {n}"
            );
            let other = ["south", "north"][at];
            assert!(!said.contains(&format!("the {other} side")), "{name} {n}");
            assert!(!said.contains(&format!("Only the {other}")), "{name} {n}");
            if came.did().contains("swapped") {
                swaps[at] += 1;
            } else if n > 100 {
                let before: &Vec<_> = &shown[at];
                assert!(now.starts_with(before), "{name} {n}: {}", came.did());
            }
            shown[at] = now;
        }
    }
    assert_ne!(ids[0], ids[1]);
    assert!(swaps.iter().all(|&swaps| swaps >= 2), "{swaps:?}");
    house.close().await;
}

#[tokio::test]
async fn the_same_again_is_sent_the_same_again() {
    let house = House::new(|_| {}).await;
    let agent = grown(&house, "key-one").await;
    let mut agent = agent;
    let mut once = agent.clone();
    once.say(&house, "and now?").await;
    let mut twice = agent.clone();
    let came = twice.say(&house, "and now?").await;
    assert_eq!(came.status, 200);
    let sent = house.sent();
    assert_eq!(sent[sent.len() - 1], sent[sent.len() - 2]);
    // Another end of the last message is the same conversation.
    let edited = agent.say(&house, "and then?").await;
    assert_eq!(edited.conversation(), came.conversation());
    house.close().await;
}

#[tokio::test]
async fn a_question_on_the_side_does_not_disturb() {
    let house = House::new(|_| {}).await;
    let mut agent = grown(&house, "key-one").await;
    let main = agent.say(&house, "one more").await;
    let mut title = agent.clone();
    title.messages = vec![json!({"role": "user", "content": "Name this conversation."})];
    let aside = title.go_on(&house).await;
    assert_eq!(aside.status, 200);
    assert_ne!(aside.conversation(), main.conversation());
    let next = agent.say(&house, "and another").await;
    assert_eq!(next.conversation(), main.conversation());
    house.close().await;
}

#[tokio::test]
async fn tenants_do_not_meet() {
    let house = House::new(|_| {}).await;
    let one = grown(&house, "key-one").await;
    let mut other = Agent::new("key-two");
    other.messages = one.messages[..11].to_vec();
    let came = other.go_on(&house).await;
    assert_eq!(came.status, 200, "{came:?}");
    assert!(!came.did().contains("compacted"), "{came:?}");
    let sent = house.sent();
    let newest = sent[sent.len() - 1]["messages"].as_array().expect("a list");
    assert!(newest.len() >= 11, "as it was said");
    house.close().await;
}
