//! A model server that answers one request at a time, as llama.cpp does.

use std::time::Duration;

use gateway::config::RouteChoice;
use sim::{Config, Latency};
use tokio::time::{Instant, sleep};

use crate::house::{Agent, House};

/// The time that a request may take on a busy machine: writing a summary takes more, and reading a prompt and
/// writing a short answer a fortieth.
const SOON: Duration = Duration::from_millis(2_800);

/// A provider that writes a summary in some seconds, and the agent's answers in some hundredths of one.
fn one_slot() -> Config {
    Config {
        slots: Some(1),
        latency: Some(Latency {
            base: Duration::ZERO,
            prefill: 1e6,
            prefill_cached: 1e7,
            decode: 300.0,
        }),
        ..Config::default()
    }
}

/// The longest request of a conversation over two swaps, and the routes of its summaries.
async fn longest(slots: Option<usize>, pause: Duration) -> (Duration, String) {
    let house = House::before(one_slot(), |config| {
        config.policy.route = RouteChoice::Readable;
        config.policy.slots = slots;
    })
    .await;
    let mut agent = Agent::new("key-one");
    let (mut longest, mut swaps) = (Duration::ZERO, 0);
    for n in 0..60 {
        let began = Instant::now();
        let came = agent.tell(&house, n, 700).await;
        longest = longest.max(began.elapsed());
        swaps += usize::from(came.did().contains("swapped"));
        if came.did().contains("preparing") {
            sleep(pause).await;
        }
        if swaps == 2 {
            break;
        }
    }
    assert_eq!(swaps, 2);
    let metrics = house.gateway.metrics().render();
    house.close().await;
    (longest, metrics)
}

#[tokio::test]
async fn no_request_waits_for_a_summary() {
    let (longest, metrics) = longest(Some(1), Duration::ZERO).await;
    assert!(longest < SOON, "{longest:?}");
    let made = r#"ebbtide_preparations_total{route="extractive",result="ready"}"#;
    assert!(metrics.contains(made), "{metrics}");
}

#[tokio::test]
async fn an_idle_server_writes_the_summary() {
    let (longest, metrics) = longest(Some(1), Duration::from_secs(14)).await;
    assert!(longest < SOON, "{longest:?}");
    let made = r#"ebbtide_preparations_total{route="readable",result="ready"} 2"#;
    assert!(metrics.contains(made), "{metrics}");
}

#[tokio::test]
async fn a_server_with_one_slot_is_noticed_after_two_waits() {
    let house = House::before(one_slot(), |config| {
        config.policy.route = RouteChoice::Readable;
    })
    .await;
    let mut agent = Agent::new("key-one");
    // The longest request before each swap.
    let mut longest = vec![Duration::ZERO];
    for n in 0..80 {
        let began = Instant::now();
        let came = agent.tell(&house, n, 700).await;
        if came.did().contains("swapped") {
            longest.push(Duration::ZERO);
        }
        let newest = longest.last_mut().unwrap();
        *newest = began.elapsed().max(*newest);
        if longest.len() == 5 {
            break;
        }
    }
    house.close().await;
    let waited: Vec<bool> = longest.iter().map(|took| *took > SOON).collect();
    assert!(waited[0] && !waited[2..].contains(&true), "{longest:?}");
}
