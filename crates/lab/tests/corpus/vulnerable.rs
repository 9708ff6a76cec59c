//! Seed 000's hypothesis: of sentences that show that a person is vulnerable, how many survive where a strategy pins
//! them, compared with strategies that do not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context::{Heuristic, Tokens};
use conversation::homunculus::hosted::StrategyProgram;
use lab::survival::{Placement, Sentence, Tally, compare, vulnerable};
use wire::session::{Session, load};

use crate::locate::corpus;

/// The first keeps no words of the user, like the products it represents.
const STRATEGIES: [&str; 4] = ["stop_the_world", "prepared", "pinning", "vulnerable"];

/// Long sessions, in a window that each of them fills several times.
const SESSIONS: [&str; 2] = [
    "pi-mono/packages/coding-agent/test/fixtures/before-compaction.jsonl",
    "entire-cli/67d765b5-4286-4ec5-b051-950466e186f0.jsonl",
];

fn session(corpus: &Path, file: &str) -> Session {
    let bytes = std::fs::read(PathBuf::from(corpus).join(file)).unwrap();
    let document = load(&bytes, file, &Heuristic).unwrap();
    document.sessions.into_iter().next().unwrap()
}

/// The sentences that survive under each strategy, after the first and after the last compaction.
fn survived(corpus: &Path, kind: &str, place: Placement) -> [Tally; 4] {
    let strategies = STRATEGIES.map(|name| StrategyProgram::shipped(name).unwrap());
    let strategies: Vec<Arc<StrategyProgram>> = strategies.to_vec();
    let chosen: Vec<Sentence> = vulnerable()
        .into_iter()
        .filter(|it| it.kind == kind)
        .collect();
    assert_eq!(chosen.len(), 10);
    let mut all = [Tally::default(); 4];
    for file in SESSIONS {
        let session = session(corpus, file);
        let window = Tokens::new(16_000);
        let found = compare(
            &session,
            (&chosen, place),
            (window, &strategies),
            &Heuristic,
        );
        for (tally, rows) in all.iter_mut().zip(found.unwrap()) {
            assert!(!rows.is_empty(), "{file} is never compacted");
            for (_, row) in rows {
                tally.said += row.said;
                tally.kept += row.kept;
                tally.listed += row.listed;
            }
        }
    }
    all
}

/// Prints the figures of `docs/strategies.md`; the answer is the share that each strategy kept.
fn shares(corpus: &Path, kind: &str, place: Placement) -> [f64; 4] {
    let all = survived(corpus, kind, place);
    for (name, tally) in STRATEGIES.iter().zip(all) {
        println!(
            "{}, {kind}, {name}: {} of {} verbatim",
            place.as_str(),
            tally.kept,
            tally.said,
        );
    }
    all.map(|tally| tally.kept as f64 / tally.said as f64)
}

#[test]
fn what_shows_vulnerability_survives_in_any_words_even_among_many_requests() {
    let Some(corpus) = corpus() else { return };
    for kind in ["plain", "oblique"] {
        let [bare, prepared, pinning, vulnerable] = shares(&corpus, kind, Placement::Early);
        assert!(
            bare < 0.5,
            "{bare}: without the user's words, little is left"
        );
        assert_eq!([prepared, pinning, vulnerable], [1.0; 3], "there is room");
    }
    // The requests around them differ in a number, and leave first.
    for kind in ["plain", "oblique"] {
        let [bare, rest @ ..] = shares(&corpus, kind, Placement::Crowded);
        assert!(bare < 0.5, "{bare}");
        assert_eq!(rest, [1.0; 3], "{kind}");
    }
}
