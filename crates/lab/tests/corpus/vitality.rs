//! Alarms of the vitality analyser on real sessions. Looked at one by one: the ones it raises are
//! tau-bench conversations in which the assistant says one sentence (that it needs an id first) to the
//! user over and over in other words, which is what the alarm says.

use std::path::{Path, PathBuf};

use context::vitality::{Loop, Status, VitalityAnalyzer, pulses};
use context::{Heuristic, Tokens, Turn};
use wire::session::load;

use crate::locate::corpus;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let known = ["jsonl", "json", "traj"];
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|end| known.iter().any(|known| end == *known))
        {
            found.push(path);
        }
    }
    found.sort();
}

/// The loops that a session's pulses show, each once: where it was seen last and how far it went.
fn loops(turns: &[Turn]) -> Vec<(usize, Loop)> {
    let mut analyzer = VitalityAnalyzer::default();
    let mut seen: Vec<(usize, Loop)> = Vec::new();
    for (index, pulse) in pulses("a", turns, Tokens::new(200_000))
        .into_iter()
        .enumerate()
    {
        let Status {
            looping: Some(found),
            ..
        } = analyzer.ingest(pulse)
        else {
            continue;
        };
        match seen.last_mut() {
            Some(last) if last.0 + 6 > index => *last = (index, found),
            _ => seen.push((index, found)),
        }
    }
    seen
}

#[test]
fn alarms_on_real_sessions_are_rare() {
    let Some(corpus) = corpus() else { return };
    let mut paths = Vec::new();
    for folder in ["entire-cli", "pi-mono", "swe-agent", "tau-bench"] {
        files(&corpus.join(folder), &mut paths);
    }
    let (mut sessions, mut flagged, mut steps) = (0, 0, 0);
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(document) = load(&bytes, &path.display().to_string(), &Heuristic) else {
            continue;
        };
        for session in document.sessions {
            let alarms = loops(&session.turns);
            sessions += 1;
            steps += session.turns.len();
            flagged += usize::from(!alarms.is_empty());
            for (index, found) in alarms {
                println!("{} step {index}: {found:?}", session.title);
            }
        }
    }
    println!("{flagged} of {sessions} sessions flagged, {steps} turns");
    assert!(sessions >= 23);
    assert!(
        flagged * 50 <= sessions,
        "{flagged} of {sessions} sessions flagged"
    );
}
