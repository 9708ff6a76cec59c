//! Sessions over their boundaries: valid, pinned, unchanged between swaps.

use std::collections::BTreeMap;

use crate::locate::corpus;
use crate::session::read;
use crate::stage::{BINDING, LONG, OLDER, OTHER, PINS, TestRun, WINDOW, through};
use crate::talk::Choice;

/// Each request extends the one before byte for byte, except at a swap.
fn extends_between_swaps(outcome: &TestRun) {
    let numbers: Vec<usize> = outcome.received.iter().map(|it| it.number).collect();
    let expected: Vec<usize> = (0..outcome.seen.len()).collect();
    assert_eq!(numbers, expected, "each request was received once");
    for (pair, seen) in outcome.received.windows(2).zip(&outcome.seen[1..]) {
        let [before, after] = pair else { continue };
        assert_eq!(before.head, after.head, "request {}", after.number);
        let extended = after.messages.starts_with(&before.messages);
        assert_eq!(
            extended,
            !seen.did("swapped"),
            "request {}: {:?}",
            after.number,
            seen.did
        );
    }
}

/// Every pin stands in every request from the one on that set it.
fn says_the_pins(outcome: &TestRun) {
    for (from, pin) in PINS {
        for request in &outcome.received[*from..] {
            let said = request.messages.iter().any(|message| message.contains(pin));
            assert!(said, "request {} lacks `{pin}`", request.number);
        }
    }
}

async fn check(file: &str, choice: Choice, route: &str) {
    let Some(corpus) = corpus() else { return };
    let recorded = read(&corpus, file);
    let outcome = through(&recorded, choice).await;
    assert_eq!(outcome.account.refused, 0);
    let swapped = outcome.seen.iter().filter(|it| it.did("swapped")).count();
    assert!(swapped >= 2, "{swapped} swaps");
    let expected = BTreeMap::from([(route.to_owned(), swapped)]);
    assert_eq!(
        outcome.swaps, expected,
        "the way in which summaries were made"
    );
    assert!(outcome.seen.iter().all(|it| it.input() < WINDOW));
    extends_between_swaps(&outcome);
    says_the_pins(&outcome);
}

#[tokio::test]
async fn a_session_over_the_providers_own_block() {
    check(LONG, BINDING, "native").await;
}

#[tokio::test]
async fn a_session_over_readable_summaries() {
    check(OTHER, OLDER, "readable").await;
}
