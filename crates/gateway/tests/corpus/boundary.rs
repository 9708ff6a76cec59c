//! The time of a boundary: the gateway's own, with a store on disk and a latency model.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use history::Limits;
use history_sqlite::Sqlite;
use serde_json::Value;
use sim::Latency;

use crate::locate::corpus;
use crate::session::{Recorded, read};
use crate::stage::{BINDING, LONG, OLDER, OTHER, kept_by};
use crate::talk::{Choice, Seen};

/// Fast enough for a test, and slow enough that whoever waited for a summary would be seen to: one of a
/// thousand tokens takes a sixth of a second.
const LATENCY: Latency = Latency {
    base: Duration::from_millis(5),
    prefill: 1_000_000.0,
    prefill_cached: 20_000_000.0,
    decode: 6_000.0,
};

/// The time that a boundary may take above a usual request.
const BUDGET: Duration = Duration::from_millis(1);

/// So many usual requests before one at a boundary, and as many behind it, are what it is compared with:
/// they are of about its size.
const BESIDE: usize = 6;

/// The gateway's log.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a lock").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    /// The gateway's own time for each request, from its last byte to its sending.
    fn own(&self) -> Vec<Duration> {
        let log = String::from_utf8(self.0.lock().expect("a lock").clone()).expect("text");
        let lines = log
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let lines = lines.filter(|line: &Value| line["target"] == "ebbtide::request");
        lines
            .map(|line| Duration::from_micros(line["own_us"].as_u64().expect("a time")))
            .collect()
    }
}

/// The measurements of one request.
#[derive(Debug)]
struct Measured {
    seen: Seen,
    /// In the gateway.
    own: Duration,
    /// At the client, without what the provider took for a request of its size.
    beyond: Duration,
}

impl Measured {
    fn is_usual(&self) -> bool {
        !self.seen.did("swapped") && !self.seen.did("preparing")
    }
}

fn quantile(mut times: Vec<Duration>, share: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * share / 100]
}

/// The distance of each swap above the median of the usual requests beside it.
fn above(all: &[Measured], time: fn(&Measured) -> Duration) -> Vec<Duration> {
    let swaps = (0..all.len()).filter(|&at| all[at].seen.did("swapped"));
    swaps
        .map(|at| {
            let usual = |it: &&Measured| it.is_usual();
            let before = all[..at].iter().rev().filter(usual).take(BESIDE);
            let behind = all[at..].iter().filter(usual).take(BESIDE);
            let beside = before.chain(behind).map(time).collect();
            time(&all[at]).saturating_sub(quantile(beside, 50))
        })
        .collect()
}

/// No swap takes more than the budget above the usual requests beside it. What else the machine does is
/// noise that only adds, so the best of the swaps tells, beside the spread that usual requests have.
fn is_within_budget(name: &str, all: &[Measured], time: fn(&Measured) -> Duration) -> bool {
    let usual = || all.iter().filter(|it| it.is_usual()).map(time).collect();
    let [p50, p90] = [50, 90].map(|share| quantile(usual(), share));
    let above = above(all, time);
    println!("{name}: usual {p50:.2?}, p90 {p90:.2?}; swaps above those beside them: {above:.2?}");
    let best = above.iter().min().expect("a swap");
    *best <= BUDGET + (p90 - p50)
}

/// Beyond what noise adds, nobody waits for a model: a summary takes longer than this.
const FAR: Duration = Duration::from_millis(100);

/// The most runs of one session: noise over a whole run is noise as well.
const RUNS: usize = 3;

async fn check(file: &str, choice: Choice) {
    let Some(corpus) = corpus() else { return };
    let mut held = false;
    for _ in 0..RUNS {
        let all = run(&read(&corpus, file), choice).await;
        let own = is_within_budget("own time", &all, |it| it.own);
        let beyond = is_within_budget("beyond the provider's time", &all, |it| it.beyond);
        held = own && beyond;
        if held {
            break;
        }
    }
    assert!(held, "the swaps of {RUNS} runs were over the budget");
}

/// Runs a session, in which nobody may wait for a model.
async fn run(recorded: &Recorded, choice: Choice) -> Vec<Measured> {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Sqlite::open(&folder.path().join("history.sqlite"), Limits::NONE);
    let log = Kept::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_writer(move || writer.clone())
        .finish();
    let logging = tracing::subscriber::set_default(subscriber);
    let engine = Arc::new(store.expect("a store"));
    let outcome = kept_by(engine, recorded, choice, Some(LATENCY)).await;
    drop(logging);
    let own = log.own();
    assert_eq!(own.len(), outcome.seen.len(), "each request is logged once");
    let all: Vec<Measured> = outcome.seen.into_iter().zip(own).map(measured).collect();
    let waited = |it: &Measured| it.seen.did("waited");
    assert!(!all.iter().any(waited), "{all:?}");
    let most = all.iter().filter(|it| it.is_usual()).map(|it| it.own).max();
    let most = most.expect("a usual request");
    for boundary in all.iter().filter(|it| !it.is_usual()) {
        assert!(boundary.own <= most + FAR, "{boundary:?}");
    }
    all
}

fn measured((seen, own): (Seen, Duration)) -> Measured {
    let provider = LATENCY.first(seen.uncached(), seen.read) + LATENCY.writing(seen.output);
    let beyond = seen.took.saturating_sub(provider);
    Measured { seen, own, beyond }
}

#[tokio::test]
async fn nobody_waits_for_the_providers_own_block() {
    check(LONG, BINDING).await;
}

#[tokio::test]
async fn nobody_waits_for_a_readable_summary() {
    check(OTHER, OLDER).await;
}
