//! Measures answers while `ebbtide purge` deletes a store of a gigabyte beside the gateway.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::client::Client;
use crate::measure::quantile;
use crate::{Failed, bodies, hops};

/// The store's size before it is purged.
const BYTES: u64 = 1_000_000_000;
/// The size of a conversation.
const EACH: usize = 800_000;
/// Conversations between two looks at the store's size.
const LOOK: usize = 50;
/// Between two requests.
const PAUSE: Duration = Duration::from_millis(20);
/// The time for which answers are measured before the purge.
const QUIET: Duration = Duration::from_secs(10);

/// Times of answers, over a bare proxy and over the gateway.
type Times = [Vec<Duration>; 2];

pub async fn purge() -> Result<(), Failed> {
    let Some(turns) = bodies::session()? else {
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let upstream = hops::role(&["upstream"])?;
    let proxy = hops::role(&["proxy", &upstream.url])?;
    let ours = hops::gateway(&upstream.url, folder.path(), &["--window", "10000000"])?;
    let urls = [&*proxy.url, &*ours.url];
    let client = Client::new();
    fill(
        &client,
        &ours.url,
        &bodies::messages(&turns, EACH),
        folder.path(),
    )
    .await?;
    println!(
        "\nanswers while `ebbtide purge --all` deletes {} MB beside the gateway\n{:<24}{:>9}{:>10}{:>10}{:>10}",
        size(folder.path())? / 1_000_000,
        "ms",
        "answers",
        "p50",
        "p99",
        "most"
    );
    let until = Instant::now() + QUIET;
    let quiet = talk(&client, urls, || Ok(Instant::now() < until)).await?;
    print(["hyper proxy, before", "ebbtide, before"], &quiet);
    let began = Instant::now();
    let mut purging = Command::new(env!("CARGO_BIN_EXE_ebbtide"))
        .args(["purge", "--all", "--yes", "--store"])
        .arg(folder.path().join("history.sqlite"))
        .stdout(Stdio::piped())
        .spawn()?;
    let meanwhile = talk(&client, urls, || Ok(purging.try_wait()?.is_none())).await?;
    print(["hyper proxy, meanwhile", "ebbtide, meanwhile"], &meanwhile);
    let (mut told, took) = (String::new(), began.elapsed());
    if let Some(mut out) = purging.stdout.take() {
        out.read_to_string(&mut told)?;
    }
    if !purging.wait()?.success() {
        return Err("the purge failed".into());
    }
    println!(
        "{} in {:.1} s; {} MB remain",
        told.trim(),
        took.as_secs_f64(),
        size(folder.path())? / 1_000_000
    );
    Ok(())
}

/// Sends conversations until the store is large.
async fn fill(
    client: &Client,
    url: &str,
    messages: &[String],
    folder: &Path,
) -> Result<(), Failed> {
    let list = messages.join(",");
    let mut conversation = 0;
    while size(folder)? < BYTES {
        for _ in 0..LOOK {
            conversation += 1;
            let first = format!("conversation {conversation}");
            client.send(url, &body(&first, &list)).await?;
        }
    }
    Ok(())
}

/// Sends short conversations over both ways for as long as is said.
async fn talk(
    client: &Client,
    urls: [&str; 2],
    mut goes_on: impl FnMut() -> Result<bool, Failed>,
) -> Result<Times, Failed> {
    let mut times = Times::default();
    let reply = r#"{"role":"assistant","content":"done"},{"role":"user","content":"and then?"}"#;
    let mut sent = 0;
    while goes_on()? {
        sent += 1;
        let body = body(&format!("short conversation {sent}"), reply);
        for (url, times) in urls.into_iter().zip(&mut times) {
            times.push(client.send(url, &body).await?.time);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(times)
}

fn body(first: &str, more: &str) -> Bytes {
    let model = bodies::MODEL;
    Bytes::from(format!(
        r#"{{"model":"{model}","max_tokens":1024,"messages":[{{"role":"user","content":"{first}"}},{more}]}}"#
    ))
}

/// The size of the store with its log.
fn size(folder: &Path) -> Result<u64, Failed> {
    let files = std::fs::read_dir(folder)?.map(|entry| Ok::<_, Failed>(entry?.metadata()?.len()));
    files.sum()
}

fn print(names: [&str; 2], times: &Times) {
    for (name, times) in names.iter().zip(times) {
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| quantile(times, share));
        println!(
            "{name:<24}{:>9}{p50:>10.2}{p99:>10.2}{most:>10.2}",
            times.len()
        );
    }
}
