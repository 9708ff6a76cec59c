//! The provider's own word on whether what we changed did harm.

use crate::house::{Agent, House, words};

/// The reasons for cache misses that were counted, and how often.
fn misses(house: &House) -> Vec<(String, u64)> {
    let text = house.gateway.metrics().render();
    let lines = text.lines();
    let found = lines.filter_map(|line| line.strip_prefix("ebbtide_cache_misses_total{reason=\""));
    found
        .filter_map(|rest| {
            let (reason, count) = rest.split_once("\"} ")?;
            Some((reason.to_owned(), count.parse().ok()?))
        })
        .collect()
}

#[tokio::test]
async fn only_swaps_are_misses_of_the_cache() {
    let house = House::new(|config| config.policy.diagnose = Some(true)).await;
    let mut agent = Agent::new("key-one");
    let mut swaps = 0;
    for n in 0..40 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        swaps += u64::from(came.did().contains("swapped"));
    }
    let asked = house.sent();
    let asked = asked
        .iter()
        .filter(|body| !body["diagnostics"]["previous_message_id"].is_null());
    assert!(asked.count() > 10, "changed requests ask");
    assert!(swaps >= 1, "{swaps} swaps");
    assert_eq!(misses(&house), [("messages_changed".to_owned(), swaps)]);
    house.close().await;
}

#[tokio::test]
async fn who_is_not_known_to_answer_is_not_asked() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    for n in 0..24 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
    }
    assert!(
        house
            .sent()
            .iter()
            .all(|body| body.get("diagnostics").is_none())
    );
    house.close().await;
}
