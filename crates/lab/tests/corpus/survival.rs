//! Sentences of a user through the compactions of real sessions.

use std::collections::BTreeMap;

use context::{Heuristic, Tokens};
use lab::survival::{Tally, survival};
use wire::session::{Session, load};

use crate::locate::corpus;

const SESSIONS: [&str; 2] = [
    "entire-cli/2026-01-13-44df7d08-6bc4-4532-bef8-167ea3797cee.jsonl",
    "pi-mono/packages/coding-agent/test/fixtures/before-compaction.jsonl",
];

fn sessions(folder: &std::path::Path) -> Vec<Session> {
    let read = |file: &str| {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        load(&bytes, file, &Heuristic).unwrap().sessions
    };
    SESSIONS.into_iter().flat_map(read).collect()
}

#[test]
fn a_users_sentences_stand_after_every_compaction() {
    let Some(folder) = corpus() else { return };
    let window = Tokens::new(16_000);
    let survived = survival(&sessions(&folder), window, 20, &Heuristic).unwrap();
    let mut routes: BTreeMap<&str, Vec<Tally>> = BTreeMap::new();
    for (row, tally) in &survived {
        let unlisted = tally.said - tally.kept - tally.listed;
        assert!(unlisted * 20 <= tally.said, "{row:?}: {tally:?}");
        println!(
            "{} {} {}: {tally:?}",
            row.route,
            row.place.as_str(),
            row.after
        );
        routes.entry(row.route).or_default().push(*tally);
    }
    assert_eq!(routes.len(), 4);
    for (route, tallies) in routes {
        let said: usize = tallies.iter().map(|it| it.said).sum();
        let kept: usize = tallies.iter().map(|it| it.kept).sum();
        let listed: usize = tallies.iter().map(|it| it.listed).sum();
        let inverted: usize = tallies.iter().map(|it| it.inverted).sum();
        let least = if route == "compact" { 0.95 } else { 0.99 };
        let share = kept as f64 / (said - listed) as f64;
        assert!(share >= least, "{route}: {kept} of {said}, {listed} listed");
        assert!(listed * 3 < said, "{route}: {listed} of {said} are listed");
        assert_eq!(inverted, 0, "{route}");
    }
}
