//! Measures one conversation of one client over all routes in turn.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::client::Client;
use crate::hops::Hop;
use crate::{Failed, bodies, hops};

const REQUESTS: usize = 200;
const WARM: usize = 10;
/// First requests of conversations.
const FIRST: usize = 60;

/// A route from the client to the provider.
struct Way<'h> {
    name: &'static str,
    url: String,
    /// The proxy process.
    hop: Option<&'h Hop>,
    /// The process's CPU time before the first measured request, and at the end.
    ran: [Duration; 2],
    times: Vec<Duration>,
    by_word: BTreeMap<String, Vec<Duration>>,
}

pub async fn overhead() -> Result<(), Failed> {
    let Some(turns) = bodies::session()? else {
        return Ok(());
    };
    let large = bodies::requests(&turns, REQUESTS);
    let small = bodies::short(REQUESTS);
    let mean = large.iter().map(Bytes::len).sum::<usize>() / large.len().max(1);
    println!(
        "\n{} requests of {} kB on average, growing by a turn",
        large.len(),
        mean / 1000
    );
    compare(&large, &["--window", "10000000"]).await?;
    println!("\nthe same over a boundary: window 128,000, extractive");
    compare(&large, &["--window", "128000", "--route", "extractive"]).await?;
    let mean = small.iter().map(Bytes::len).sum::<usize>() / small.len().max(1);
    println!(
        "\n{} requests of {mean} bytes on average, conversations of twelve exchanges",
        small.len()
    );
    compare(&small, &["--window", "10000000"]).await?;
    println!("\nfirst requests of conversations, 0.8 MB each: nothing of them is known yet");
    compare(&bodies::first(&turns, FIRST), &["--window", "10000000"]).await
}

async fn compare(requests: &[Bytes], options: &[&str]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let upstream = hops::role(&["upstream"])?;
    let proxy = hops::role(&["proxy", &upstream.url])?;
    let nginx = hops::nginx(&upstream.url, folder.path())?;
    let log = folder.path().join("log.jsonl");
    let to = Stdio::from(std::fs::File::create(&log)?);
    let mut logging = vec!["--log", "json"];
    logging.extend(options);
    let ours = hops::gateway_logging(&upstream.url, folder.path(), &logging, to)?;
    let mut ways = vec![
        Way::new("direct", &upstream.url, None),
        Way::new("hyper proxy", &proxy.url, Some(&proxy)),
        Way::new("ebbtide", &ours.url, Some(&ours)),
    ];
    ways.extend(
        nginx
            .as_ref()
            .map(|nginx| Way::new("nginx", &nginx.url, Some(nginx))),
    );
    let client = Client::new();
    for (index, body) in requests.iter().enumerate() {
        let first = index % ways.len();
        ways.rotate_left(first);
        if index == WARM {
            ways.iter_mut().for_each(|way| way.look(0));
        }
        for way in &mut ways {
            let taken = client.send(&way.url, body).await?;
            if index >= WARM {
                way.times.push(taken.time);
                way.by_word.entry(taken.did).or_default().push(taken.time);
            }
        }
    }
    ways.iter_mut().for_each(|way| way.look(1));
    ways.sort_by_key(|way| way.name);
    print(&ways);
    drop(ways);
    drop(ours);
    print_own(&std::fs::read_to_string(log)?);
    Ok(())
}

/// Prints the gateway's own time per request from its log: before forwarding, and at the end of answers.
fn print_own(log: &str) {
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let requests = lines.filter(|line: &Value| line["target"] == "ebbtide::request");
    let lines: Vec<Value> = requests.skip(WARM).collect();
    let of = |name: &str| -> Vec<Duration> {
        let times = lines.iter().filter_map(|line| line[name].as_u64());
        times.map(Duration::from_micros).collect()
    };
    let (own, keeping) = (of("own_us"), of("keeping_us"));
    let both = own.iter().zip(&keeping);
    let both: Vec<Duration> = both.map(|(own, keeping)| *own + *keeping).collect();
    for (name, times) in [
        ("until it is sent", own),
        ("until it is kept", keeping),
        ("both", both),
    ] {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| quantile(&times, share));
        println!("  ebbtide {name:<20} p50 {p50:.3}, p90 {p90:.3}, p99 {p99:.3}");
    }
}

impl<'h> Way<'h> {
    fn new(name: &'static str, url: &str, hop: Option<&'h Hop>) -> Self {
        Self {
            name,
            url: url.to_owned(),
            hop,
            ran: [Duration::ZERO; 2],
            times: Vec::new(),
            by_word: BTreeMap::new(),
        }
    }

    fn look(&mut self, nth: usize) {
        self.ran[nth] = self.hop.map_or(Duration::ZERO, Hop::ran);
    }

    /// The proxy's CPU time per request, in milliseconds.
    fn work(&self) -> f64 {
        let [before, after] = self.ran;
        after.saturating_sub(before).as_secs_f64() * 1e3 / self.times.len().max(1) as f64
    }
}

/// The quantile of sorted times.
pub fn quantile(times: &[Duration], share: f64) -> f64 {
    let mut sorted: Vec<Duration> = times.to_vec();
    sorted.sort();
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, Duration::as_secs_f64) * 1e3
}

fn print(ways: &[Way<'_>]) {
    let bare = ways.iter().find(|way| way.name == "hyper proxy");
    let base = |share| bare.map_or(f64::NAN, |bare| quantile(&bare.times, share));
    println!(
        "{:<12}{:>10}{:>10}{:>10}{:>14}{:>14}{:>10}",
        "ms", "p50", "p90", "p99", "p50 - bare", "p99 - bare", "work"
    );
    for way in ways {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| quantile(&way.times, share));
        println!(
            "{:<12}{p50:>10.3}{p90:>10.3}{p99:>10.3}{:>14.3}{:>14.3}{:>10.3}",
            way.name,
            p50 - base(0.5),
            p99 - base(0.99),
            way.work()
        );
    }
    for way in ways.iter().filter(|way| way.by_word.len() > 1) {
        for (did, times) in &way.by_word {
            println!(
                "  {} {:<28}{:>5} requests, p50 {:.3}, most {:.3}",
                way.name,
                did,
                times.len(),
                quantile(times, 0.5),
                quantile(times, 1.0)
            );
        }
    }
}
