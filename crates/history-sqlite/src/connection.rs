//! The connections to the file: one that writes and a pool of readers.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use history::HistoryError;
use rusqlite::{Connection, OpenFlags};

use crate::error::{damaged, from_sqlite};
use crate::file::Missing;
use crate::schema::{self, Found};
use crate::sum;

/// The longest that a write waits for another process.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The pause before a busy file is opened again.
const PAUSE: Duration = Duration::from_millis(5);

/// The number of attempts to open a busy file, [`PATIENCE`] in all.
const TRIES: u32 = 1_000;

/// The pause before a busy lock is tried again. SQLite's own pauses grow to 100 ms, which misses the gaps that
/// others leave.
const POLL: Duration = Duration::from_millis(1);

/// The most idle readers kept open.
const IDLE: usize = 8;

/// The capacity of a connection's statement cache: more than there are statements.
const STATEMENTS: usize = 96;

/// Settings of every connection. With a write-ahead log, `synchronous = NORMAL` loses nothing committed when
/// the process ends; a power cut may lose the latest commits; neither leaves half a commit. `secure_delete`
/// overwrites deleted data, so purged text does not stay in the file.
const SETTINGS: &str = "
    PRAGMA foreign_keys = ON;
    PRAGMA synchronous = NORMAL;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA secure_delete = ON;
    PRAGMA journal_size_limit = 67108864;
";

/// Settings of a new file, before its first write. With pages of 1 kB a coding agent's session takes 1.2
/// times its text, with SQLite's default of 4 kB 1.4 times: a turn of 2 kB would fill a page of its own.
const FORM: &str = "PRAGMA page_size = 1024; PRAGMA auto_vacuum = incremental";

/// Opens the connection that writes, and migrates the file to the newest schema. A new store gets `secret`, unless
/// there must be one already.
///
/// # Errors
/// [`HistoryError::NotAStore`], [`HistoryError::Newer`], or an error of SQLite. The file is unchanged then.
pub fn writer(
    file: &Path,
    secret: &[u8; 32],
    missing: Missing,
) -> Result<Connection, HistoryError> {
    for _ in 1..TRIES {
        match write(file, secret, missing) {
            Err(HistoryError::Busy) => pause(PAUSE),
            opened => return opened,
        }
    }
    write(file, secret, missing)
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process holds the file or its lock, and no event tells when it is free"
)]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Waits for a lock, [`PATIENCE`] in all.
fn patiently(tries: i32) -> bool {
    pause(POLL);
    POLL.saturating_mul(tries.unsigned_abs()) < PATIENCE
}

/// Lets a connection wait for a lock, or fail at once.
pub fn set_patience(connection: &mut Connection, is_patient: bool) -> Result<(), HistoryError> {
    let handler: Option<fn(i32) -> bool> = if is_patient { Some(patiently) } else { None };
    connection.busy_handler(handler).map_err(from_sqlite)
}

fn write(file: &Path, secret: &[u8; 32], missing: Missing) -> Result<Connection, HistoryError> {
    let mut connection = connect(file)?;
    // The caller tries again: this way the whole has a bound, and not each statement.
    set_patience(&mut connection, false)?;
    let not_a_store = || HistoryError::NotAStore {
        place: file.display().to_string(),
    };
    match schema::look(&connection) {
        Ok(Found::Store(taken)) if schema::is_newer(taken) => return Err(schema::newer(taken)),
        Ok(Found::Store(_)) => {}
        Ok(Found::Empty) if missing == Missing::Refuse => return Err(not_a_store()),
        Ok(Found::Empty) => connection.execute_batch(FORM).map_err(from_sqlite)?,
        Ok(Found::Foreign) => return Err(not_a_store()),
        Err(error) if is_foreign(&error) => {
            return Err(match is_damaged_store(file) {
                true => damaged("the beginning of the file"),
                false => not_a_store(),
            });
        }
        Err(error) => return Err(from_sqlite(error)),
    }
    apply_settings(&connection)?;
    // After `FORM`: with a write-ahead log, SQLite does not change the size of pages any more.
    enable_write_ahead_log(&connection)?;
    schema::migrate(&mut connection, secret)?;
    set_patience(&mut connection, true)?;
    Ok(connection)
}

/// Returns true if the file was a store, though its beginning is damaged.
fn is_damaged_store(file: &Path) -> bool {
    let mut header = [0; 100];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && schema::is_ours(&header)
}

fn is_foreign(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase)
}

/// Opens another connection to a file that is a store.
pub fn open_another(file: &Path) -> Result<Connection, HistoryError> {
    let connection = connect(file)?;
    apply_settings(&connection)?;
    Ok(connection)
}

fn connect(file: &Path) -> Result<Connection, HistoryError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(file, flags).map_err(|error| HistoryError::Unreachable {
            place: file.display().to_string(),
            what: error.to_string(),
        })?;
    set_patience(&mut connection, true)?;
    sum::register(&connection).map_err(from_sqlite)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn apply_settings(connection: &Connection) -> Result<(), HistoryError> {
    connection.execute_batch(SETTINGS).map_err(from_sqlite)
}

fn enable_write_ahead_log(connection: &Connection) -> Result<(), HistoryError> {
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(from_sqlite)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(HistoryError::Engine {
        what: "the file system has no shared memory, which a write-ahead log needs".to_owned(),
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

    /// Runs `work` on a connection that no other thread uses meanwhile.
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
        let connection = open_another(&self.file)?;
        connection
            .pragma_update(None, "query_only", true)
            .map_err(from_sqlite)?;
        Ok(connection)
    }
}

/// The size of the write-ahead log in bytes.
pub fn log_size(file: &Path) -> u64 {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(Path::new(&log)).map_or(0, |log| log.len())
}

/// Takes a lock even if a thread panicked while holding it: dropping an uncommitted transaction rolls it back,
/// so the connection is always consistent.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
