//! A damaged turn reads as a gap, and hides no other turn.

use std::collections::BTreeMap;

use context::Turn;
use history::conformance::sample;
use history::{Engine as _, Record, Tenant};
use history_sqlite::repair;
use rusqlite::Connection;

use super::{House, Read, TENANT, flip, keep};

const ONE: [(Record, u64); 1] = [(Record::Turn, 1)];

/// A store in which one turn's body is damaged: the second of the three of all conversations.
fn damaged() -> (House, Read) {
    let house = House::new();
    let whole = house.read(&house.open());
    house.sql(
        "UPDATE node SET body = CAST(substr(body, 1, length(body) - 1) || 'X' AS BLOB) WHERE n = 2",
    );
    (house, whole)
}

/// Expects all that was written, with a gap in the second turn that says `words`.
#[track_caller]
fn is_whole_around_a_gap(found: Read, whole: &Read, words: &str) {
    let path = found.path.expect("a path");
    let said = whole.path.as_ref().unwrap();
    assert_eq!(path.len(), 3);
    let gap = &path[1];
    assert_eq!([&path[0], &path[2]], [&said[0], &said[2]]);
    assert!(gap.is_gap(), "{gap:?}");
    assert_eq!((gap.id(), gap.role()), (said[1].id(), said[1].role()));
    assert_eq!(gap.tokens(), said[1].tokens());
    let text = gap.readable();
    for part in ["damaged", "ebbtide store repair", words] {
        assert!(text.contains(part), "{text}");
    }
    let expected = Read {
        path: None,
        ..whole.clone()
    };
    assert_eq!(
        Read {
            path: None,
            ..found
        },
        expected
    );
}

#[test]
fn a_damaged_turn_is_a_gap_between_intact_ones() {
    let (house, whole) = damaged();
    let engine = house.open();
    is_whole_around_a_gap(house.read(&engine), &whole, "Stop the gateway");
    assert_eq!(engine.state().damaged, BTreeMap::from(ONE));
    let checked = engine.check().unwrap();
    assert_eq!(checked.damaged, BTreeMap::from(ONE));
    assert_eq!((checked.emptied, checked.behind, checked.gaps), (1, 0, 0));
}

#[test]
fn a_repair_keeps_the_turns_after_a_damaged_one() {
    let (house, whole) = damaged();
    let repaired = repair(&house.place()).unwrap();
    assert_eq!(repaired.lost, BTreeMap::from(ONE));
    assert_eq!(repaired.kept[&Record::Turn], 5);
    assert_eq!(repaired.kept[&Record::Mark], 4);
    assert_eq!(repaired.gaps, 1);
    let engine = house.open();
    is_whole_around_a_gap(house.read(&engine), &whole, "returns");
    let checked = engine.check().unwrap();
    assert_eq!((checked.damaged, checked.gaps), (BTreeMap::new(), 1));
    drop(engine);
    // Another repair keeps the gap, and knows that it is one.
    assert_eq!(repair(&house.place()).unwrap().lost, BTreeMap::new());
    let engine = house.open();
    is_whole_around_a_gap(house.read(&engine), &whole, "returns");
    assert_eq!(engine.check().unwrap().gaps, 1);
}

#[test]
fn a_turn_that_comes_again_fills_its_gap() {
    let check = |is_repaired: bool| {
        let (house, whole) = damaged();
        if is_repaired {
            repair(&house.place()).unwrap();
        }
        let engine = house.open();
        if !is_repaired {
            // A damaged turn is known once it was read.
            house.read(&engine);
        }
        engine
            .write(TENANT, &mut |store| keep(store, 4, &house.said))
            .unwrap();
        assert_eq!(house.read(&engine), whole, "{is_repaired}");
        assert_eq!(engine.state().damaged, BTreeMap::new());
        let checked = engine.check().unwrap();
        assert_eq!((checked.damaged, checked.gaps), (BTreeMap::new(), 0));
        assert_eq!(house.read(&house.open()), whole);
    };
    check(false);
    check(true);
}

#[test]
fn a_turn_that_its_id_proves_is_read_and_kept() {
    let house = House::new();
    let whole = house.read(&house.open());
    house.sql("UPDATE node SET tokens = tokens + 9000000 WHERE n = 2");
    let said = |read: Read| -> Vec<String> {
        let path = read.path.expect("a path");
        assert!(path.iter().all(|turn| turn.tokens().get() < 9_000));
        path.iter().map(Turn::readable).collect()
    };
    let engine = house.open();
    assert_eq!(said(house.read(&engine)), said(whole.clone()));
    assert_eq!(engine.check().unwrap().damaged, BTreeMap::from(ONE));
    drop(engine);
    let repaired = repair(&house.place()).unwrap();
    assert_eq!(repaired.lost, BTreeMap::new());
    let engine = house.open();
    assert_eq!(said(house.read(&engine)), said(whole));
    assert_eq!(engine.check().unwrap().damaged, BTreeMap::new());
}

#[test]
fn a_check_counts_the_turns_that_a_repair_will_leave_out() {
    let house = House::new();
    // The first row is gone from the table: what stands on it has no way to the root.
    let connection = Connection::open(house.place()).unwrap();
    connection
        .execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM node WHERE n = 1")
        .unwrap();
    drop(connection);
    let engine = house.open();
    let checked = engine.check().unwrap();
    drop(engine);
    let repaired = repair(&house.place()).unwrap();
    assert_eq!(checked.behind, repaired.lost[&Record::Turn]);
    assert_eq!(checked.behind, 5);
}

#[test]
fn a_body_that_cannot_be_read_is_a_gap_too() {
    let house = House::new();
    let engine = house.open();
    let whole = house.read(&engine);
    engine.settle().unwrap();
    drop(engine);
    // The text of the last turn goes on in pages of their own, and each begins with the number of the next.
    let bytes = std::fs::read(house.place()).unwrap();
    let words = b"number 4 number 4";
    let page = (0..bytes.len() / 1024)
        .map(|page| page * 1024)
        .find(|page| {
            bytes[page + 5..].starts_with(&words[..8]) || {
                bytes[page + 4..page + 30]
                    .windows(8)
                    .any(|it| it == &words[..8])
            }
        })
        .expect("a page of text");
    flip(&house.place(), page, 6);
    let engine = house.open();
    let found = house.read(&engine).path.expect("a path");
    let said = whole.path.unwrap();
    assert_eq!(found[..2], said[..2]);
    assert!(found[2].is_gap(), "{:?}", found[2]);
    engine
        .read(TENANT, &mut |store| {
            let (turn, _) = store.node(sample::head(&said))?.expect("a turn");
            assert!(turn.is_gap());
            Ok(())
        })
        .unwrap();
    drop(engine);
    repair(&house.place()).unwrap();
    let found = house.read(&house.open()).path.expect("a path");
    assert_eq!(found[..2], said[..2]);
    assert!(found[2].is_gap(), "{:?}", found[2]);
}

/// Two tenants said the same, and the first turn of both is damaged.
#[test]
fn a_turn_that_comes_again_fills_the_gap_of_its_tenant_alone() {
    let check = |is_repaired: bool| {
        let house = House::new();
        let other = Tenant::from_bytes([2; 16]);
        let engine = house.open();
        engine
            .write(other, &mut |store| store.record(&house.said).map(drop))
            .unwrap();
        drop(engine);
        Connection::open(house.place())
            .unwrap()
            .execute("UPDATE node SET body = x'00' WHERE parent IS NULL", [])
            .unwrap();
        if is_repaired {
            assert_eq!(repair(&house.place()).unwrap().gaps, 2);
        }
        let engine = house.open();
        let gaps = |tenant: Tenant| {
            let mut gaps = 0;
            engine
                .read(tenant, &mut |store| {
                    let path = store.path(sample::head(&house.said))?;
                    gaps = path.iter().filter(|turn| turn.is_gap()).count();
                    Ok(())
                })
                .unwrap();
            gaps
        };
        assert_eq!([TENANT, other].map(gaps), [1, 1]);
        // Unread in between: reading notes a damaged turn once more.
        for tenant in [TENANT, other] {
            engine
                .write(tenant, &mut |store| store.record(&house.said).map(drop))
                .unwrap();
        }
        assert_eq!([TENANT, other].map(gaps), [0, 0], "{is_repaired}");
        assert_eq!(engine.check().unwrap().gaps, 0);
    };
    check(false);
    check(true);
}

#[test]
fn a_list_of_gaps_costs_no_more_than_its_gaps() {
    let (house, _) = damaged();
    repair(&house.place()).unwrap();
    let list = || -> Vec<u8> {
        let sql = "SELECT value FROM meta WHERE name = 'gaps'";
        let connection = Connection::open(house.place()).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let one = list();
    let long = one.repeat(1 << 16);
    Connection::open(house.place())
        .unwrap()
        .execute("UPDATE meta SET value = ?1 WHERE name = 'gaps'", [long])
        .unwrap();
    let engine = house.open();
    assert_eq!(engine.check().unwrap().gaps, 1);
    drop(engine);
    repair(&house.place()).unwrap();
    assert_eq!(list(), one);
}
