//! Carrying the write-ahead log over to the file, beside the writes: it forces both to the disk, and no
//! write should wait for that.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use history::HistoryError;
use rusqlite::Connection;

use crate::connection::{self, lock};
use crate::fault::fault;

/// From so many pages on the log is carried over, beside the writes: 4 MB.
const LONG: u32 = 4_000;

/// From so many pages on the last part is carried over while nobody writes: 16 MB. A log starts anew only
/// where all of it was carried over before the next write, which without this may never be.
const TOO_LONG: u32 = 4 * LONG;

/// Whoever carries the log of one store over.
pub struct Checkpoints {
    file: PathBuf,
    /// The pages in the log after the newest write.
    pages: Arc<AtomicU32>,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl Checkpoints {
    /// Takes over from SQLite, which would do it within the write that makes the log too long.
    ///
    /// # Errors
    /// Where SQLite does not tell of writes.
    pub fn instead(file: PathBuf, writer: &mut Connection) -> Result<Self, HistoryError> {
        let pages = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&pages);
        let count = move |_: &mut rusqlite::hooks::Wal, now: i32| {
            counted.store(now.unsigned_abs(), Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(count)).map_err(fault)?;
        Ok(Self {
            file,
            pages,
            running: Mutex::new(None),
        })
    }

    /// Called after a write: starts to carry over what is in the log where it got long.
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
        // Where it fails, the log stays longer and the next write starts it again.
        let carry = move || {
            if connection::beside(&file).is_ok_and(|beside| carry_over(&beside).is_ok())
                && pages.load(Ordering::Relaxed) >= TOO_LONG
            {
                let _ = carry_over(&lock(&writer));
            }
        };
        let thread = std::thread::Builder::new()
            .name("ebbtide-checkpoint".to_owned())
            .spawn(carry);
        *running = thread.ok();
    }
}

impl Drop for Checkpoints {
    /// Waits, so that the file is nobody's when the store is gone.
    fn drop(&mut self) {
        let running = lock(&self.running).take();
        if let Some(thread) = running {
            let _ = thread.join();
        }
    }
}

/// Carries over what no reader needs in the log any more, without waiting for anybody.
fn carry_over(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
