//! Programs, run.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod agents;
mod annealing;
mod commands;
mod compaction;
mod examples;
mod models;
mod running;
mod served;
mod tools;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use driver::{Control, Driver, Network, Report, Surroundings};
use jiff::Timestamp;
use plumb::check::check;
use plumb::diagnostic::{Colour, render};
use plumb::modules::BuiltIn;
use plumb::value::Value;
use tempfile::TempDir;

/// A driver for a program whose files lie in a folder.
#[track_caller]
fn driver(text: &str, folder: &Path) -> Driver {
    let checked = check("test.plumb", text, &BuiltIn);
    let shown = render(&checked.diagnostics, &checked.sources, Colour::Plain, 100);
    assert!(checked.is_sound(), "{shown}");
    let clock = Arc::new(|| Timestamp::from_second(1_800_000_000).unwrap());
    Driver::new(checked, Surroundings::new(folder, clock))
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Puts these messages into the first input of a network, each when it has come to rest from the one before,
/// and says what came of them.
async fn ran(network: &mut Network, messages: Vec<Value>) -> Vec<Report> {
    let mut reports = Vec::new();
    for message in messages {
        network.push(0, message).unwrap();
        while let Some(report) = network.next_of_work().await {
            reports.push(report);
        }
    }
    network.close(0);
    while let Some(report) = network.next().await {
        reports.push(report);
    }
    reports
}

/// One line a report: outputs, what went wrong, and with `log` what was said to whom.
fn lines(reports: &[Report], log: Shown) -> Vec<String> {
    let line = |report: &Report| match report {
        Report::Output { port: 0, message } => Some(message.to_string()),
        Report::Output { port, message } => Some(format!("{port}: {message}")),
        Report::Fault(fault) => Some(format!("fault {}: {fault}", fault.kind.word())),
        Report::Warning(fault) => Some(format!("warning: {fault}")),
        Report::Problem(problem) => Some(format!("problem {}: {problem}", problem.why.word())),
        Report::Ended { .. } => None,
        Report::Control { .. } if log == Shown::Results => None,
        Report::Control { at, control } => match control {
            Control::Asked { .. } => Some(format!("{at} <")),
            Control::Answered { .. } => Some(format!("{at} >")),
            Control::Again { .. } => Some(format!("{at} again")),
            Control::Command { name } => Some(format!("{at} < {name}")),
            Control::Acknowledged { name } => Some(format!("{at} > {name}")),
            Control::Called { tool } => Some(format!("{at} calls {tool}")),
            Control::Failed { code } => Some(format!("{at} failed: {code}")),
            Control::Restarted { attempt, most, .. } => Some(format!(
                "{at} starts its program again, {attempt} of {most}"
            )),
            Control::Telemetry(record) => {
                let kind = record.get("kind").and_then(Value::as_text).unwrap();
                Some(format!("{at} tells {kind}"))
            }
        },
    };
    reports.iter().filter_map(line).collect()
}

/// The reports to show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Outputs and what went wrong.
    Results,
    /// And who was told what.
    All,
}

/// Runs `main` of a program on these messages, and shows what comes of it.
#[track_caller]
fn check_run(text: &str, files: &[(&str, &str)], messages: &str, shown: Shown, expected: &[&str]) {
    let folder = folder(files);
    let driver = driver(text, folder.path());
    let mut network = driver.network("main").unwrap();
    let messages: Vec<Value> = Value::parse_all(messages).map(Result::unwrap).collect();
    let reports = block_on(ran(&mut network, messages));
    assert_eq!(lines(&reports, shown), expected);
}

/// The same with the simulated provider: time passes, since sockets are waited for.
#[track_caller]
fn check_sim(text: &str, messages: &str, shown: Shown, expected: &[&str]) {
    let folder = folder(&[]);
    let driver = driver(text, folder.path());
    let messages: Vec<Value> = Value::parse_all(messages).map(Result::unwrap).collect();
    assert_eq!(
        lines(&block_on_sockets(run_main(&driver, messages)), shown),
        expected
    );
}

/// Runs `main` and shuts down.
async fn run_main(driver: &Driver, messages: Vec<Value>) -> Vec<Report> {
    let mut network = driver.network("main").unwrap();
    let reports = ran(&mut network, messages).await;
    driver.shutdown().await;
    reports
}

fn block_on_sockets<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(work)
}

/// Runs something in a time that passes only while nothing else can be done.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(work)
}
