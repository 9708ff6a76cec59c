//! Benchmarks the gateway's overhead against a bare hyper proxy and nginx, on loopback, in one run.
//!
//! Every hop is a separate process. One client sends each body over all routes in turn, so that other
//! load on the machine affects them equally. The conversation is a recorded session with about 0.8 MB per
//! request, which grows by one turn per request.
//!
//! `cargo bench -p ebbtide-cli --bench gateway`; add `-- overhead`, `-- streams`, `-- boundary`, `-- many` or
//! `-- purge` for one part.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a bench reads the clock and its input and prints what it measured"
)]
#![allow(missing_docs, reason = "a bench has no public interface")]

mod bodies;
mod boundary;
mod client;
mod hops;
mod many;
mod measure;
mod purge;
mod streams;

use std::process::ExitCode;

/// The names of the parts.
const PARTS: [&str; 5] = ["overhead", "streams", "boundary", "many", "purge"];

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let role = arguments.iter().map(String::as_str).collect::<Vec<_>>();
    let done = match role.as_slice() {
        ["upstream"] => hops::upstream(),
        ["proxy", to] => hops::proxy(to),
        ["events"] => streams::provider(),
        ["provider"] => hops::provider(boundary::WINDOW, boundary::LATENCY),
        words => run(words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<(), Failed> {
    let named = words.iter().any(|word| PARTS.contains(word));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for part in PARTS {
        if named && !words.contains(&part) {
            continue;
        }
        match part {
            "overhead" => runtime.block_on(measure::overhead())?,
            "streams" => runtime.block_on(streams::streams())?,
            "boundary" => runtime.block_on(boundary::boundary())?,
            "many" => runtime.block_on(many::many())?,
            _ => runtime.block_on(purge::purge())?,
        }
    }
    Ok(())
}
