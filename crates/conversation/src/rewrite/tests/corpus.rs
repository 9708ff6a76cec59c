//! Every user message of the corpus of real sessions: none of them asks for a compaction.
//!
//! Recordings do not hold the prompts of their client's own compactor, but they hold people who talk
//! about compaction, paste prompts, and continue from summaries.

use std::path::{Path, PathBuf};

use context::{Heuristic, Role};
use wire::api::{Conversation, Dialect, Request};
use wire::session::load;

use crate::rewrite::own_compaction;

/// The corpus folder, or `None` after printing why the test is skipped.
#[expect(
    clippy::disallowed_methods,
    reason = "tests find the corpus by its variable"
)]
fn corpus() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let folder =
        std::env::var_os("EBBTIDE_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no corpus (set EBBTIDE_CORPUS or put it at ../shared/corpus)");
    None
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|it| it == "jsonl" || it == "json" || it == "traj")
        {
            found.push(path);
        }
    }
}

#[test]
fn no_user_of_the_corpus_is_taken_for_a_compactor() {
    let Some(folder) = corpus() else { return };
    let mut paths = Vec::new();
    for part in ["entire-cli", "pi-mono", "swe-agent", "tau-bench"] {
        files(&folder.join(part), &mut paths);
    }
    let (mut sessions, mut asked) = (0, 0);
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(document) = load(&bytes, "session", &Heuristic) else {
            continue;
        };
        for session in &document.sessions {
            sessions += 1;
            for turn in session.turns.iter().filter(|it| it.role() == Role::User) {
                for dialect in [Dialect::Anthropic, Dialect::Responses] {
                    let alone = std::slice::from_ref(turn);
                    let body = Conversation::from_turns(dialect, alone).body("m", None);
                    let request = Request::parse(dialect, body.as_bytes()).unwrap();
                    let found = own_compaction("/v1/messages", &request, None);
                    assert_eq!(found, None, "{}", path.display());
                    asked += 1;
                }
            }
        }
    }
    assert!(sessions >= 220 && asked > 3_000, "{sessions} {asked}");
}
