//! Tests of the whole demo, with a small window and a fast clock, and of its parts.

use std::fs;
use std::path::Path;

use context::Tokens;
use conversation::homunculus::hosted::StrategyProgram;
use gateway::config::RouteChoice;
use plumb::modules::BuiltIn;

use serde_json::Value;

use super::audit::examine;
use super::http::KEY;
use super::report::Report;
use super::script::Script;
use super::servers::Servers;
use super::text::lines;
use super::{Plan, Screen, Tree, run};
use crate::command::doctor::http::ask;
use crate::console::Console;
use crate::environment::{Colour, Destination, Environment, Progress, clock};
use crate::failure::Failure;

/// A folder with so many files of some definitions each.
fn folder(files: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in 0..files {
        let below = folder.path().join(format!("part{}", file / 4));
        fs::create_dir_all(&below).expect("a folder");
        let text: String = (0..25)
            .map(|line| format!("/// Adds {line} to what is given.\nfn add_{file}_{line}(x: u32) -> u32 {{\n    x + {line}\n}}\n\n"))
            .collect();
        fs::write(below.join(format!("file{file}.rs")), text).expect("a file");
    }
    folder
}

pub fn environment() -> Environment {
    Environment {
        now: jiff::Timestamp::UNIX_EPOCH,
        session_folders: Vec::new(),
        width: 80,
        destination: Destination::Data,
        colour_out: Colour::Plain,
        colour_err: Colour::Plain,
        progress: Progress::Silent,
        config_folder: None,
        data_folder: None,
        client_folders: None,
        settings: Vec::new(),
    }
}

fn plan(folder: &Path) -> Plan {
    Plan {
        folder: folder.to_owned(),
        model: "claude-opus-5-5".to_owned(),
        window: Tokens::new(32_000),
        route: RouteChoice::Auto,
        strategy: StrategyProgram::default_one(),
        others: Vec::new(),
        speed: 200.0,
        boundaries: 3,
        keep: None,
    }
}

async fn played(plan: &Plan) -> Result<(Report, Servers), Failure> {
    let mut console = Console::open(&environment());
    let mut screen = Screen::new(&mut console, Progress::Silent, plan);
    run(plan, &clock(), &mut screen).await
}

/// The dashboard's cost, and its estimate of the cost without the gateway.
async fn shown(servers: &Servers) -> [f64; 2] {
    let url = format!("{}/ebbtide/api/overview", servers.url());
    let answer = ask(&url, Some(KEY)).await.expect("it answers");
    let overview: Value = serde_json::from_slice(&answer).expect("JSON");
    ["cost", "cost_without"].map(|name| overview["totals"][name].as_f64().expect("a cost"))
}

/// Plays it over this route, under this strategy, and checks what must hold on any.
async fn check(route: RouteChoice, strategy: &str) {
    let folder = folder(48);
    let plan = Plan {
        route,
        strategy: StrategyProgram::shipped(strategy).expect("a strategy"),
        ..plan(folder.path())
    };
    let (report, servers) = played(&plan).await.expect("it plays");
    let [cost, cost_without] = shown(&servers).await;
    servers.shutdown().await;
    let (with, without) = (&report.with, &report.without);
    assert!(
        (cost / with.used.cost - 1.0).abs() < 0.01,
        "{cost}: {report:#?}"
    );
    // The estimate, against the account of the same tasks without the gateway.
    let own = without.boundaries;
    assert_eq!(without.requests, with.requests + own, "{report:#?}");
    assert!(
        (cost_without / without.used.cost - 1.0).abs() < 0.05,
        "{cost_without}: {report:#?}"
    );
    for side in [with, without] {
        assert!(side.boundaries >= 2, "{report:#?}");
        assert_eq!(side.refused, 0);
        assert_eq!(side.prefix.changed_bytes, 0, "{report:#?}");
        assert!(side.prefix.pairs > 20);
        assert!(side.used.peak_pressure <= 1.0);
    }
    assert!(with.boundaries >= 3, "{report:#?}");
    assert_eq!(with.pins.set, 4);
    assert_eq!(with.pins.requests, with.requests);
    assert_eq!(with.pins.intact, with.requests, "{report:#?}");
    assert!(without.pins.intact < without.requests);
    // A summary takes seconds to write; the user does not wait for it.
    assert!(without.waits.longest_seconds > 10.0, "{report:#?}");
    assert!(with.waits.longest_seconds < 5.0, "{report:#?}");
    let shares = [with, without].map(|side| side.used.cache_share_between);
    let [ours, theirs] = shares;
    assert!(ours > theirs - 0.03, "{shares:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn over_native_blocks() {
    check(RouteChoice::Auto, "prepared").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_summaries_in_words() {
    check(RouteChoice::Readable, "prepared").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_another_strategy() {
    check(RouteChoice::Auto, "thrifty").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_waits_is_seen_to_wait() {
    let folder = folder(48);
    let plan = Plan {
        strategy: StrategyProgram::shipped("stop_the_world").expect("a strategy"),
        ..plan(folder.path())
    };
    let (report, servers) = played(&plan).await.expect("it plays");
    servers.shutdown().await;
    let longest = report.with.waits.longest_seconds;
    assert!(longest > 10.0, "{report:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strategy_that_fails_is_told() {
    let folder = folder(48);
    let text = "let main : (!json, !json) -> !json = plumb(answers, reports, commands) {
        answers ; discard
        reports ; map({ drop_to: 1 / 0 }) ; commands
    }";
    let plan = Plan {
        strategy: StrategyProgram::new("mine.plumb", text, &BuiltIn).expect("a strategy"),
        ..plan(folder.path())
    };
    let (report, servers) = played(&plan).await.expect("it plays");
    servers.shutdown().await;
    assert!(report.strategy_failed, "{report:#?}");
    let told = lines(&report, 200).join(" ");
    assert!(
        told.contains("The strategy mine.plumb failed, and `prepared` replaced it"),
        "{told}"
    );
    assert!(report.with.boundaries >= 3, "{report:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_is_what_was_received() {
    let folder = folder(48);
    let kept = tempfile::tempdir().expect("a temporary folder");
    let plan = Plan {
        keep: Some(kept.path().to_owned()),
        ..plan(folder.path())
    };
    let (report, servers) = played(&plan).await.expect("it plays");
    servers.shutdown().await;
    let log = fs::read(kept.path().join("without-requests.jsonl")).expect("a log");
    let found = examine(&log, &[], &[]).expect("a log");
    assert_eq!(found.requests, report.without.requests);
    let session = fs::read(kept.path().join("with-session.json")).expect("a session");
    let counter = tokens::counter_for(&plan.model);
    let document = wire::session::load(&session, "kept", &*counter).expect("a session");
    let session = document.sessions.first().expect("one session");
    assert_eq!(session.problems, []);
    assert_eq!(session.turns.len(), 2 * report.with.requests);
}

#[tokio::test]
async fn a_small_folder_is_refused_with_what_was_found() {
    let folder = folder(1);
    let failure = played(&plan(folder.path()))
        .await
        .err()
        .expect("too little");
    assert!(
        matches!(failure, Failure::TooLittleText { found_files: 1, .. }),
        "{failure}"
    );
}

#[test]
fn the_same_files_are_the_same_script() {
    let folder = folder(6);
    let tree = Tree::read(folder.path()).expect("a tree");
    let areas: Vec<_> = tree.areas().collect();
    let tasks = || {
        let mut script = Script::new(&tree);
        let mut tasks = vec![script.greet()];
        tasks.extend(areas.iter().map(|area| script.review(area, 1)));
        tasks.push(script.close());
        tasks
    };
    let [greeting, first, second, closing] = &tasks()[..] else {
        panic!("two areas of four and two files");
    };
    assert_eq!(tasks(), tasks());
    assert_eq!((greeting.pins.len(), second.pins.len()), (2, 1));
    // Four files, each of 125 lines in three parts and a search, then the report.
    assert_eq!(first.steps.len(), 4 * 4 + 1);
    assert!(closing.steps.iter().flatten().any(|say| {
        matches!(say, sim::Say::Text(text) if text.contains("part0/file0.rs:2: add_0_0 has 5 lines"))
    }));
}

#[test]
fn binary_and_generated_files_are_left_out() {
    let folder = folder(1);
    fs::write(folder.path().join("image.png"), [0x89, 0x50, 0xff, 0]).expect("a file");
    fs::write(folder.path().join("Cargo.lock"), "[[package]]").expect("a file");
    fs::create_dir(folder.path().join("target")).expect("a folder");
    fs::write(folder.path().join("target/out.rs"), "fn out() {}").expect("a file");
    let tree = Tree::read(folder.path()).expect("a tree");
    assert_eq!(tree.files.len(), 1);
}
