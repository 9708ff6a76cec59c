//! Tests with a real session, resent in full with each request as its client would.

use std::fs;
use std::path::Path;

use context::{Heuristic, Turn, TurnId};
use history::conformance::sample;
use history::{Engine, Limits, Tenant};
use history_sqlite::Sqlite;
use wire::session::load;

use crate::locate::corpus;

const SESSION: &str = "entire-cli/2026-01-13-44df7d08-6bc4-4532-bef8-167ea3797cee.jsonl";
const TENANT: Tenant = Tenant::from_bytes([1; 16]);

/// Returns the turns of the session's first conversation.
fn turns(folder: &Path) -> Vec<Turn> {
    let bytes = fs::read(folder.join(SESSION)).unwrap();
    let document = load(&bytes, "44df7d08", &Heuristic).unwrap();
    document.sessions[0].turns.clone()
}

fn readable(turns: &[Turn]) -> u64 {
    turns
        .iter()
        .flat_map(Turn::parts)
        .flat_map(context::Part::readable)
        .map(|text| text.len() as u64)
        .sum()
}

/// Sends the conversation so far for each request of its client, that is, whenever an answer was due.
fn feed(engine: &dyn Engine, turns: &[Turn]) {
    for (n, turn) in turns.iter().enumerate() {
        let due = turns
            .get(n + 1)
            .is_none_or(|next| next.role() == context::Role::Assistant);
        if !due {
            continue;
        }
        engine
            .write(TENANT, &mut |store| {
                store.record(&turns[..=n])?;
                store.save(&sample::conversation(1, turn.id(), sample::moment(1)))
            })
            .unwrap();
    }
}

/// Returns the store's size on the disk when it is closed.
fn size(place: &Path, turns: &[Turn]) -> u64 {
    let engine = Sqlite::open(place, Limits::NONE).unwrap();
    feed(&engine, turns);
    let mut path = Vec::new();
    engine
        .read(TENANT, &mut |store| {
            path = store.path(turns.last().map_or(TurnId::ROOT, Turn::id))?;
            Ok(())
        })
        .unwrap();
    assert!(path == turns, "every turn comes back as it was");
    drop(engine);
    fs::metadata(place).unwrap().len()
}

#[test]
fn a_session_sent_turn_by_turn_takes_little_more_than_its_text() {
    let Some(folder) = corpus() else { return };
    let turns = turns(&folder);
    let place = tempfile::tempdir().unwrap();
    let half = &turns[..turns.len() / 2];
    let of_all = size(&place.path().join("all.db"), &turns);
    let of_half = size(&place.path().join("half.db"), half);
    let (text, text_of_half) = (readable(&turns), readable(half));
    println!(
        "{} turns, {text} bytes of text, {of_all} on the disk",
        turns.len()
    );
    println!("the first half: {text_of_half} bytes of text, {of_half} on the disk");
    assert!(of_all * 10 < text * 13, "{of_all} bytes for {text}");
    // Linear: the second half takes the same share of its text.
    let added = of_all - of_half;
    assert!(
        added * 10 < (text - text_of_half) * 13,
        "{added} bytes added"
    );
}
