//! Tests of stores of other versions.

use std::path::Path;

use context::{Heuristic, Role, TurnDraft, TurnId};
use history::conformance::sample;
use history::{Engine, HistoryError, Limits, Mark, MarkId, Stored, Tenant};
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
