//! Runs the conformance suite.

use std::cell::Cell;

use history::conformance;
use history_sqlite::Sqlite;

#[test]
fn the_sqlite_engine_passes_every_check() {
    let folder = tempfile::tempdir().unwrap();
    let number = Cell::new(0);
    let broken = conformance::run(&|limits| {
        number.set(number.get() + 1);
        let place = folder.path().join(format!("{}.db", number.get()));
        Box::new(Sqlite::open(&place, limits).unwrap())
    });
    assert_eq!(broken, []);
}
