//! Tests of the write-ahead log: checkpoints run beside the writes, and no write waits for one.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use context::TurnId;
use history::conformance::sample;
use history::{Engine, HistoryError, Limits, Tenant};
use history_sqlite::Sqlite;
use rusqlite::Connection;

const TENANT: Tenant = Tenant::from_bytes([1; 16]);

fn length(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |file| file.len())
}

#[test]
fn it_does_not_grow_with_what_is_written() {
    const MEGA: u64 = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let log = folder.path().join("store.db-wal");
    let engine = Sqlite::open(&file, Limits::NONE).unwrap();
    let mut head = TurnId::ROOT;
    let (mut longest, mut n) = (0, 0);
    while length(&file) < 40 * MEGA {
        assert!(n < 2_000, "{} in the file after {n} writes", length(&file));
        let turn = sample::turn(head, &format!("{n:6} words ").repeat(4_000));
        engine
            .write(TENANT, &mut |store| store.append(head, &turn).map(drop))
            .unwrap();
        head = turn.id();
        longest = longest.max(length(&log));
        n += 1;
    }
    // Without pauses between writes, a full checkpoint happens only from 16 MB on.
    assert!(longest < 48 * MEGA, "a log of {longest} bytes");
}

#[test]
fn a_write_that_may_not_wait_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let engine = Sqlite::open(&file, Limits::NONE).unwrap();
    let said = sample::line(&["at once"]);
    let write = || engine.write_at_once(TENANT, &mut |store| store.record(&said).map(drop));
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(write(), None, "another process writes");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(write(), Some(Ok(())));
    let refused = engine.write_at_once(TENANT, &mut |_| Err(HistoryError::NoSpace));
    assert_eq!(refused, Some(Err(HistoryError::NoSpace)));
    // A write that may wait still waits as long.
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let (done, patient) = channel();
        let engine = &engine;
        scope.spawn(move || done.send(engine.write(TENANT, &mut |_| Ok(()))));
        let waiting = patient.recv_timeout(Duration::from_millis(50));
        assert_eq!(waiting, Err(RecvTimeoutError::Timeout));
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(patient.recv().unwrap(), Ok(()));
    });
}
