//! The soft threshold follows what the agents of recorded sessions did, and nothing else about the replay
//! gets worse for it: no stall, no overflow, pins stay.

use context::{Heuristic, Tokens};
use conversation::homunculus::hosted::StrategyProgram;
use lab::compare::StrategyResult;
use lab::replay::run;
use lab::{Options, RecallMeasure};
use wire::session::{Session, load};

use crate::locate::corpus;

/// Sessions whose agents keep a task list, fail, and repeat themselves.
const SESSIONS: [&str; 2] = [
    "entire-cli/df93cd9c-8436-49e5-af80-61126ae55a83.jsonl",
    "entire-cli/67d765b5-4286-4ec5-b051-950466e186f0.jsonl",
];

fn replayed(session: &Session, adaptive: bool) -> StrategyResult {
    let options = Options {
        window: Some(Tokens::new(64_000)),
        strategies: vec![StrategyProgram::default_one()],
        pins: vec!["Releases are cut on Thursdays only.".to_owned()],
        recall: RecallMeasure::Skipped,
        adaptive,
        ..Options::default()
    };
    let mut comparison = run(session, &options, &mut |_| {}).unwrap();
    comparison.strategies.remove(0)
}

#[test]
fn the_soft_threshold_follows_the_agent() {
    let Some(corpus) = corpus() else { return };
    let mut moves = 0;
    for file in SESSIONS {
        let bytes = std::fs::read(corpus.join(file)).unwrap();
        let document = load(&bytes, file, &Heuristic).unwrap();
        let session = &document.sessions[0];
        let plain = replayed(session, false);
        assert_eq!(plain.conduct.threshold_moves, []);
        let moved = replayed(session, true);
        println!("{file}: {:#?}", moved.conduct.threshold_moves);
        moves += moved.conduct.threshold_moves.len();
        for each in &moved.conduct.threshold_moves {
            assert!((50..=95).contains(&each.to_percent), "{each:?}");
            assert!(!each.why.is_empty());
        }
        assert_eq!(moved.simulated.stalls.count, 0, "{file}");
        assert_eq!(moved.overflows, plain.overflows, "{file}");
        assert_eq!(moved.pins.intact, moved.pins.requests, "{file}");
        assert_eq!(moved.fate.dropped + moved.fate.cleared, 0, "{file}");
    }
    assert!(moves > 0, "no session moved it");
}
