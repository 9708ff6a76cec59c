//! Every transcript of the corpus loads, nothing in it is lost, and it can be written again.
//!
//! The recount reads each file a second time with plain `serde_json::Value` and the simplest rules.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use context::{Heuristic, Turn};
use serde_json::Value;
use wire::session::{Document, Format, Session, load};

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

struct Opened {
    name: String,
    bytes: Vec<u8>,
    document: Document,
}

fn open(path: &Path) -> Opened {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let document = load(&bytes, &name, &Heuristic).unwrap();
    Opened {
        name,
        bytes,
        document,
    }
}

/// The lines of the problems of a session with a code.
fn lines_of(session: &Session, code: &str) -> Vec<usize> {
    let problems = session.problems.iter();
    problems
        .filter(|problem| problem.code.as_str() == code)
        .map(|problem| problem.line)
        .collect()
}

/// All turns give back the file, or for one of several sessions a file that loads to the same turns;
/// every second turn gives a file with exactly these.
fn writes_back(opened: &Opened, session: usize) {
    let document = &opened.document;
    let turns = &document.sessions[session].turns;
    let whole = document.render(session, turns).unwrap();
    if document.sessions.len() == 1 {
        assert!(whole == opened.bytes, "{}", opened.name);
    }
    let again = load(&whole, "", &Heuristic).unwrap();
    assert!(again.sessions[0].turns == *turns, "{}", opened.name);
    let half: Vec<Turn> = turns.iter().step_by(2).cloned().collect();
    let written = document.render(session, &half).unwrap();
    let again = load(&written, "", &Heuristic).unwrap();
    let read: Vec<_> = again.sessions[0].turns.iter().map(Turn::parts).collect();
    let expected: Vec<_> = half.iter().map(Turn::parts).collect();
    // Lines of one message that stand apart in a log are one turn again; the order is that of the file.
    assert!(read == expected, "{}", opened.name);
}

/// The records of a log, those that are broken left out, with their lines.
fn records(bytes: &[u8]) -> Vec<(usize, Value)> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter_map(|(line, text)| Some((line + 1, serde_json::from_slice(text).ok()?)))
        .collect()
}

#[test]
fn claude_code_logs_load_and_lose_nothing() {
    let Some(corpus) = corpus() else { return };
    let logs = files(&corpus.join("entire-cli"), "jsonl");
    assert_eq!(logs.len(), 21);
    let mut compactions = 0;
    let mut oddities: BTreeMap<String, (Vec<usize>, usize, usize)> = BTreeMap::new();
    for path in logs {
        let opened = open(&path);
        assert_eq!(opened.document.sessions.len(), 1);
        let session = &opened.document.sessions[0];
        assert_eq!(session.format, Format::ClaudeCode);
        compactions += session.compactions.len();
        recount_claude_code(&opened, session);
        let broken = lines_of(session, "E0125");
        let orphans = lines_of(session, "E0131").len();
        let unanswered = lines_of(session, "E0132").len();
        if !broken.is_empty() || orphans + unanswered > 0 {
            let name = opened.name.split('-').rev().nth(4).unwrap().to_owned();
            oddities.insert(name, (broken, orphans, unanswered));
        }
        writes_back(&opened, 0);
    }
    assert_eq!(compactions, 10);
    let expected = [
        ("0a93878f", (vec![], 1, 0)),
        ("60b38d1e", (vec![], 1, 1)),
        ("61cb3ba8", (vec![], 0, 1)),
        ("86cc3044", (vec![115, 241], 0, 1)),
        ("df93cd9c", (vec![], 0, 1)),
    ];
    let expected = expected.map(|(name, odd)| (name.to_owned(), odd));
    assert_eq!(oddities, BTreeMap::from(expected));
}

/// Every user line is a turn, a compaction or one of the injected lines that are reported; every
/// assistant message is one turn with all its blocks.
fn recount_claude_code(opened: &Opened, session: &Session) {
    let (mut said, mut injected, mut summaries, mut blocks) = (0, 0, 0, 0);
    let mut messages = BTreeSet::new();
    for (_, record) in records(&opened.bytes) {
        let message = &record["message"];
        match record["type"].as_str().unwrap_or_default() {
            "user" if record["isCompactSummary"] == true => summaries += 1,
            "user" if record["isMeta"] == true => injected += 1,
            "user" => said += 1,
            "assistant" => {
                messages.insert(message["id"].as_str().unwrap().to_owned());
                blocks += message["content"].as_array().unwrap().len();
            }
            _ => {}
        }
    }
    assert_eq!(
        session.turns.len(),
        said + messages.len(),
        "{}",
        opened.name
    );
    assert_eq!(session.compactions.len(), summaries);
    let reported = session
        .problems
        .iter()
        .find(|problem| problem.code.as_str() == "E0128");
    let reported = reported.map_or(0, |problem| {
        problem.message.split(' ').next().unwrap().parse().unwrap()
    });
    assert_eq!(injected, reported);
    let assistants = session
        .turns
        .iter()
        .filter(|turn| turn.role().as_str() == "assistant");
    let parts: usize = assistants.map(|turn| turn.parts().len()).sum();
    assert_eq!(parts, blocks, "{}", opened.name);
}

#[test]
fn pi_logs_load_and_lose_nothing() {
    let Some(corpus) = corpus() else { return };
    let expected = [("before-compaction", 6, 2), ("large-session", 18, 0)];
    let logs = files(&corpus.join("pi-mono"), "jsonl");
    assert_eq!(logs.len(), expected.len());
    for (path, (name, unanswered, compactions)) in logs.iter().zip(expected) {
        let opened = open(path);
        let session = &opened.document.sessions[0];
        let messages = records(&opened.bytes)
            .iter()
            .filter(|(_, record)| record["type"] == "message")
            .count();
        assert_eq!(opened.name, name);
        assert_eq!(session.turns.len(), messages);
        assert_eq!(session.compactions.len(), compactions);
        assert_eq!(lines_of(session, "E0132").len(), unanswered);
        assert!(!session.usage.is_empty());
        writes_back(&opened, 0);
    }
}

#[test]
fn message_lists_load_and_lose_nothing() {
    let Some(corpus) = corpus() else { return };
    let tau = open(&corpus.join("tau-bench/historical_trajectories/gpt-4o-airline.json"));
    let value: Vec<Value> = serde_json::from_slice(&tau.bytes).unwrap();
    let counts = value
        .iter()
        .map(|task| task["traj"].as_array().unwrap().len());
    let turns = tau
        .document
        .sessions
        .iter()
        .map(|session| session.turns.len());
    assert!(counts.eq(turns));
    let reused = tau
        .document
        .sessions
        .iter()
        .map(|session| lines_of(session, "E0133").len());
    assert_eq!(reused.filter(|count| *count > 0).count(), 49);
    for session in [0, 57, 199] {
        writes_back(&tau, session);
    }

    let swe = files(&corpus.join("swe-agent"), "traj");
    assert_eq!(swe.len(), 10);
    for path in swe {
        let opened = open(&path);
        let value: Value = serde_json::from_slice(&opened.bytes).unwrap();
        let history = value["history"].as_array().unwrap().len();
        let session = &opened.document.sessions[0];
        assert_eq!(session.turns.len(), history);
        let other = session
            .problems
            .iter()
            .find(|problem| problem.code.as_str() != "E0133");
        assert_eq!(other, None);
        writes_back(&opened, 0);
    }

    let haystacks = open(&corpus.join("longmemeval-s-subset/longmemeval_s.json"));
    let sessions = &haystacks.document.sessions;
    let turns: Vec<usize> = sessions.iter().map(|session| session.turns.len()).collect();
    assert_eq!(turns, [396, 409, 413]);
    assert!(
        sessions
            .iter()
            .all(|session| session.turns[0].at().is_some())
    );
    writes_back(&haystacks, 1);
}
