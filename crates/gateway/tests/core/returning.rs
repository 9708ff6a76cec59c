//! A conversation that leaves memory with a summary ready, and comes back.

use std::time::Duration;

use crate::house::{Agent, House, words};

/// The number of preparations that have ended.
fn prepared(house: &House) -> usize {
    let text = house.gateway.metrics().render();
    let counts = text
        .lines()
        .filter(|line| line.starts_with("ebbtide_preparations_total{"));
    let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    counts.sum()
}

#[tokio::test]
async fn the_summary_that_was_ready_is_swapped_in() {
    let house = House::new(|config| config.limits.conversations = 1).await;
    let mut agent = Agent::new("key-one");
    let mut n = 0;
    loop {
        assert!(n < 40, "nothing is prepared");
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{came:?}");
        n += 1;
        if came.did().contains("preparing") {
            break;
        }
    }
    for _ in 0..500 {
        if prepared(&house) == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(prepared(&house), 1);

    // There is room for one, and this is another.
    let mut other = Agent::new("key-two");
    assert_eq!(other.say(&house, "Hello.").await.status, 200);

    let came = agent.say(&house, &words(n, 100)).await;
    let at = format!("/ebbtide/api/conversations/{}", came.conversation());
    let told = agent.get(&house, &at).await;
    let told = told.body.to_string();
    assert!(told.contains("came back from the store"), "{told}");
    let mut did = came.did().to_owned();
    while !did.contains("swapped") {
        assert!(n < 80, "no swap");
        n += 1;
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{came:?}");
        did = came.did().to_owned();
        assert!(
            !did.contains("preparing") || did.contains("swapped"),
            "{did}"
        );
        assert!(!did.contains("waited"), "{did}");
    }
    assert_eq!(prepared(&house), 1, "no second one was made for this swap");
    house.close().await;
}
