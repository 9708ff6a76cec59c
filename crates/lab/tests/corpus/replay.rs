//! Every session of the corpus under every strategy: nothing is lost, `prepared` never waits and
//! never overflows, and its pins stay.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what fails here fails the test"
)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use context::extract::Room;
use context::{Heuristic, Role, Text, TokenCounter, Tokens, Turn};
use conversation::homunculus::hosted::StrategyProgram;
use lab::compare::{Comparison, StrategyResult};
use lab::replay::{Summarise, Unwatched, run, run_with};
use lab::{Options, RecallMeasure};
use wire::session::{Session, load};

use crate::locate::corpus;

/// A summariser that costs nothing: the end of the newest turn's text, to the budget.
struct Newest;

impl Summarise for Newest {
    fn summarise(&self, old: &[Turn], _: &[Turn], room: Room, _: &dyn TokenCounter) -> Text {
        let text = old.last().map(Turn::readable).unwrap_or_default();
        let characters = usize::try_from(room.summary.get()).unwrap() / 2;
        Text::from(text.chars().take(characters).collect::<String>())
    }
}

pub fn sessions(path: &Path) -> Vec<Session> {
    let bytes = std::fs::read(path).unwrap();
    let title = path.file_stem().unwrap().to_string_lossy();
    match load(&bytes, &title, &Heuristic) {
        Ok(document) => document.sessions,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

pub fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if extensions
                .iter()
                .any(|wanted| path.extension().is_some_and(|found| found == *wanted))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A line that the user wrote, to pin.
fn pin(session: &Session) -> Option<String> {
    session
        .turns
        .iter()
        .filter(|turn| turn.role() == Role::User)
        .flat_map(Turn::texts)
        .flat_map(str::lines)
        .map(str::trim)
        .find(|line| (12..400).contains(&line.len()) && !line.starts_with("#pin"))
        .map(str::to_owned)
}

fn check(session: &Session, window: u64) -> Comparison {
    let options = Options {
        window: Some(Tokens::new(window)),
        pins: pin(session).into_iter().collect(),
        recall: RecallMeasure::Skipped,
        ..Options::default()
    };
    let comparison = run_with(session, &options, (&Newest, &Unwatched), &mut |_| {}).unwrap();
    for outcome in &comparison.strategies {
        let name = &*outcome.strategy;
        let place = format!("{} in {window} under {name}", session.title);
        nothing_is_lost(session, outcome, &place);
        views_are_legal(session, outcome, &place);
        match name {
            "prepared" | "pinning" | "cold_cache" | "thrifty" => prepared(outcome, &place),
            "stop_the_world" => {
                assert_eq!(outcome.fate.dropped + outcome.fate.cleared, 0, "{place}");
                assert_eq!(outcome.pins.intact, outcome.pins.requests, "{place}");
                // Without guards it also waits for summaries that then do not make the view smaller.
                assert!(
                    outcome.simulated.stalls.count >= outcome.boundaries,
                    "{place}"
                );
            }
            "keep_last_n" => {
                assert_eq!(outcome.fate.dropped + outcome.fate.cleared, 0, "{place}");
                // Without guards it also waits for summaries that then do not make the view smaller.
                assert!(
                    outcome.simulated.stalls.count >= outcome.boundaries,
                    "{place}"
                );
            }
            "truncate" | "clear_tool_results" => {
                assert_eq!(outcome.fate.summarised, 0, "{place}");
                assert_eq!(outcome.simulated.stalls.count, 0, "{place}");
            }
            _ => panic!("{place}"),
        }
    }
    comparison
}

fn prepared(outcome: &StrategyResult, place: &str) {
    assert_eq!(outcome.fate.dropped + outcome.fate.cleared, 0, "{place}");
    assert_eq!(outcome.simulated.stalls.count, 0, "{place}");
    assert_eq!(
        outcome.overflows.requests, outcome.overflows.unavoidable,
        "{place}: {:?}",
        outcome.stopped
    );
    assert_eq!(outcome.pins.intact, outcome.pins.requests, "{place}");
}

fn nothing_is_lost(session: &Session, outcome: &StrategyResult, place: &str) {
    let fate = outcome.fate;
    let turns = fate.shown + fate.summarised + fate.cleared + fate.dropped;
    assert_eq!(turns, session.turns.len(), "{place}");
    let requests = session
        .turns
        .iter()
        .filter(|turn| turn.role() == Role::Assistant)
        .count();
    assert_eq!(outcome.pressure.len(), requests, "{place}");
}

/// Behind no cut stands a result whose call was cut away from it.
fn views_are_legal(session: &Session, outcome: &StrategyResult, place: &str) {
    for compaction in &outcome.compactions {
        if compaction.kind == "clear" {
            continue;
        }
        let (old, rest) = session.turns.split_at(compaction.mark);
        let mut open = HashSet::new();
        for turn in old {
            open.extend(turn.calls().map(|call| call.id.clone()));
            for result in turn.results() {
                open.remove(&result.call);
            }
        }
        let tail = &rest[..compaction.before_turn - compaction.mark];
        let mut called = HashSet::new();
        for turn in tail {
            called.extend(turn.calls().map(|call| call.id.clone()));
            for result in turn.results() {
                assert!(
                    called.contains(&result.call) || !open.contains(&result.call),
                    "{place}: a result without its call behind {}",
                    compaction.mark
                );
            }
        }
        assert!(!tail.is_empty(), "{place}: nothing behind the cut");
    }
}

#[test]
fn long_sessions_under_every_strategy() {
    let Some(corpus) = corpus() else { return };
    let mut boundaries = 0;
    let mut costs = [0.0; 2];
    let logs = ["entire-cli", "pi-mono"].map(|folder| files(&corpus.join(folder), &["jsonl"]));
    for path in logs.into_iter().flatten() {
        for session in sessions(&path) {
            for window in [32_000, 64_000, 128_000] {
                let comparison = check(&session, window);
                boundaries += comparison.strategies[0].boundaries;
                for (cost, name) in costs.iter_mut().zip(["prepared", "thrifty"]) {
                    let mut outcomes = comparison.strategies.iter();
                    let outcome = outcomes.find(|it| &*it.strategy == name);
                    *cost += outcome.expect("it is shipped").simulated.cost_usd;
                }
            }
        }
    }
    assert!(
        boundaries > 100,
        "the corpus crosses {boundaries} boundaries"
    );
    let [prepared, thrifty] = costs;
    assert!(thrifty < prepared * 0.95, "{thrifty} of {prepared} dollars");
}

#[test]
fn other_formats_under_every_strategy() {
    let Some(corpus) = corpus() else { return };
    let logs = [("tau-bench", "json"), ("swe-agent", "traj")]
        .map(|(folder, extension)| files(&corpus.join(folder), &[extension]));
    for path in logs.into_iter().flatten() {
        for session in sessions(&path) {
            check(&session, 4_000);
        }
    }
}

#[test]
fn the_long_pi_session_with_real_summaries() {
    let Some(corpus) = corpus() else { return };
    let path = files(&corpus.join("pi-mono"), &["jsonl"])
        .into_iter()
        .find(|path| path.ends_with("before-compaction.jsonl"))
        .unwrap();
    let session = &sessions(&path)[0];
    let options = Options {
        window: Some(Tokens::new(128_000)),
        strategies: ["prepared", "stop_the_world"]
            .map(|name| StrategyProgram::shipped(name).unwrap())
            .to_vec(),
        pins: pin(session).into_iter().collect(),
        recall: RecallMeasure::Skipped,
        ..Options::default()
    };
    let comparison = run(session, &options, &mut |_| {}).unwrap();
    let again = run(session, &options, &mut |_| {}).unwrap();
    let json = serde_json::to_string(&comparison).unwrap();
    assert_eq!(
        json,
        serde_json::to_string(&again).unwrap(),
        "byte for byte"
    );
    let ours = &comparison.strategies[0];
    prepared(ours, "pi");
    assert!(ours.peak_pressure <= 0.95, "room for the answer is left");
    assert!(comparison.strategies[0].boundaries > 0);
    assert!(comparison.strategies[0].pins.requests > 0);
    let stopping = comparison.strategies[1].simulated.stalls;
    assert!(stopping.count > 0 && stopping.longest_seconds > 10.0);
}
