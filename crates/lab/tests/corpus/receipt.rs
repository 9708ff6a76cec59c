//! The worth of receipts over the coding sessions.

use lab::receipt::{Beside, measure};
use tokens::{ModelCounter, Tokenizer};
use wire::session::{Session, load};

use crate::locate::corpus;

/// The sessions of people at work, in the order of their names.
pub fn coding_sessions() -> Option<Vec<Session>> {
    let corpus = corpus()?;
    let counter = ModelCounter::new(Tokenizer::Cl100k);
    let folders = ["entire-cli", "pi-mono/packages/coding-agent/test/fixtures"];
    let mut logs: Vec<_> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(corpus.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == "jsonl"))
        .collect();
    logs.sort();
    let read = |path: &std::path::PathBuf| {
        let title = path.file_stem().unwrap().to_string_lossy().into_owned();
        load(&std::fs::read(path).unwrap(), &title, &counter)
            .unwrap()
            .sessions
    };
    Some(logs.iter().flat_map(read).collect())
}

#[test]
fn the_first_entries_hold_what_was_needed() {
    let Some(sessions) = coding_sessions() else {
        return;
    };
    let counter = ModelCounter::new(Tokenizer::Cl100k);
    let rows = measure(&sessions, &counter);
    for (beside, worth) in &rows {
        println!(
            "{beside:?}: {worth:?} {:?} {:?}",
            worth.share(),
            worth.newest_share()
        );
    }
    for beside in [Beside::Product, Beside::Fixed] {
        let worth = rows[&beside];
        assert!(worth.share() > worth.newest_share(), "{worth:?}");
    }
    // Some twenty identifiers: one more or less decides.
    let worth = rows[&Beside::SameSize];
    assert!(worth.share() >= worth.newest_share(), "{worth:?}");
}
