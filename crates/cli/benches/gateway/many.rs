//! Measures a thousand concurrent conversations.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;

use crate::client::Client;
use crate::hops::Hop;
use crate::measure::quantile;
use crate::{Failed, bodies, hops};

const CONVERSATIONS: usize = 1000;
const ROUNDS: usize = 3;
const AT_ONCE: usize = 64;
/// About 50k tokens.
const BYTES: usize = 200_000;

pub async fn many() -> Result<(), Failed> {
    let Some(turns) = bodies::session()? else {
        return Ok(());
    };
    let messages = Arc::new(bodies::messages(&turns, BYTES));
    println!(
        "\n{CONVERSATIONS} conversations of {} kB, {ROUNDS} requests each, {AT_ONCE} at a time",
        messages.iter().map(String::len).sum::<usize>() / 1000
    );
    let folder = tempfile::tempdir()?;
    let upstream = hops::role(&["upstream"])?;
    let proxy = hops::role(&["proxy", &upstream.url])?;
    let ours = hops::gateway(&upstream.url, folder.path(), &["--window", "10000000"])?;
    println!(
        "{:<22}{:>12}{:>10}{:>10}{:>10}",
        "", "requests/s", "p50 ms", "p99 ms", "work ms"
    );
    load("hyper proxy", &proxy, &messages).await?;
    let before = resident(ours.id());
    load("ebbtide", &ours, &messages).await?;
    let after = resident(ours.id());
    println!(
        "memory of ebbtide: {} MB before, {} MB after; {} kB a conversation, buffers included",
        before / 1000,
        after / 1000,
        after.saturating_sub(before) / CONVERSATIONS
    );
    let store = std::fs::metadata(folder.path().join("history.sqlite"))?.len();
    println!("its store: {} MB", store / 1_000_000);
    Ok(())
}

async fn load(name: &str, hop: &Hop, messages: &Arc<Vec<String>>) -> Result<(), Failed> {
    let client = Client::new();
    let mut all = Vec::new();
    let (began, ran) = (Instant::now(), hop.ran());
    for round in 0..ROUNDS {
        let sent = (0..CONVERSATIONS).map(|conversation| {
            let (client, messages) = (client.clone(), Arc::clone(messages));
            async move {
                client
                    .send(&hop.url, &body(conversation, round, &messages))
                    .await
            }
        });
        let (start, before) = (Instant::now(), hop.ran());
        let mut times = Vec::new();
        let mut sent = stream::iter(sent).buffer_unordered(AT_ONCE);
        while let Some(taken) = sent.next().await {
            times.push(taken?.time);
        }
        let work = hop.ran().saturating_sub(before);
        print(
            &format!("{name}, round {}", round + 1),
            &times,
            [start.elapsed(), work],
        );
        all.extend(times);
    }
    let work = hop.ran().saturating_sub(ran);
    print(name, &all, [began.elapsed(), work]);
    Ok(())
}

fn print(name: &str, times: &[Duration], [wall, work]: [Duration; 2]) {
    println!(
        "{name:<22}{:>12.0}{:>10.2}{:>10.2}{:>10.2}",
        times.len() as f64 / wall.as_secs_f64(),
        quantile(times, 0.5),
        quantile(times, 0.99),
        work.as_secs_f64() * 1e3 / times.len().max(1) as f64
    );
}

/// The conversation's request in this round. Each round adds two messages.
fn body(conversation: usize, round: usize, messages: &[String]) -> Bytes {
    let len = messages.len().saturating_sub(2 * (ROUNDS - 1 - round));
    let own = format!(r#"{{"role":"user","content":"conversation {conversation}"}}"#);
    let list = std::iter::once(own.as_str()).chain(messages.iter().take(len).map(String::as_str));
    let list: Vec<&str> = list.collect();
    let model = bodies::MODEL;
    Bytes::from(format!(
        r#"{{"model":"{model}","max_tokens":1024,"messages":[{}]}}"#,
        list.join(",")
    ))
}

/// The resident memory of a process in kB.
fn resident(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok())
        .unwrap_or(0)
}
