//! The way from a turn to the first one, where the numbers of the parents are damaged.

use std::collections::BTreeMap;

use history::conformance::sample;
use history::{Engine as _, Record, Tenant};
use history_sqlite::repair;
use rusqlite::Connection;

use super::{House, TENANT, keep};

impl House {
    /// Runs statements as damage does: no key is checked, and the index of parents stays as it is.
    fn damage(&self, statements: &str) {
        let connection = Connection::open(self.place()).unwrap();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        let (root, sql) = connection
            .query_row(
                "SELECT rootpage, sql FROM sqlite_schema WHERE name = 'node_by_parent'",
                [],
                read,
            )
            .unwrap();
        connection
            .execute_batch(
                "PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; \
                 DELETE FROM sqlite_schema WHERE name = 'node_by_parent'",
            )
            .unwrap();
        drop(connection);
        let connection = Connection::open(self.place()).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA foreign_keys = OFF; {statements}; PRAGMA writable_schema = ON"
            ))
            .unwrap();
        connection
            .execute(
                "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) \
                 VALUES ('index', 'node_by_parent', 'node', ?1, ?2)",
                (root, sql),
            )
            .unwrap();
    }

    /// Checks the store and repairs it. What the check foretells comes true.
    #[track_caller]
    fn mend(&self) {
        let engine = self.open();
        let checked = engine.check().unwrap();
        drop(engine);
        let repaired = repair(&self.place()).unwrap();
        let turn = |counts: &BTreeMap<Record, u64>| counts.get(&Record::Turn).copied().unwrap_or(0);
        let gone = checked.behind + turn(&checked.damaged);
        assert!(turn(&repaired.lost) <= gone, "{checked:?} {repaired:?}");
        assert_eq!(repaired.gaps, checked.emptied, "{checked:?} {repaired:?}");
        assert_eq!(self.open().check().unwrap().damaged, BTreeMap::new());
    }
}

const EMPTIED: &str =
    "UPDATE node SET body = CAST(substr(body, 1, length(body) - 1) || 'X' AS BLOB)";

#[test]
fn a_path_without_its_beginning_is_not_shown_as_whole() {
    for damage in [
        "DELETE FROM node WHERE n = 1",
        "DELETE FROM node WHERE n = 2",
        "UPDATE node SET parent = 2 WHERE n = 2",
        "UPDATE node SET parent = 3 WHERE n = 2",
        "UPDATE node SET parent = 4000 WHERE n = 2",
        "UPDATE node SET parent = -1 WHERE n = 2",
    ] {
        let house = House::new();
        let whole = house.read(&house.open());
        let connection = Connection::open(house.place()).unwrap();
        connection
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {damage}"))
            .unwrap();
        drop(connection);
        let engine = house.open();
        let found = house.read(&engine);
        if let Some(path) = &found.path {
            assert_eq!(path.len(), 3, "{damage}: {path:?}");
        }
        let second = whole.path.as_ref().unwrap()[1].id();
        let _ = engine.read(TENANT, &mut |store| {
            if let Ok(Some((_, parent))) = store.node(second) {
                assert_eq!(parent, whole.path.as_ref().unwrap()[0].id(), "{damage}");
            }
            Ok(())
        });
        drop(engine);
        house.mend();
        let engine = house.open();
        if let Some(path) = house.read(&engine).path {
            assert_eq!(path.len(), 3, "{damage}: {path:?}");
        }
        engine
            .write(TENANT, &mut |store| keep(store, 4, &house.said))
            .unwrap();
        assert_eq!(house.read(&engine).path, whole.path, "{damage}");
    }
}

#[test]
fn a_first_turn_is_the_first_whatever_its_row_has_for_a_parent() {
    for parent in [0, 1, 2, 4000] {
        let house = House::new();
        let first = sample::line(&["the first of another"]);
        house
            .open()
            .write(TENANT, &mut |store| store.record(&first).map(drop))
            .unwrap();
        house.damage(&format!("UPDATE node SET parent = {parent} WHERE n = 7"));
        let path = |house: &House| {
            let mut path = None;
            house
                .open()
                .read(TENANT, &mut |store| {
                    path = store.path(first[0].id()).ok();
                    Ok(())
                })
                .unwrap();
            path
        };
        let said = |house: &House| {
            path(house).map(|path| path.iter().map(|it| it.readable()).collect::<Vec<_>>())
        };
        assert_eq!(said(&house), Some(vec![first[0].readable()]), "{parent}");
        house.mend();
        assert_eq!(said(&house), Some(vec![first[0].readable()]), "{parent}");
    }
}

#[test]
fn many_damaged_parents_are_passed_one_by_one() {
    let house = House::new();
    let texts: Vec<String> = (0..60).map(|n| format!("turn {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let said = sample::line(&texts);
    house
        .open()
        .write(TENANT, &mut |store| store.record(&said).map(drop))
        .unwrap();
    house.damage(&format!("{EMPTIED}, parent = parent - 1 WHERE n > 10"));
    house
        .open()
        .read(TENANT, &mut |store| {
            let path = store.path(sample::head(&said))?;
            assert_eq!(path.len(), 60);
            Ok(())
        })
        .unwrap();
    house.mend();
}

#[test]
fn a_check_tells_that_something_referred_to_is_gone() {
    for damage in [
        "DELETE FROM tenant",
        "UPDATE node SET tenant = 5 WHERE n = 6",
        "UPDATE mark SET tenant = 5 WHERE n = 1",
    ] {
        let house = House::new();
        let connection = Connection::open(house.place()).unwrap();
        let statements = format!("PRAGMA foreign_keys = OFF; {damage}");
        connection.execute_batch(&statements).unwrap();
        drop(connection);
        let checked = house.open().check().unwrap();
        let damaged = BTreeMap::from([(Record::Structure, 1)]);
        assert_eq!(checked.damaged, damaged, "{damage}");
    }
}

#[test]
fn a_turn_without_a_tenant_takes_no_other_with_it() {
    for damage in ["tenant = 5", "tenant = 5, tokens = tokens + 1"] {
        for row in [2, 6] {
            let house = House::new();
            let connection = Connection::open(house.place()).unwrap();
            let statements =
                format!("PRAGMA foreign_keys = OFF; UPDATE node SET {damage} WHERE n = {row}");
            connection.execute_batch(&statements).unwrap();
            drop(connection);
            let repaired = repair(&house.place()).unwrap();
            assert_eq!(repaired.lost, BTreeMap::new(), "{damage} {row}");
            let path = house.read(&house.open()).path.expect("a path");
            let said = |turns: &[context::Turn]| {
                let texts = turns.iter().map(context::Turn::readable);
                texts.collect::<Vec<_>>()
            };
            assert_eq!(said(&path), said(&house.said), "{damage} {row}");
        }
    }
}

#[test]
fn turns_of_a_lost_tenant_go_to_no_other() {
    let house = House::new();
    let other = Tenant::from_bytes([2; 16]);
    let said = sample::line(&["a secret", "of another tenant"]);
    house
        .open()
        .write(other, &mut |store| store.record(&said).map(drop))
        .unwrap();
    let connection = Connection::open(house.place()).unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM tenant WHERE n = 2")
        .unwrap();
    drop(connection);
    let repaired = repair(&house.place()).unwrap();
    assert_eq!(repaired.lost, BTreeMap::from([(Record::Turn, 2)]));
    house
        .open()
        .read(TENANT, &mut |store| {
            assert_eq!(store.node(sample::head(&said))?, None);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_turn_that_comes_again_stands_in_its_place_again() {
    for (row, parent) in [(2, "NULL"), (2, "4000"), (6, "4"), (6, "1")] {
        for is_index_damaged in [false, true] {
            let house = House::new();
            let whole = house.read(&house.open());
            let damage = format!("UPDATE node SET parent = {parent} WHERE n = {row}");
            match is_index_damaged {
                false => house.damage(&damage),
                true => drop(
                    Connection::open(house.place())
                        .unwrap()
                        .execute_batch(&format!("PRAGMA foreign_keys = OFF; {damage}")),
                ),
            }
            let engine = house.open();
            house.read(&engine);
            engine
                .write(TENANT, &mut |store| keep(store, 4, &house.said))
                .unwrap();
            let at = format!("{row} after {parent}, {is_index_damaged}");
            assert_eq!(engine.check().unwrap().damaged, BTreeMap::new(), "{at}");
            drop(engine);
            let engine = house.open();
            assert_eq!(house.read(&engine), whole, "{at}");
            assert_eq!(engine.state().damaged, BTreeMap::new(), "{at}");
        }
    }
}
