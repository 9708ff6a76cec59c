//! Tests that a killed process loses nothing acknowledged and leaves no partial transaction.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use context::TurnId;
use history::conformance::sample;
use history::{Engine, Limits, Tenant};
use history_sqlite::Sqlite;

const TENANT: Tenant = Tenant::from_bytes([1; 16]);
/// Turns per transaction.
const TURNS: u64 = 6;
/// The number of times the writer is killed.
const KILLS: usize = 22;

/// Counts the stored transactions of the growing conversation, after checking that each is complete.
fn whole_transactions(engine: &dyn Engine) -> u64 {
    let mut transactions = 0;
    engine
        .read(TENANT, &mut |store| {
            let Some(grown) = store.conversation(sample::conversation_id(1))? else {
                assert_eq!(store.stored()?.turns, 0, "turns without their conversation");
                return Ok(());
            };
            let path = store.path(grown.head)?;
            assert_eq!(
                path.len() as u64,
                grown.turns,
                "turns that lead to the head"
            );
            assert_eq!(store.stored()?.turns, grown.turns, "no other turns");
            transactions = grown.turns / TURNS;
            assert_eq!(transactions * TURNS, grown.turns, "whole transactions");
            let marks = store.marks_on(grown.head)?.len() as u64;
            assert_eq!(marks, transactions, "a mark for each");
            let turns: Vec<TurnId> = path.iter().map(context::Turn::id).collect();
            let editions = store.editions(&turns)?.len() as u64;
            assert_eq!(editions, transactions, "an edition for each");
            Ok(())
        })
        .unwrap();
    transactions
}

/// Writes the next transaction of the growing conversation.
fn grow(engine: &dyn Engine, after: u64) {
    engine
        .write(TENANT, &mut |store| {
            let grown = store.conversation(sample::conversation_id(1))?;
            let mut head = grown.map_or(TurnId::ROOT, |grown| grown.head);
            for n in 0..TURNS {
                let turn = sample::turn(head, &format!("{after} {n} ").repeat(500));
                store.append(head, &turn)?;
                head = turn.id();
            }
            store.add_mark(sample::mark(head, "summary"))?;
            store.add_edition(&sample::appended(head, "note"))?;
            let mut grown = sample::conversation(1, head, sample::moment(1));
            grown.turns = (after + 1) * TURNS;
            store.save(&grown)
        })
        .unwrap();
}

/// Continues the conversation by up to this many transactions and acknowledges each on standard output
/// once it is committed.
fn write(place: &Path, most: u64) {
    let engine = Sqlite::open(place, Limits::NONE).unwrap();
    let begun = whole_transactions(&engine);
    for after in begun..begun + most {
        grow(&engine, after);
        // The test harness would capture `print!`.
        let mut out = std::io::stdout().lock();
        writeln!(out, "kept {}", after + 1).unwrap();
        out.flush().unwrap();
    }
}

/// In a test run, writes and checks a few transactions. As the child of the other test, which
/// names a store, writes until it is killed.
#[test]
fn what_is_written_is_there() {
    let store = std::env::args().find_map(|word| Some(word.strip_prefix("store=")?.to_owned()));
    if let Some(store) = store {
        write(Path::new(&store), u64::MAX / 2);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    write(&place, 3);
    write(&place, 2);
    let engine = Sqlite::open(&place, Limits::NONE).unwrap();
    assert_eq!(whole_transactions(&engine), 5);
}

fn start(place: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::what_is_written_is_there", "--nocapture"])
        .arg(format!("store={}", place.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets a writer run until it has acknowledged this many transactions, kills it whatever it is doing
/// then, and returns the last acknowledged one.
fn acknowledged(place: &Path, transactions: usize) -> u64 {
    let mut writer = start(place);
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut number = || {
        let kept = lines.by_ref().map_while(Result::ok);
        kept.filter_map(|line| line.split("kept ").nth(1)?.parse().ok())
            .next()
    };
    let mut last = 0;
    for _ in 0..transactions {
        last = number().expect("the writer goes on until it is killed");
    }
    // SIGKILL on Unix: the process cannot react.
    writer.kill().unwrap();
    writer.wait().unwrap();
    // Acknowledgements still in the pipe count as well.
    while let Some(later) = number() {
        last = later;
    }
    last
}

#[test]
fn a_killed_writer_loses_nothing_acknowledged_and_leaves_nothing_half() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let mut before = 0;
    for kill in 0..KILLS {
        // 1 to 9 in mixed order: the writer continues meanwhile, so the kill hits a different point each time.
        let acknowledged = acknowledged(&place, 1 + kill * 7 % 9);
        assert!(
            acknowledged > before,
            "the writer goes on from what is there"
        );
        let engine = Sqlite::open_existing(&place, Limits::NONE).unwrap();
        let there = whole_transactions(&engine);
        // One more transaction may be stored but not acknowledged.
        assert!(
            (acknowledged..=acknowledged + 1).contains(&there),
            "{acknowledged} acknowledged, {there} there"
        );
        before = there;
    }
    let file = rusqlite::Connection::open(&place).unwrap();
    let sound: String = file
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
}
