//! A store that is one file once nothing is written any more.

use std::sync::Arc;

use history::{Engine as _, Limits, Tenant};
use history_sqlite::Sqlite;
use jiff::Timestamp;

use super::super::care::ROUND;
use super::{arrival, core_with, said, sent};
use crate::config::Config;

#[tokio::test]
async fn an_idle_store_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("history.db");
    let engine = Arc::new(Sqlite::open(&place, Limits::NONE).unwrap());
    let core = core_with(Config::default(), engine);
    let (_, ticket) = sent(&core, arrival(1, &said(1, "go on"))).await;
    ticket.finished(Timestamp::UNIX_EPOCH).await;
    core.writer.flush().await;
    let log = folder.path().join("history.db-wal");
    let size = || std::fs::metadata(&log).unwrap().len();
    assert!(size() > 0);
    // From here on, time passes as soon as nothing is done.
    tokio::time::pause();
    tokio::time::sleep(ROUND * 3).await;
    assert_eq!(size(), 0);
    let copy = folder.path().join("copy.db");
    std::fs::copy(&place, &copy).unwrap();
    let mut found = 0;
    let tenant = Tenant::from_bytes([1; 16]);
    let copied = Sqlite::open(&copy, Limits::NONE).unwrap();
    copied
        .read(tenant, &mut |store| {
            found = store.conversations(Timestamp::MAX, 10)?.len();
            Ok(())
        })
        .unwrap();
    assert_eq!(found, 1);
}
