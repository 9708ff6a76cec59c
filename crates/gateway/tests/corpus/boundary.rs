//! What a boundary takes.

use std::time::Duration;

use sim::Latency;

use crate::locate::corpus;
use crate::session::read;
use crate::stage::{BINDING, through};
use crate::talk::Seen;

/// Fast enough for a test, and slow enough that whoever waited for a summary would be seen to.
const LATENCY: Latency = Latency {
    base: Duration::from_millis(5),
    prefill: 1_000_000.0,
    prefill_cached: 20_000_000.0,
    decode: 10_000.0,
};

#[tokio::test]
async fn nobody_waits_at_a_boundary() {
    let Some(corpus) = corpus() else { return };
    let recorded = read(
        &corpus,
        "entire-cli/df93cd9c-8436-49e5-af80-61126ae55a83.jsonl",
    );
    let outcome = through(&recorded, BINDING, Some(LATENCY)).await;
    assert!(outcome.seen.iter().all(|it| !it.did("waited")));
    println!("swaps {:?}", outcome.swaps);
    // What a request took beyond what the provider takes for one of its size.
    let extra = |seen: &Seen| {
        let model = LATENCY.first(seen.uncached(), seen.read) + LATENCY.writing(seen.output);
        seen.took.saturating_sub(model)
    };
    let at = |boundary: bool| {
        let mut extras: Vec<Duration> = outcome
            .seen
            .iter()
            .filter(|seen| (seen.did("swapped") || seen.did("preparing")) == boundary)
            .map(extra)
            .collect();
        extras.sort_unstable();
        extras
    };
    let (usual, boundary) = (at(false), at(true));
    assert!(boundary.len() >= 2, "{boundary:?}");
    let most = usual.last().copied().unwrap_or_default();
    let middle = usual[usual.len() / 2];
    println!(
        "beyond the provider's time: {middle:.1?} to {most:.1?}, at boundaries {boundary:.1?}"
    );
    assert!(
        boundary
            .iter()
            .all(|it| *it <= most + Duration::from_millis(100))
    );
}
