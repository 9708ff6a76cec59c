//! A conversation that grows over the window several times.

use context::Tokens;
use gateway::config::{Mode, RouteChoice};
use serde_json::Value;

use crate::house::{Agent, House, words};

/// Where the messages that two requests share end, and how many the first one has.
fn shared(one: &Value, other: &Value) -> (usize, usize) {
    let messages = |body: &Value| body["messages"].as_array().expect("messages").clone();
    let (one, other) = (messages(one), messages(other));
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    (same, one.len())
}

const PIN: &str = "Never touch the folder vendor.";

#[tokio::test]
async fn a_conversation_grows_over_the_window_several_times() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let mut swaps = 0;
    let mut conversation = String::new();
    for n in 0..70 {
        let text = match n {
            1 => format!("#pin {PIN}\n{}", words(n, 700)),
            _ => words(n, 700),
        };
        let came = agent.say(&house, &text).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        if n == 0 {
            conversation = came.conversation().to_owned();
        }
        assert_eq!(came.conversation(), conversation, "{n}");
        let swapped = came.did().contains("swapped");
        swaps += usize::from(swapped);
        let sent = house.sent();
        let newest = &sent[sent.len() - 1];
        if n > 0 && !swapped {
            let (same, all) = shared(&sent[sent.len() - 2], newest);
            assert_eq!(same, all, "nothing before the newest message changes");
        }
        if n >= 1 {
            assert!(newest.to_string().contains(PIN), "{n}: the pin is shown");
        }
    }
    assert!(swaps >= 3, "{swaps} swaps");
    house.close().await;
}

#[tokio::test]
async fn what_is_observed_is_not_changed() {
    let house = House::new(|config| config.mode = Mode::Observe).await;
    let mut agent = Agent::new("key-one");
    let mut would = Vec::new();
    for n in 0..16 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{came:?}");
        would.push(came.did().to_owned());
        let sent = house.sent();
        let newest = sent[sent.len() - 1]["messages"].as_array().expect("a list");
        assert_eq!(newest.len(), 2 * n + 1, "all of it");
    }
    assert!(would.iter().any(|did| did == "would-prepare"), "{would:?}");
    house.close().await;
}

#[tokio::test]
async fn what_the_providers_own_summary_does_not_name_is_told_behind_it() {
    let house = House::new(|config| config.policy.route = RouteChoice::Native).await;
    let mut agent = Agent::new("key-one");
    let mut swapped = None;
    for n in 0..40 {
        // More names than any summary has room for.
        let record = |of| format!("Case {n:02}{of}f00dcafe{of} went to shelf {of}.");
        let records: Vec<String> = (10..30).map(record).collect();
        let text = format!("{}\n{}", records.join("\n"), words(n, 300));
        let came = agent.say(&house, &text).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        house.prepared(came.conversation()).await;
        let newest = house.sent().pop().expect("a request");
        let messages = newest["messages"].as_array().expect("a list").clone();
        let listed = |message: &Value| {
            let text = message.to_string();
            text.split_once("names, places and numbers")
                .map(|(_, listed)| listed.to_owned())
        };
        let told = messages.iter().position(|it| listed(it).is_some());
        if came.did().contains("swapped") {
            let told = told.expect("it is told at the swap");
            assert_eq!(messages[0]["content"][0]["type"], "compaction");
            let (block, listed) = (messages[0].to_string(), listed(&messages[told]));
            let listed = listed.unwrap_or_default();
            let mut words = listed.split(|letter: char| !letter.is_alphanumeric());
            let new = |word: &str| word.contains("f00dcafe") && !block.contains(word);
            assert!(words.any(new), "{listed}");
            swapped = Some((n, told, messages[told].clone()));
        } else if let Some((at, told, message)) = &swapped {
            assert_eq!(&messages[*told], message, "as it was told");
            if n > at + 2 {
                break;
            }
        } else {
            assert_eq!(told, None);
        }
    }
    assert!(swapped.is_some(), "no swap");
    house.close().await;
}

/// Grows a conversation over boundaries by a route that asks the provider.
async fn check_route(route: RouteChoice, word: &str) {
    let house = House::new(|config| config.policy.route = route).await;
    let mut agent = Agent::new("key-one");
    let mut swaps = 0;
    for n in 0..50 {
        let think = if n % 3 == 0 {
            "@sim think let me see\n"
        } else {
            ""
        };
        let came = agent
            .say(
                &house,
                &format!("{think}@sim say done with {n}\n{}", words(n, 700)),
            )
            .await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swaps += usize::from(came.did().contains("swapped"));
        house.prepared(came.conversation()).await;
    }
    assert!(swaps >= 2, "{swaps} swaps");
    let metrics = house.gateway.metrics().render();
    let ready = format!(r#"route="{word}",result="ready""#);
    assert!(metrics.contains(&ready), "{metrics}");
    assert!(!metrics.contains("thinking_dropped"), "{metrics}");
    house.close().await;
}

#[tokio::test]
async fn the_providers_own_summaries() {
    check_route(RouteChoice::Native, "native").await;
}

#[tokio::test]
async fn summaries_written_by_the_model() {
    check_route(RouteChoice::Readable, "readable").await;
}

#[tokio::test]
async fn a_request_that_the_provider_finds_too_long_is_made_smaller_and_sent_again() {
    // The gateway believes in a larger window than there is.
    let house = House::new(|config| config.policy.window = Some(Tokens::new(40_000))).await;
    let mut agent = Agent::new("key-one");
    let mut rescued = 0;
    for n in 0..30 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        rescued += usize::from(came.did().contains("rescued"));
    }
    assert!(rescued >= 1, "{rescued}");
    house.close().await;
}
