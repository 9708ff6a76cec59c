//! Tests of a store that somebody else holds, or that a purge works on: nobody waits for long.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use context::TurnId;
use history::conformance::sample;
use history::{Engine, Limits, Purge, Purged, Tenant};
use history_sqlite::Sqlite;
use rusqlite::Connection;

const TENANT: Tenant = Tenant::from_bytes([1; 16]);
const ALL: Purge = Purge {
    tenant: None,
    conversation: None,
    before: None,
};

/// The longest that a write waits beside a purge. It is measured with other tests running.
const BESIDE: Duration = Duration::from_secs(1);

#[expect(
    clippy::disallowed_methods,
    reason = "how long a write waits is what is measured"
)]
fn now() -> Instant {
    Instant::now()
}

fn open(place: &Path) -> Sqlite {
    Sqlite::open(place, Limits::NONE).unwrap()
}

fn keep(engine: &dyn Engine, n: u8, texts: &[&str]) -> TurnId {
    let said = sample::line(texts);
    let head = sample::head(&said);
    engine
        .write(TENANT, &mut |store| {
            store.record(&said)?;
            store.save(&sample::conversation(n, head, sample::moment(1)))
        })
        .unwrap();
    head
}

#[test]
fn a_store_that_another_process_holds_opens_and_is_previewed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    keep(&open(&place), 1, &["a", "b"]);
    let other = Connection::open(&place).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let engine = open(&place);
    let preview = engine.preview(ALL).unwrap();
    assert_eq!((preview.conversations, preview.turns), (1, 2));
    let nobody = Purge {
        conversation: Some(sample::conversation_id(9)),
        ..ALL
    };
    assert_eq!(engine.preview(nobody).unwrap(), Purged::default());
    engine.settle().unwrap();
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(engine.purge(ALL).unwrap().turns, 2);
}

#[test]
fn others_write_beside_a_purge_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let engine = open(&place);
    let long = "many words ".repeat(1_000);
    for n in 0..40_u8 {
        let own = format!("{n} {long}");
        keep(&engine, n, &["shared", &own, &long, &own, "end"]);
    }
    // As in another process.
    let other = open(&place);
    let is_over = AtomicBool::new(false);
    let (purged, beside, longest) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let (mut heads, mut longest) = (Vec::new(), Duration::ZERO);
            while !is_over.load(Ordering::Acquire) || heads.is_empty() {
                let n = heads.len();
                // On turns that the purge is about to remove, and on its own.
                let own = format!("{} {long}", n % 40);
                let last = format!("beside {n}");
                let said = sample::line(&["shared", &own, &long, &last]);
                let head = sample::head(&said);
                let mut saved = sample::conversation(0, head, sample::moment(1));
                let mut id = [0xbe; 16];
                id[..8].copy_from_slice(&n.to_le_bytes());
                saved.id = history::ConversationId::from_bytes(id);
                let begun = now();
                other
                    .write(TENANT, &mut |store| {
                        store.record(&said)?;
                        store.save(&saved)
                    })
                    .unwrap();
                longest = longest.max(begun.elapsed());
                heads.push((said, saved));
            }
            (heads, longest)
        });
        let old = Purge {
            before: Some(sample::moment(1)),
            ..ALL
        };
        assert_eq!(engine.purge(old).unwrap().conversations, 0);
        let mut purged = Purged::default();
        for n in 0..40 {
            let one = Purge {
                conversation: Some(sample::conversation_id(n)),
                ..ALL
            };
            purged += engine.purge(one).unwrap();
        }
        is_over.store(true, Ordering::Release);
        let (beside, longest) = writing.join().unwrap();
        (purged, beside, longest)
    });
    assert_eq!(purged.conversations, 40);
    assert!(beside.len() > 5, "{} writes beside it", beside.len());
    assert!(longest < BESIDE, "a write waited {longest:?}");
    engine
        .read(TENANT, &mut |store| {
            for (said, saved) in &beside {
                assert_eq!(&store.path(saved.head)?, said);
                assert_eq!(store.conversation(saved.id)?.as_ref(), Some(saved));
            }
            let turns = store.stored()?.turns;
            assert_eq!(store.stored()?.conversations, beside.len() as u64);
            let counted: i64 = Connection::open(&place)
                .unwrap()
                .query_row("SELECT count(*) FROM node", [], |row| row.get(0))
                .unwrap();
            assert_eq!(turns, counted.unsigned_abs(), "the turns are counted right");
            Ok(())
        })
        .unwrap();
    assert_eq!(engine.check().unwrap().damaged.len(), 0);
    assert_eq!(
        engine.purge(ALL).unwrap().conversations,
        beside.len() as u64
    );
    assert_eq!(engine.tenants(), Ok(Vec::new()));
}

#[test]
fn what_is_settled_is_in_the_one_file() {
    check_settled(1, 1_000);
}

/// Each write starts a checkpoint of its own then.
#[test]
fn long_logs_are_settled_too() {
    check_settled(8, 600_000);
}

/// Settles after each of some conversations, with a turn of so many times 11 bytes.
fn check_settled(conversations: u8, times: usize) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let engine = open(&place);
    for n in 0..conversations {
        let long = format!("{n} {}", "many words ".repeat(times));
        let head = keep(&engine, n, &["a", &long]);
        engine.settle().unwrap();
        let log = fs::metadata(folder.path().join("store.db-wal")).unwrap();
        assert_eq!(log.len(), 0, "conversation {n}");
        let copy = folder.path().join(format!("copy-{n}.db"));
        fs::copy(&place, &copy).unwrap();
        open(&copy)
            .read(TENANT, &mut |store| {
                assert_eq!(store.path(head)?.len(), 2);
                Ok(())
            })
            .unwrap();
    }
}
