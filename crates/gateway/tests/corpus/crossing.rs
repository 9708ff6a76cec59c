//! Sessions over their boundaries: valid, pinned, cached, and nobody waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use context::Tokens;
use gateway::Gateway;
use gateway::config::{Config, Upstreams};
use history::{Limits, MemoryEngine};
use jiff::Timestamp;
use sim::{Latency, Log, Script, Signatures};
use tokio::net::TcpListener;

use crate::locate::corpus;
use crate::received::{Kept, Received};
use crate::session::{Recorded, read};
use crate::talk::{Choice, Place, Seen, counts, hold};

const PINS: &[(usize, &str)] = &[
    (
        0,
        "Releases are cut on Thursdays only, never before Ines has signed off.",
    ),
    (
        9,
        "The staging database is read-only for this work: orders-7f3a91c.",
    ),
];

/// Binds thinking to its prefix, compacts by the provider's own block.
const BINDING: Choice = Choice {
    model: "claude-opus-5-5",
    thinking: r#"{"type":"adaptive"}"#,
    pins: PINS,
};

/// Has no compaction of its own.
const OLDER: Choice = Choice {
    model: "claude-opus-4-5",
    thinking: r#"{"type":"enabled","budget_tokens":2000}"#,
    pins: PINS,
};

/// What a note and restated pins may add to a request, in tokens.
const REMARK: u64 = 400;

struct Outcome {
    seen: Vec<Seen>,
    received: Vec<Received>,
    refused: u64,
    /// How many summaries were swapped in, by the way in which they were made.
    swaps: BTreeMap<String, usize>,
}

fn now() -> Timestamp {
    Timestamp::from_second(1_790_000_000).expect("a time")
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}

async fn provider(
    recorded: &Recorded,
    window: u64,
    latency: Option<Latency>,
) -> (sim::Running, Kept) {
    let answers = recorded.exchanges.iter().map(|it| it.answer.clone());
    let config = sim::Config {
        window: Some(Tokens::new(window)),
        latency,
        script: Script::Steps(answers.collect()),
        signatures: Signatures::ForeignTrusted,
        ..sim::Config::default()
    };
    let kept = Kept::default();
    let log = Log::new(Box::new(kept.clone()));
    let running = sim::serve(listener().await, config, Arc::new(now), Some(log));
    (running.expect("a provider"), kept)
}

async fn through(recorded: &Recorded, choice: Choice, latency: Option<Latency>) -> Outcome {
    let (provider, kept) = provider(recorded, 64_000, latency).await;
    let mut config = Config {
        upstream: Upstreams {
            anthropic: provider.url(),
            openai: provider.url(),
        },
        ..Config::default()
    };
    config.policy.window = Some(Tokens::new(64_000));
    let gateway = Gateway {
        config,
        engine: Arc::new(MemoryEngine::new([7; 32], Limits::default())),
        clock: Arc::new(now),
    };
    let gateway = gateway::serve(listener().await, gateway).expect("a gateway");
    let place = Place {
        url: gateway.url(),
        gateway: latency.is_none().then_some(&gateway),
    };
    let seen = hold(&place, recorded, choice).await;
    let swaps = swaps(&gateway);
    gateway.shutdown().await;
    let refused = provider.provider().total().refused;
    provider.shutdown().await;
    Outcome {
        seen,
        received: kept.requests(),
        refused,
        swaps,
    }
}

/// The swaps in the gateway's metrics, by the way in which their summaries were made.
fn swaps(gateway: &gateway::Running) -> BTreeMap<String, usize> {
    let counts = counts(gateway, "ebbtide_swaps_total");
    let route = |labels: &str| {
        labels
            .trim_start_matches("route=")
            .trim_matches('"')
            .to_owned()
    };
    counts
        .iter()
        .map(|(labels, count)| (route(labels), *count))
        .collect()
}

/// The same conversation without a gateway, in a window that holds it.
async fn direct(recorded: &Recorded, choice: Choice) -> Vec<Seen> {
    let (provider, _) = provider(recorded, 2_000_000, None).await;
    let place = Place {
        url: provider.url(),
        gateway: None,
    };
    let seen = hold(&place, recorded, choice).await;
    provider.shutdown().await;
    seen
}

/// Each request extends the one before byte for byte, except at a swap.
fn extends_between_swaps(outcome: &Outcome) {
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
fn says_the_pins(outcome: &Outcome) {
    for (from, pin) in PINS {
        for request in &outcome.received[*from..] {
            let said = request.messages.iter().any(|message| message.contains(pin));
            assert!(said, "request {} lacks `{pin}`", request.number);
        }
    }
}

/// Except at a swap, no more has to be read afresh than without a gateway. (The share of the whole is
/// another matter: the same new message is a larger share of a smaller request.)
fn reads_the_cache(through: &[Seen], direct: &[Seen]) {
    let mut read = 0;
    let mut input = 0;
    for (number, (through, direct)) in through.iter().zip(direct).enumerate() {
        if through.did("swapped") {
            continue;
        }
        assert!(
            through.uncached() <= direct.uncached() + REMARK,
            "request {number}: {through:?} {direct:?}"
        );
        read += through.read;
        input += through.input();
    }
    let all: u64 = direct.iter().map(Seen::input).sum();
    let cached: u64 = direct.iter().map(|it| it.read).sum();
    println!(
        "cache read share: {} per mille, without the gateway {}",
        read * 1_000 / input,
        cached * 1_000 / all
    );
}

async fn check(file: &str, choice: Choice, route: &str) {
    let Some(corpus) = corpus() else { return };
    let recorded = read(&corpus, file);
    let outcome = through(&recorded, choice, None).await;
    assert_eq!(outcome.refused, 0);
    let swapped = outcome.seen.iter().filter(|it| it.did("swapped")).count();
    assert!(swapped >= 2, "{swapped} swaps");
    let expected = BTreeMap::from([(route.to_owned(), swapped)]);
    assert_eq!(
        outcome.swaps, expected,
        "the way in which summaries were made"
    );
    assert!(outcome.seen.iter().all(|it| it.input() < 64_000));
    extends_between_swaps(&outcome);
    says_the_pins(&outcome);
    reads_the_cache(&outcome.seen, &direct(&recorded, choice).await);
}

#[tokio::test]
async fn a_session_over_the_providers_own_block() {
    check(
        "entire-cli/df93cd9c-8436-49e5-af80-61126ae55a83.jsonl",
        BINDING,
        "native",
    )
    .await;
}

#[tokio::test]
async fn a_session_over_readable_summaries() {
    check(
        "entire-cli/67d765b5-4286-4ec5-b051-950466e186f0.jsonl",
        OLDER,
        "readable",
    )
    .await;
}

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
