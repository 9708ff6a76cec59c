//! Measures compactions with a latency model: a client, the gateway with its store on disk, and the
//! simulated provider, each a separate process.
//!
//! The gateway logs its own time per request: from the last byte received to the first byte forwarded,
//! with the wait for a summary and the store. The client measures the time beyond the provider's: the
//! time to the end of the answer minus the latency model's time for the reported usage. The resolution of
//! both is a millisecond, like that of the provider's timers.

use std::process::Stdio;
use std::time::Duration;

use context::Tokens;
use serde_json::Value;
use sim::Latency;

use crate::client::Client;
use crate::measure::quantile;
use crate::{Failed, bodies, hops};

/// The window that the conversation crosses.
pub const WINDOW: Tokens = Tokens::new(64_000);

/// About twenty times as fast as large hosted models; a summary of 2,000 tokens still takes a second.
pub const LATENCY: Latency = Latency {
    base: Duration::from_millis(10),
    prefill: 400_000.0,
    prefill_cached: 8_000_000.0,
    decode: 2_000.0,
};

/// The time of an agent's tools between two requests. Answers are short here; without this pause, a
/// conversation would grow by half a window while a summary is written.
const TOOLS: Duration = Duration::from_millis(80);

/// Conversations, each with its own gateway.
const CONVERSATIONS: usize = 4;

/// Usual requests before and after a compaction that it is compared with, each way.
const BESIDE: usize = 6;

/// One request.
struct Sent {
    did: String,
    /// In the gateway.
    own: Duration,
    /// At the client, without what the provider took.
    beyond: Duration,
}

impl Sent {
    fn did(&self, word: &str) -> bool {
        self.did.split(',').any(|did| did.trim() == word)
    }

    fn is_usual(&self) -> bool {
        !self.did("swapped") && !self.did("preparing")
    }
}

pub async fn boundary() -> Result<(), Failed> {
    let Some(turns) = bodies::session()? else {
        return Ok(());
    };
    let requests = bodies::requests(&turns, usize::MAX);
    for route in ["extractive", "readable"] {
        let mut all = Vec::new();
        for _ in 0..CONVERSATIONS {
            all.push(held(&requests, route).await?);
        }
        println!(
            "\n{CONVERSATIONS} conversations of {} requests over a window of {WINDOW}, summaries {route}",
            requests.len()
        );
        print(&all);
    }
    Ok(())
}

/// Runs one conversation through its own gateway.
async fn held(requests: &[bytes::Bytes], route: &str) -> Result<Vec<Sent>, Failed> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log.jsonl");
    let provider = hops::role(&["provider"])?;
    let options = ["--window", "64000", "--log", "json", "--route", route];
    let to = Stdio::from(std::fs::File::create(&log)?);
    let ours = hops::gateway_logging(&provider.url, folder.path(), &options, to)?;
    let client = Client::new();
    let mut sent: Vec<Sent> = Vec::new();
    let mut is_preparing = false;
    for body in requests {
        if is_preparing {
            tokio::time::sleep(TOOLS).await;
        }
        let taken = client.send(&ours.url, body).await?;
        let answer: Value = serde_json::from_slice(&taken.answer)?;
        let usage = |key: &str| answer["usage"][key].as_u64().unwrap_or_default();
        let fresh = usage("input_tokens") + usage("cache_creation_input_tokens");
        let modelled = LATENCY.first(fresh, usage("cache_read_input_tokens"))
            + LATENCY.writing(usage("output_tokens"));
        let now = Sent {
            did: taken.did,
            own: Duration::ZERO,
            beyond: taken.time.saturating_sub(modelled),
        };
        is_preparing = now.did("preparing") || is_preparing && !now.did("swapped");
        sent.push(now);
    }
    drop(ours);
    let log = std::fs::read_to_string(log)?;
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let own: Vec<Duration> = lines
        .filter(|line: &Value| line["target"] == "ebbtide::request")
        .filter_map(|line| line["own_us"].as_u64().map(Duration::from_micros))
        .collect();
    if own.len() != sent.len() {
        return Err(format!("{} requests and {} in the log", sent.len(), own.len()).into());
    }
    for (sent, own) in sent.iter_mut().zip(own) {
        sent.own = own;
    }
    Ok(sent)
}

/// A kind of request, and its test.
type Kind = (&'static str, fn(&Sent) -> bool);

fn print(all: &[Vec<Sent>]) {
    println!(
        "{:<12}{:>9}{:>9}{:>9}{:>9}{:>9}  {:>9}{:>9}",
        "own ms", "requests", "p50", "p90", "p99", "most", "beyond", "p99"
    );
    let kinds: [Kind; 4] = [
        ("usual", Sent::is_usual),
        ("preparing", |sent| sent.did("preparing")),
        ("swapped", |sent| sent.did("swapped")),
        ("waited", |sent| sent.did("waited")),
    ];
    for (name, is) in kinds {
        let of = |what: fn(&Sent) -> Duration| -> Vec<Duration> {
            let sent = all.iter().flatten().filter(|sent| is(sent));
            sent.map(what).collect()
        };
        let (own, beyond) = (of(|sent| sent.own), of(|sent| sent.beyond));
        if own.is_empty() {
            println!("{name:<12}{:>9}", 0);
            continue;
        }
        let [p50, p90, p99, most] = [0.5, 0.9, 0.99, 1.0].map(|share| quantile(&own, share));
        println!(
            "{name:<12}{:>9}{p50:>9.2}{p90:>9.2}{p99:>9.2}{most:>9.2}  {:>9.2}{:>9.2}",
            own.len(),
            quantile(&beyond, 0.5),
            quantile(&beyond, 0.99)
        );
    }
    let mut above: Vec<f64> = all.iter().flat_map(|sent| above(sent)).collect();
    above.sort_by(f64::total_cmp);
    let at = |share: f64| above[((above.len() - 1) as f64 * share) as usize];
    if !above.is_empty() {
        println!(
            "swaps above the median of the {} usual requests beside each: p50 {:+.2} ms, p90 {:+.2}, most {:+.2}",
            2 * BESIDE,
            at(0.5),
            at(0.9),
            at(1.0)
        );
    }
}

/// The extra own time of each swap over its neighboring usual requests, in milliseconds.
fn above(sent: &[Sent]) -> Vec<f64> {
    let swaps = (0..sent.len()).filter(|&at| sent[at].did("swapped"));
    swaps
        .map(|at| {
            let usual = |sent: &&Sent| sent.is_usual();
            let before = sent[..at].iter().rev().filter(usual).take(BESIDE);
            let behind = sent[at..].iter().filter(usual).take(BESIDE);
            let beside: Vec<Duration> = before.chain(behind).map(|sent| sent.own).collect();
            sent[at].own.as_secs_f64() * 1e3 - quantile(&beside, 0.5)
        })
        .collect()
}
