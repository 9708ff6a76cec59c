//! A store that another process holds: what waits for it, and what is told.

use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use context::Tokens;
use context::pin::{Origin, Subject};
use history::{HistoryError, Limits, Tenant};
use history_sqlite::Sqlite;
use jiff::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use super::super::Conversations;
use super::resting::kept;
use super::{arrival, core_with, said, sent};
use crate::config::{Config, RouteChoice};
use crate::metrics::Failure;
use crate::report::{ReportError, Reports as _, Viewer};
use conversation::words::Did;

/// The longest that anything takes that waits for the store: twice its patience, and some time of its own.
const BOUND: Duration = Duration::from_millis(1_500);

const VIEWER: Viewer = Viewer::Tenant(Tenant::from_bytes([1; 16]));

/// Conversations with a store in a folder.
fn core() -> (Conversations, PathBuf, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("history.db");
    let mut config = Config::default();
    config.policy.window = Some(Tokens::new(8_000));
    config.policy.route = RouteChoice::Extractive;
    let engine = Sqlite::open(&place, Limits::NONE).unwrap();
    (core_with(config, Arc::new(engine)), place, folder)
}

/// Another process that writes until it is dropped.
fn holding(place: &Path) -> Connection {
    let other = Connection::open(place).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

/// Sends the first `len` messages and hears the answer. What was done.
async fn asks(core: &Conversations, messages: &[String], len: usize) -> Vec<Did> {
    let sending = sent(core, arrival(1, &messages[..len]));
    let (outgoing, ticket) = timeout(BOUND, sending).await.expect("it is sent in time");
    let hearing = ticket.finished(Timestamp::UNIX_EPOCH);
    timeout(BOUND, hearing).await.expect("it ends in time");
    let shared = core.directory.registry.all(None).pop().unwrap();
    while shared.lock().is_busy() {
        sleep(Duration::from_millis(1)).await;
    }
    outgoing.did
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_passes_where_no_more_writes_may_wait_and_is_kept_later() {
    let (core, place, _folder) = core();
    let messages = said(99, &"read the next file ".repeat(60));
    asks(&core, &messages, 1).await;
    let shared = core.directory.registry.all(None).pop().unwrap();
    let mut len = 3;
    while shared.lock().ready_mark().is_none() {
        asks(&core, &messages, len).await;
        len += 2;
        assert!(len < 80, "no summary");
    }
    core.writer.flush().await;
    let other = holding(&place);
    let places = core.writer.take_places();
    // The swap is to be stored before its request goes on.
    while !asks(&core, &messages, len).await.contains(&Did::Swapped) {
        len += 2;
        assert!(len < 80, "no swap");
    }
    assert!(core.parts().metrics.failures(Failure::Keeping) > 0);
    drop((places, other));
    asks(&core, &messages, len + 2).await;
    core.writer.flush().await;
    assert_eq!(kept(&core, shared.id), Some((len + 2, 0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pin_is_set_and_removed_in_time_or_not_at_all() {
    let (core, place, _folder) = core();
    asks(&core, &said(1, "go on"), 1).await;
    let id = core.directory.registry.all(None)[0].id;
    let what = || (Subject::Text("Answer in French.".to_owned()), Origin::Api);
    let pins = async || core.detail(VIEWER, id).await.unwrap().pins.len();

    let other = holding(&place);
    let set = timeout(BOUND, core.pin(VIEWER, id, what())).await;
    let set = set.expect("it is answered in time");
    assert!(
        matches!(set, Err(ReportError::Store(HistoryError::Busy))),
        "{set:?}"
    );
    assert_eq!(pins().await, 0);
    drop(other);
    core.writer.flush().await;
    assert_eq!(kept(&core, id).map(|(_, pins)| pins), Some(0));

    let pin = core.pin(VIEWER, id, what()).await.unwrap();
    let pin = context::pin::PinId::parse(&pin.id).unwrap();
    let other = holding(&place);
    let removed = timeout(BOUND, core.unpin(VIEWER, id, pin)).await;
    let removed = removed.expect("it is answered in time");
    let is_busy = matches!(removed, Err(ReportError::Store(HistoryError::Busy)));
    assert!(is_busy, "{removed:?}");
    assert_eq!(pins().await, 1);
    drop(other);
    core.writer.flush().await;
    assert_eq!(kept(&core, id).map(|(_, pins)| pins), Some(1));
    assert!(core.unpin(VIEWER, id, pin).await.unwrap());
    assert_eq!(kept(&core, id).map(|(_, pins)| pins), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_waits_long_for_its_first_write_alone() {
    let (core, place, _folder) = core();
    asks(&core, &said(1, "go on"), 1).await;
    let writer = core.writer.clone();
    writer.flush().await;
    let other = holding(&place);
    assert!(writer.in_time(pending::<()>()).await.is_none());
    // Far less than the patience with a store that is free.
    let soon = Duration::from_millis(250);
    for _ in 0..3 {
        let next = timeout(soon, writer.in_time(pending::<()>()));
        assert_eq!(next.await, Ok(None), "it waits long again");
    }
    drop(other);
    asks(&core, &said(3, "go on"), 3).await;
    writer.flush().await;
    let next = timeout(soon, writer.in_time(pending::<()>()));
    assert!(next.await.is_err(), "it is not waited for again");
}
