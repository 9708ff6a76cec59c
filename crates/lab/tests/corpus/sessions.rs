//! Every transcript of the corpus loads, and nothing in it is lost.

use std::path::{Path, PathBuf};

use context::Heuristic;
use wire::session::{Document, load};

use crate::locate::corpus;

/// All files below a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn open(path: &Path) -> Document {
    let bytes = std::fs::read(path).unwrap();
    let title = path.file_stem().unwrap().to_string_lossy();
    load(&bytes, &title, &Heuristic).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn claude_code_logs_load() {
    let Some(corpus) = corpus() else { return };
    let logs = files(&corpus.join("entire-cli"), "jsonl");
    assert_eq!(logs.len(), 21);
    let mut compactions = 0;
    for path in logs {
        let document = open(&path);
        for session in &document.sessions {
            compactions += session.compactions.len();
        }
    }
    assert_eq!(compactions, 10);
}

#[test]
fn pi_logs_load() {
    let Some(corpus) = corpus() else { return };
    let logs = files(&corpus.join("pi-mono"), "jsonl");
    assert_eq!(logs.len(), 2);
    for path in logs {
        let document = open(&path);
        assert_eq!(document.sessions.len(), 1);
        assert!(document.sessions[0].turns.len() > 900);
    }
}

#[test]
fn message_lists_load() {
    let Some(corpus) = corpus() else { return };
    let tau = open(&corpus.join("tau-bench/historical_trajectories/gpt-4o-airline.json"));
    assert_eq!(tau.sessions.len(), 200);
    let swe = files(&corpus.join("swe-agent"), "traj");
    assert_eq!(swe.len(), 10);
    for path in swe {
        let document = open(&path);
        assert_eq!(document.sessions.len(), 1);
        assert!(document.sessions[0].turns.len() > 10);
    }
    let haystacks = open(&corpus.join("longmemeval-s-subset/longmemeval_s.json"));
    let turns: Vec<usize> = haystacks
        .sessions
        .iter()
        .map(|session| session.turns.len())
        .collect();
    assert_eq!(turns, [396, 409, 413]);
    assert!(haystacks.sessions[0].turns[0].at().is_some());
}
