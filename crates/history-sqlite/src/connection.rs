//! Connections: one that writes, and as many that read as read at once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use history::HistoryError;
use rusqlite::{Connection, OpenFlags};

use crate::fault::fault;
use crate::schema::{self, Found};

/// How long a write waits for another process.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How long until a file that was busy while it was opened is opened again.
const PAUSE: Duration = Duration::from_millis(5);

/// How often a file that is busy is opened before it is given up; [`PATIENCE`] in all.
const TRIES: u32 = 1_000;

/// How many connections wait to be read from again.
const IDLE: usize = 8;

/// How many statements a connection keeps prepared: all that there are.
const STATEMENTS: usize = 64;

/// Set on every connection. `synchronous = NORMAL` with a write-ahead log: the end of the process loses
/// nothing that was committed, a power cut may lose the last commits, and neither leaves half a commit.
/// `secure_delete` overwrites what is deleted, so that purged text is not left in the file.
const SETTINGS: &str = "
    PRAGMA foreign_keys = ON;
    PRAGMA synchronous = NORMAL;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA secure_delete = ON;
    PRAGMA journal_size_limit = 67108864;
";

/// Said before anything is in the file. With pages of 1 kB a coding agent's session takes 1.2 times its
/// text, with SQLite's usual 4 kB 1.4 times: a turn of 2 kB would fill a page of its own.
const FORM: &str = "PRAGMA page_size = 1024; PRAGMA auto_vacuum = incremental";

/// Opens the connection that writes; the file has the newest schema afterwards. The secret is for a
/// store that is new.
///
/// # Errors
/// [`HistoryError::NotAStore`], [`HistoryError::Newer`], and where SQLite fails. The file is left as it
/// was then.
pub fn writer(file: &Path, secret: &[u8; 32]) -> Result<Connection, HistoryError> {
    for _ in 1..TRIES {
        match write(file, secret) {
            Err(HistoryError::Busy) => pause(),
            opened => return opened,
        }
    }
    write(file, secret)
}

#[expect(
    clippy::disallowed_methods,
    reason = "SQLite does not wait where two processes turn on the write-ahead log at once: it tells one \
              of them that the file is busy, and no event says when it no longer is"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}

fn write(file: &Path, secret: &[u8; 32]) -> Result<Connection, HistoryError> {
    let mut connection = connect(file)?;
    let not_a_store = || HistoryError::NotAStore {
        place: file.display().to_string(),
    };
    match schema::look(&connection) {
        Ok(Found::Store(taken)) if schema::is_newer(taken) => return Err(schema::newer(taken)),
        Ok(Found::Store(_)) => {}
        Ok(Found::Empty) => connection.execute_batch(FORM).map_err(fault)?,
        Ok(Found::Foreign) => return Err(not_a_store()),
        Err(error) if is_foreign(&error) => return Err(not_a_store()),
        Err(error) => return Err(fault(error)),
    }
    settle(&connection)?;
    write_ahead(&connection)?;
    schema::migrate(&mut connection, secret)?;
    Ok(connection)
}

fn is_foreign(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase)
}

/// Opens a connection beside the one that writes, to a file that is a store.
///
/// # Errors
/// Where SQLite fails.
pub fn beside(file: &Path) -> Result<Connection, HistoryError> {
    let connection = connect(file)?;
    settle(&connection)?;
    Ok(connection)
}

fn connect(file: &Path) -> Result<Connection, HistoryError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(file, flags).map_err(|error| HistoryError::Unreachable {
            place: file.display().to_string(),
            what: error.to_string(),
        })?;
    connection.busy_timeout(PATIENCE).map_err(fault)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn settle(connection: &Connection) -> Result<(), HistoryError> {
    connection.execute_batch(SETTINGS).map_err(fault)
}

fn write_ahead(connection: &Connection) -> Result<(), HistoryError> {
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(fault)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(HistoryError::Engine {
        what: "this file system has no shared memory, which a write-ahead log needs".to_owned(),
    })
}

/// The connections that read.
pub struct Readers {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub const fn of(file: PathBuf) -> Self {
        Self {
            file,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Reads on a connection that nobody else uses meanwhile.
    ///
    /// # Errors
    /// Those of `work`, and where no connection can be opened.
    pub fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, HistoryError>,
    ) -> Result<T, HistoryError> {
        let idle = lock(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.open()?,
        };
        let result = work(&mut connection);
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE {
            idle.push(connection);
        }
        result
    }

    fn open(&self) -> Result<Connection, HistoryError> {
        let connection = beside(&self.file)?;
        connection
            .pragma_update(None, "query_only", true)
            .map_err(fault)?;
        Ok(connection)
    }
}

/// Takes a lock whether or not somebody panicked under it: a transaction that is not committed is
/// rolled back when it is dropped, so a connection is never left half way.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
