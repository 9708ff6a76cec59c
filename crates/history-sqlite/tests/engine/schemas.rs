//! Tests of stores of other versions.

use std::path::Path;

use context::{Heuristic, Role, Text, TurnDraft, TurnId};
use history::conformance::sample;
use history::{Engine, HistoryError, Limits, Mark, MarkId, Record, Stored, Tenant};
use history_sqlite::Sqlite;
use rusqlite::Connection;

/// A store of the first schema with two turns and a mark. It never changes.
const FIRST: &str = include_str!("schema_1.sql");

fn sql(place: &Path, sql: &str) {
    Connection::open(place).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_store_of_the_first_schema_is_brought_up_to_date_with_all_that_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    sql(&place, FIRST);
    let tenant = Tenant::from_bytes([0x11; 16]);
    let hello = TurnDraft::text(Role::User, "hello")
        .at("2026-11-22T01:00:00Z".parse().unwrap())
        .after(TurnId::ROOT, &Heuristic);
    let answer = TurnDraft::text(Role::Assistant, "hi").after(hello.id(), &Heuristic);
    // The second time, there is nothing to migrate.
    for _ in 0..2 {
        let engine = Sqlite::open(&place, Limits::NONE).unwrap();
        assert_eq!(engine.secret().unwrap(), [0x5e; 32]);
        assert_eq!(engine.tenants().unwrap(), [tenant]);
        engine
            .read(tenant, &mut |store| {
                assert_eq!(store.path(answer.id())?, [hello.clone(), answer.clone()]);
                let marks: Vec<MarkId> =
                    store.marks_on(answer.id())?.iter().map(Mark::id).collect();
                assert_eq!(marks, [sample::mark(hello.id(), "they greeted").id()]);
                let held = Stored {
                    turns: 2,
                    bytes: 7,
                    marks: 1,
                    conversations: 0,
                    beside: "they greeted".len() as u64,
                };
                assert_eq!(store.stored()?, held);
                Ok(())
            })
            .unwrap();
    }
    // It supports what the first schema did not.
    let engine = Sqlite::open(&place, Limits::NONE).unwrap();
    let saved = sample::conversation(1, answer.id(), sample::moment(1));
    engine
        .write(tenant, &mut |store| store.save(&saved))
        .unwrap();
    engine
        .read(tenant, &mut |store| {
            let found = store.headed(&[answer.id()])?;
            assert_eq!(found.as_slice(), std::slice::from_ref(&saved));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_damaged_page_of_texts_does_not_keep_an_older_store_from_being_opened() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    let tenant = Tenant::from_bytes([0x11; 16]);
    let engine = Sqlite::open(&place, Limits::NONE).unwrap();
    let text = |n: u8| Text::from(format!("text number {n}. ").repeat(40));
    let keep = &mut |store: &mut dyn history::Store| {
        (0..200).try_for_each(|n: u8| store.keep_chunk([n; 16], &text(n)))
    };
    engine.write(tenant, keep).unwrap();
    drop(engine);
    // The seventh schema, with its note in the store.
    sql(
        &place,
        "DROP TABLE owned; PRAGMA user_version = 7; \
         UPDATE meta SET value = x'07000000f8ffffff' WHERE name = 'version'; VACUUM",
    );
    let mut file = std::fs::read(&place).unwrap();
    let found = |part: &[u8]| part == b"text number 100.";
    let at = file.windows(16).position(found).unwrap() / 4_096 * 4_096;
    file[at..at + 4_096].fill(0);
    std::fs::write(&place, file).unwrap();
    let engine = Sqlite::open(&place, Limits::NONE).unwrap();
    let read = &mut |store: &dyn history::Store| {
        assert_eq!(store.chunk([0; 16])?, Some(text(0)));
        assert_eq!(store.chunk([199; 16])?, Some(text(199)));
        Ok(())
    };
    engine.read(tenant, read).unwrap();
    drop(engine);
    let repaired = history_sqlite::repair(&place).unwrap();
    assert!(repaired.kept[&Record::Chunk] > 180, "{repaired:?}");
    assert_eq!(repaired.lost[&Record::Structure], 1, "{repaired:?}");
    let engine = Sqlite::open(&place, Limits::NONE).unwrap();
    engine.read(tenant, read).unwrap();
}

#[test]
fn a_step_that_fails_leaves_the_store_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    sql(&place, FIRST);
    // Makes the second step fail after its first statements.
    sql(&place, "CREATE TABLE pin (somebody_elses)");
    let error = Sqlite::open(&place, Limits::NONE).unwrap_err();
    assert!(matches!(error, HistoryError::Engine { .. }), "{error}");
    sql(&place, "DROP TABLE pin");
    Sqlite::open(&place, Limits::NONE).unwrap();
}

#[test]
fn a_newer_store_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store.db");
    drop(Sqlite::open(&place, Limits::NONE).unwrap());
    sql(
        &place,
        "PRAGMA user_version = 99; DELETE FROM meta WHERE name = 'version'",
    );
    let before = std::fs::read(&place).unwrap();
    let error = Sqlite::open(&place, Limits::NONE).unwrap_err();
    assert_eq!(
        error,
        HistoryError::Newer {
            found: 99,
            known: 8
        }
    );
    assert_eq!(std::fs::read(&place).unwrap(), before);
}
