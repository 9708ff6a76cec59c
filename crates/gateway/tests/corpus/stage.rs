//! The houses of these tests: the strict provider with or without the gateway before it, and a client.

use std::collections::BTreeMap;
use std::sync::Arc;

use context::Tokens;
use gateway::Gateway;
use gateway::config::{Config, Upstreams};
use history::{Engine, Limits, MemoryEngine};
use jiff::Timestamp;
use sim::{Account, Latency, Log, Script, Signatures};
use tokio::net::TcpListener;

use crate::received::{Kept, Received};
use crate::session::Recorded;
use crate::talk::{Choice, Keeper, Seen, Setup, counts, hold};

/// The window that is crossed.
pub const WINDOW: u64 = 64_000;

/// Two sessions that cross it several times.
pub const LONG: &str = "entire-cli/df93cd9c-8436-49e5-af80-61126ae55a83.jsonl";
pub const OTHER: &str = "entire-cli/67d765b5-4286-4ec5-b051-950466e186f0.jsonl";

pub const PINS: &[(usize, &str)] = &[
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
pub const BINDING: Choice = Choice {
    model: "claude-opus-5-5",
    thinking: r#"{"type":"adaptive"}"#,
    pins: PINS,
};

/// Has no compaction of its own.
pub const OLDER: Choice = Choice {
    model: "claude-opus-4-5",
    thinking: r#"{"type":"enabled","budget_tokens":2000}"#,
    pins: PINS,
};

/// The course of a conversation.
pub struct TestRun {
    pub seen: Vec<Seen>,
    pub received: Vec<Received>,
    /// The number of summaries swapped in, by the way in which they were made.
    pub swaps: BTreeMap<String, usize>,
    /// The provider's count, the summaries included.
    pub account: Account,
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

/// Through the gateway, in a window of [`WINDOW`]. The client goes on when summaries are there.
pub async fn through(recorded: &Recorded, choice: Choice) -> TestRun {
    let engine = Arc::new(MemoryEngine::new([7; 32], Limits::default()));
    kept_by(engine, recorded, choice, None).await
}

/// Through a gateway with this store. With a latency model, the client goes on at once.
pub async fn kept_by(
    engine: Arc<dyn Engine>,
    recorded: &Recorded,
    choice: Choice,
    latency: Option<Latency>,
) -> TestRun {
    let (provider, kept) = provider(recorded, WINDOW, latency).await;
    let mut config = Config {
        upstream: Upstreams {
            anthropic: provider.url(),
            openai: provider.url(),
            ..Upstreams::default()
        },
        ..Config::default()
    };
    config.policy.window = Some(Tokens::new(WINDOW));
    let gateway = Gateway {
        config,
        engine,
        clock: Arc::new(now),
    };
    let gateway = gateway::serve(listener().await, gateway).expect("a gateway");
    let place = Setup {
        url: gateway.url(),
        gateway: latency.is_none().then_some(&gateway),
        keeper: Keeper::Gateway,
    };
    let seen = hold(&place, recorded, choice).await;
    let swaps = swaps(&gateway);
    gateway.shutdown().await;
    let account = provider.provider().total();
    provider.shutdown().await;
    TestRun {
        seen,
        received: kept.requests(),
        swaps,
        account,
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

/// Without a gateway, in a window that holds all of it.
pub async fn direct(recorded: &Recorded, choice: Choice) -> TestRun {
    without(recorded, choice, 2_000_000, Keeper::Gateway).await
}

/// Without a gateway, in a window of [`WINDOW`]: the client stops and summarises for itself.
pub async fn alone(recorded: &Recorded, choice: Choice) -> TestRun {
    let keeper = Keeper::Client { window: WINDOW };
    without(recorded, choice, WINDOW, keeper).await
}

async fn without(recorded: &Recorded, choice: Choice, window: u64, keeper: Keeper) -> TestRun {
    let (provider, kept) = provider(recorded, window, None).await;
    let place = Setup {
        url: provider.url(),
        gateway: None,
        keeper,
    };
    let seen = hold(&place, recorded, choice).await;
    let account = provider.provider().total();
    provider.shutdown().await;
    TestRun {
        seen,
        received: kept.requests(),
        swaps: BTreeMap::new(),
        account,
    }
}
