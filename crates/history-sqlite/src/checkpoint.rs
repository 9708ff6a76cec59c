//! Checkpoints of the write-ahead log in a thread of their own: a checkpoint syncs the log and the file, and
//! no write should wait for that.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use history::HistoryError;
use rusqlite::Connection;

use crate::connection::{self, lock};
use crate::error::from_sqlite;

/// Pages in the log that start a checkpoint beside the writes: 4 MB.
const LONG: u32 = 4_000;

/// Pages in the log that start a final checkpoint while writes wait: 16 MB. The log restarts only after a
/// checkpoint of all of it before the next write, which might otherwise never happen.
const TOO_LONG: u32 = 4 * LONG;

/// The checkpoints of one store.
pub struct Checkpoints {
    file: PathBuf,
    /// Pages in the log after the newest write.
    pages: Arc<AtomicU32>,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl Checkpoints {
    /// Replaces SQLite's automatic checkpoints, which run within the write that makes the log too long.
    pub fn start(file: PathBuf, writer: &mut Connection) -> Result<Self, HistoryError> {
        let pages = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&pages);
        let count = move |_: &mut rusqlite::hooks::Wal, now: i32| {
            counted.store(now.unsigned_abs(), Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(count)).map_err(from_sqlite)?;
        Ok(Self {
            file,
            pages,
            running: Mutex::new(None),
        })
    }

    /// Starts a checkpoint if the log is long. Called after each write.
    pub fn written(&self, writer: &Arc<Mutex<Connection>>) {
        if self.pages.load(Ordering::Relaxed) < LONG {
            return;
        }
        let mut running = lock(&self.running);
        if running.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let (file, writer, pages) = (
            self.file.clone(),
            Arc::clone(writer),
            Arc::clone(&self.pages),
        );
        // If it fails, the log stays long and the next write starts another one.
        let run = move || {
            if connection::open_another(&file).is_ok_and(|other| checkpoint(&other).is_ok())
                && pages.load(Ordering::Relaxed) >= TOO_LONG
            {
                let _ = checkpoint(&lock(&writer));
            }
        };
        let thread = std::thread::Builder::new()
            .name("ebbtide-checkpoint".to_owned())
            .spawn(run);
        *running = thread.ok();
    }

    /// Waits for the checkpoint under way.
    pub fn wait(&self) {
        // Deadlocks if the caller holds the writer: the thread may be waiting for it.
        let running = lock(&self.running).take();
        if let Some(thread) = running {
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpoints {
    /// Waits for the thread, so that nothing has the file open afterwards.
    fn drop(&mut self) {
        self.wait();
    }
}

/// Copies all of the log into the file and empties it, unless somebody else reads or writes.
pub fn settle(file: &Path) -> Result<(), HistoryError> {
    if connection::log_size(file) == 0 {
        return Ok(());
    }
    let mut other = connection::open_another(file)?;
    connection::set_patience(&mut other, false)?;
    // First without the lock, so that it is held only for what is left.
    checkpoint(&other).map_err(from_sqlite)?;
    let emptied = other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    match emptied.map_err(from_sqlite) {
        Ok(()) | Err(HistoryError::Busy) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Copies what no reader needs in the log any more, without waiting for anyone.
pub fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
