//! The engine: transactions on one connection that writes and a pool of connections that read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, TryLockError};

use history::{Engine, HistoryError, Limits, Purge, Purged, ReadWork, State, Tenant, WriteWork};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::checkpoint::{self, Checkpoints};
use crate::connection::{self, Readers, lock, set_patience};
use crate::damage::Damage;
use crate::error::from_sqlite;
use crate::file::{self, Missing};
use crate::rows::{Access, TenantStore};
use crate::{gap, purge, schema};

type Written = Result<(), HistoryError>;

/// A history in one SQLite file.
pub struct Sqlite {
    file: PathBuf,
    secret: [u8; 32],
    limits: Limits,
    writer: Arc<Mutex<Connection>>,
    checkpoints: Checkpoints,
    readers: Readers,
    /// Held by a purge: two would only wait for each other.
    purging: Mutex<()>,
    damage: Damage,
}

impl Sqlite {
    /// Opens the store at `path`. Creates the file and its folder if they do not exist, with a secret
    /// from the operating system's random number generator, and migrates an older schema.
    ///
    /// # Errors
    /// [`HistoryError::Unreachable`], [`HistoryError::NotAStore`], [`HistoryError::Newer`],
    /// [`HistoryError::Corrupt`] or [`HistoryError::SecretLost`], or an error of SQLite. The contents of the file are
    /// unchanged then.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, HistoryError> {
        Self::open_or(path, limits, Missing::Create)
    }

    /// Opens the store at `path`, which must exist.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_existing(path: &Path, limits: Limits) -> Result<Self, HistoryError> {
        Self::open_or(path, limits, Missing::Refuse)
    }

    fn open_or(path: &Path, limits: Limits, missing: Missing) -> Result<Self, HistoryError> {
        let file = file::prepare(path, missing)?;
        let mut fresh = [0; 32];
        getrandom::fill(&mut fresh).map_err(|error| HistoryError::Engine {
            what: format!("the operating system returned no random numbers: {error}"),
        })?;
        let mut writer = connection::writer(&file, &fresh, missing)?;
        let damage = Damage::default();
        let secret = schema::secret(&writer, &damage)?;
        for key in gap::all(&writer) {
            damage.gap(key);
        }
        Ok(Self {
            readers: Readers::of(file.clone()),
            checkpoints: Checkpoints::start(file.clone(), &mut writer)?,
            writer: Arc::new(Mutex::new(writer)),
            file,
            secret,
            limits,
            purging: Mutex::new(()),
            damage,
        })
    }

    /// The rules of a transaction.
    pub(crate) const fn access(&self, is_writing: bool) -> Access<'_> {
        Access {
            limits: self.limits,
            damage: &self.damage,
            is_writing,
        }
    }

    /// The connections that read.
    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Runs `work` in an open transaction and commits it.
    fn within(
        &self,
        transaction: Transaction<'_>,
        tenant: Tenant,
        work: &mut WriteWork<'_>,
    ) -> Written {
        let mut store = TenantStore::of(&transaction, tenant, self.access(true))?;
        work(&mut store)?;
        store.finish()?;
        transaction.commit().map_err(from_sqlite)?;
        // The caller holds the writer, so this must not wait for the checkpoint, which may need it.
        self.checkpoints.written(&self.writer);
        Ok(())
    }

    /// The full path of the file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
}

fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    // A deferred transaction that begins with a read fails at once where another process has written since.
    // This one takes the lock first, and waits for it.
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Engine for Sqlite {
    fn secret(&self) -> Result<[u8; 32], HistoryError> {
        Ok(self.secret)
    }

    fn tenants(&self) -> Result<Vec<Tenant>, HistoryError> {
        let sql = "SELECT id FROM tenant WHERE turns > 0 OR conversations > 0 \
             OR EXISTS (SELECT 1 FROM pin WHERE pin.tenant = tenant.n) \
             OR EXISTS (SELECT 1 FROM chunk WHERE chunk.tenant = tenant.n) \
             OR EXISTS (SELECT 1 FROM owned WHERE owned.tenant = tenant.n) \
             OR EXISTS (SELECT 1 FROM spent WHERE spent.tenant = tenant.n) ORDER BY id";
        self.readers.with(|connection| {
            let mut statement = connection.prepare_cached(sql).map_err(from_sqlite)?;
            let ids = statement
                .query_map([], |row| row.get(0).map(Tenant::from_bytes))
                .map_err(from_sqlite)?;
            ids.collect::<Result<_, _>>().map_err(from_sqlite)
        })
    }

    fn write(&self, tenant: Tenant, work: &mut WriteWork<'_>) -> Written {
        let mut connection = lock(&self.writer);
        let transaction = begin(&mut connection).map_err(from_sqlite)?;
        self.within(transaction, tenant, work)
    }

    fn write_at_once(&self, tenant: Tenant, work: &mut WriteWork<'_>) -> Option<Written> {
        let mut connection = match self.writer.try_lock() {
            Ok(connection) => connection,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if let Err(error) = set_patience(&mut connection, false) {
            return Some(Err(error));
        }
        let written = match begin(&mut connection).map_err(from_sqlite) {
            Err(HistoryError::Busy) => None,
            Err(error) => Some(Err(error)),
            Ok(transaction) => Some(self.within(transaction, tenant, work)),
        };
        // A commit stands: an impatient connection only lets the next write fail earlier.
        match set_patience(&mut connection, true) {
            Err(error) if written.is_none() => Some(Err(error)),
            Ok(()) | Err(_) => written,
        }
    }

    fn read(&self, tenant: Tenant, work: &mut ReadWork<'_>) -> Written {
        self.readers.with(|connection| {
            // All that `work` reads is of one moment, whatever is written meanwhile.
            let transaction = connection.transaction().map_err(from_sqlite)?;
            work(&TenantStore::of(&transaction, tenant, self.access(false))?)
        })
    }

    fn purge(&self, what: Purge) -> Result<Purged, HistoryError> {
        let _purging = lock(&self.purging);
        // Not the connection that writes: others use that one in the pauses.
        let mut connection = connection::open_another(&self.file)?;
        let before = purge::size(&self.file);
        let mut removed = purge::remove(&mut connection, what).map_err(from_sqlite)?;
        purge::give_back(&connection).map_err(from_sqlite)?;
        checkpoint::settle(&self.file)?;
        // Measured last: the file shrinks only when its log is copied into it.
        removed.bytes = before.saturating_sub(purge::size(&self.file));
        Ok(removed)
    }

    fn preview(&self, what: Purge) -> Result<Purged, HistoryError> {
        self.readers
            .with(|connection| purge::preview(connection, what).map_err(from_sqlite))
    }

    fn settle(&self) -> Written {
        // Only one checkpoint runs at a time; beside our own, this one would leave the log as it is.
        self.checkpoints.wait();
        checkpoint::settle(&self.file)
    }

    fn state(&self) -> State {
        State {
            damaged: self.damage.counts(),
            instead_of_file: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use history::conformance::sample;
    use history::{Engine as _, HistoryError, Limits, Tenant};

    use super::{Sqlite, lock};

    #[test]
    fn a_full_disk_leaves_nothing_even_where_the_work_carries_on() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Sqlite::open(&folder.path().join("store.db"), Limits::NONE).unwrap();
        let tenant = Tenant::from_bytes([1; 16]);
        let room = |pages: i64| {
            lock(&engine.writer)
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                .unwrap();
        };
        let long = "many words ".repeat(10_000);
        let texts = ["short", long.as_str(), "after"];
        room(60);
        let answer = engine.write(tenant, &mut |store| {
            let said = sample::line(&texts);
            assert_eq!(store.record(&said), Err(HistoryError::NoSpace));
            // Work that ignores the error continues, but cannot write.
            assert_eq!(
                store.record(&sample::line(&["other"])),
                Err(HistoryError::NoSpace)
            );
            Ok(())
        });
        assert_eq!(answer, Err(HistoryError::NoSpace));
        assert_eq!(engine.tenants(), Ok(Vec::new()));
        room(9_000);
        engine
            .write(tenant, &mut |store| {
                assert_eq!(store.record(&sample::line(&texts))?.added, 3);
                Ok(())
            })
            .unwrap();
    }
}
