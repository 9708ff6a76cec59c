//! One conversation, one client, all ways in turn.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use crate::client::Client;
use crate::{Failed, bodies, hops};

const REQUESTS: usize = 200;
const WARM: usize = 10;

/// One way from the client to the provider.
struct Way {
    name: &'static str,
    url: String,
    times: Vec<Duration>,
    by_word: BTreeMap<String, Vec<Duration>>,
}

pub async fn overhead() -> Result<(), Failed> {
    let Some(turns) = bodies::session()? else {
        return Ok(());
    };
    let large = bodies::requests(&turns, REQUESTS);
    let small = bodies::requests(&turns[..turns.len().min(12)], REQUESTS);
    let mean = large.iter().map(Bytes::len).sum::<usize>() / large.len().max(1);
    println!(
        "\n{} requests of {} kB on average, growing by a turn",
        large.len(),
        mean / 1000
    );
    compare(&large, &["--window", "10000000"]).await?;
    println!("\nthe same over a boundary: window 128,000, extractive");
    compare(&large, &["--window", "128000", "--route", "extractive"]).await?;
    let again: Vec<Bytes> = small.iter().cycle().take(REQUESTS).cloned().collect();
    let mean = again.iter().map(Bytes::len).sum::<usize>() / again.len().max(1);
    println!("\n{} requests of {} bytes on average", again.len(), mean);
    compare(&again, &["--window", "10000000"]).await
}

async fn compare(requests: &[Bytes], options: &[&str]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let upstream = hops::role(&["upstream"])?;
    let proxy = hops::role(&["proxy", &upstream.url])?;
    let nginx = hops::nginx(&upstream.url, folder.path())?;
    let ours = hops::gateway(&upstream.url, folder.path(), options)?;
    let mut ways = vec![
        Way::new("direct", &upstream.url),
        Way::new("hyper proxy", &proxy.url),
        Way::new("ebbtide", &ours.url),
    ];
    ways.extend(nginx.as_ref().map(|nginx| Way::new("nginx", &nginx.url)));
    let client = Client::new();
    for (index, body) in requests.iter().enumerate() {
        let first = index % ways.len();
        ways.rotate_left(first);
        for way in &mut ways {
            let taken = client.send(&way.url, body).await?;
            if index >= WARM {
                way.times.push(taken.time);
                way.by_word.entry(taken.did).or_default().push(taken.time);
            }
        }
    }
    ways.sort_by_key(|way| way.name);
    print(&ways);
    Ok(())
}

impl Way {
    fn new(name: &'static str, url: &str) -> Self {
        Self {
            name,
            url: url.to_owned(),
            times: Vec::new(),
            by_word: BTreeMap::new(),
        }
    }
}

/// The value below which this share of the times lies.
pub fn quantile(times: &[Duration], share: f64) -> f64 {
    let mut sorted: Vec<Duration> = times.to_vec();
    sorted.sort();
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, Duration::as_secs_f64) * 1e3
}

fn print(ways: &[Way]) {
    let bare = ways.iter().find(|way| way.name == "hyper proxy");
    let base = |share| bare.map_or(f64::NAN, |bare| quantile(&bare.times, share));
    println!(
        "{:<12}{:>10}{:>10}{:>10}{:>14}{:>14}",
        "ms", "p50", "p90", "p99", "p50 - bare", "p99 - bare"
    );
    for way in ways {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| quantile(&way.times, share));
        println!(
            "{:<12}{p50:>10.3}{p90:>10.3}{p99:>10.3}{:>14.3}{:>14.3}",
            way.name,
            p50 - base(0.5),
            p99 - base(0.99)
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
