//! One tenant's rows as a store, within one transaction.

mod account;
mod conversation;
mod edition;
pub mod link;
pub mod mark;
pub mod node;
mod pin;

use std::cell::RefCell;

use history::{HistoryError, Limits, Record, Stored, Tenant};
use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use crate::damage::Damage;
use crate::error::{damaged, from_sqlite, from_sqlite_ref};

/// One tenant's store within a transaction. A write ends with [`finish`](Self::finish).
///
/// After SQLite has failed once in a write, every call fails with the same error: SQLite may have rolled
/// back by then, and later writes would be committed without the earlier ones.
pub struct TenantStore<'a> {
    connection: &'a Connection,
    access: Access<'a>,
    id: Tenant,
    /// The number of the tenant's row, or `None` before the tenant's first write.
    row: Option<i64>,
    /// The amount stored, with this transaction's changes.
    held: Stored,
    /// The amount stored at the start of the transaction.
    before: Stored,
    failed: RefCell<Option<HistoryError>>,
}

/// The rules of a transaction.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// The most that the tenant may store.
    pub limits: Limits,
    /// Where damaged rows are noted.
    pub damage: &'a Damage,
    /// True if the transaction writes.
    pub is_writing: bool,
}

/// A number that no row has, so that nothing is found with it.
pub const NO_ROW: i64 = -1;

impl<'a> TenantStore<'a> {
    /// Opens the tenant's store in the current transaction of `connection`.
    pub fn of(
        connection: &'a Connection,
        id: Tenant,
        access: Access<'a>,
    ) -> Result<Self, HistoryError> {
        let mut store = Self {
            connection,
            access,
            id,
            row: None,
            held: Stored::default(),
            before: Stored::default(),
            failed: RefCell::new(None),
        };
        let row = store.one(
            "SELECT n FROM tenant WHERE id = ?1",
            [id.as_bytes()],
            |row| row.get::<_, i64>(0),
        )?;
        let Some(row) = row else { return Ok(store) };
        // The index led here; the row itself says whose it is.
        let found = store.one(
            "SELECT id, turns, bytes, marks, conversations, beside FROM tenant WHERE n = ?1",
            [row],
            |row| {
                let number = |column| row.get(column).map(i64::cast_unsigned);
                let held = Stored {
                    turns: number(1)?,
                    bytes: number(2)?,
                    marks: number(3)?,
                    conversations: number(4)?,
                    beside: number(5)?,
                };
                Ok((row.get::<_, [u8; 16]>(0)?, held))
            },
        )?;
        match found {
            Some((own, held)) if own == *id.as_bytes() => {
                store.row = Some(row);
                store.held = held;
                store.before = held;
                Ok(store)
            }
            _ => {
                access.damage.note(Record::Structure, row);
                Err(damaged("the index of the tenants is damaged"))
            }
        }
    }

    /// Writes the amount stored. Fails if SQLite has failed before.
    pub fn finish(self) -> Result<(), HistoryError> {
        if self.held != self.before {
            self.run(
                "UPDATE tenant SET turns = ?2, bytes = ?3, marks = ?4, conversations = ?5, \
                 beside = ?6 WHERE n = ?1",
                (
                    self.tenant(),
                    self.held.turns.cast_signed(),
                    self.held.bytes.cast_signed(),
                    self.held.marks.cast_signed(),
                    self.held.conversations.cast_signed(),
                    self.held.beside.cast_signed(),
                ),
            )?;
        }
        self.failed.into_inner().map_or(Ok(()), Err)
    }

    fn tenant(&self) -> i64 {
        self.row.unwrap_or(NO_ROW)
    }

    /// Returns the number of the tenant's row, and inserts the row if necessary.
    fn tenant_to_write(&mut self) -> Result<i64, HistoryError> {
        if let Some(row) = self.row {
            return Ok(row);
        }
        self.run("INSERT INTO tenant (id) VALUES (?1)", [self.id.as_bytes()])?;
        let row = self.connection.last_insert_rowid();
        self.row = Some(row);
        Ok(row)
    }

    /// Counts `more` as stored unless that exceeds a limit. Returns the number of the tenant's row.
    fn hold(&mut self, more: Stored) -> Result<i64, HistoryError> {
        let held = self.held + more;
        self.access.limits.allow(&held)?;
        // Counted before the statement runs: after a failed statement nothing of the write is committed.
        self.held = held;
        self.tenant_to_write()
    }

    /// Returns the first row of a query, if any.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, HistoryError> {
        self.unless_failed(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_row(params, read).optional()
        })
    }

    /// Returns all rows of a query.
    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, HistoryError> {
        self.unless_failed(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map(params, read)?;
            rows.collect()
        })
    }

    /// Returns the intact rows of a query, whose first two columns are the row's number and true if its
    /// checksum holds. `read` reads the others, and returns `None` for a row that is damaged otherwise. The
    /// damaged rows are noted and left out, and so are those behind a damaged page.
    fn intact<T>(
        &self,
        kind: Record,
        (sql, params): (&str, impl Params),
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<Option<T>>,
    ) -> Result<Vec<T>, HistoryError> {
        self.unless_failed(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params)?;
            let mut found = Vec::new();
            loop {
                match rows.next() {
                    Ok(None) => return Ok(found),
                    Ok(Some(row)) => match checked(row, &mut read) {
                        Some(read) => found.push(read),
                        None => self.access.damage.note(kind, row.get(0).unwrap_or(NO_ROW)),
                    },
                    Err(error) if !self.access.is_writing && is_damage(&error) => {
                        self.access.damage.note(Record::Structure, NO_ROW);
                        return Ok(found);
                    }
                    Err(error) => return Err(error),
                }
            }
        })
    }

    /// Returns true if a query finds a row, whose first two columns are as those of
    /// [`intact`](Self::intact). A damaged row is noted and deleted with the statement `delete`, so that it
    /// can be written again.
    fn is_kept(
        &self,
        kind: Record,
        (sql, params): (&str, impl Params),
        delete: &str,
    ) -> Result<bool, HistoryError> {
        let found = self.one(sql, params, |row| {
            let is_intact: Option<bool> = row.get(1)?;
            Ok((row.get::<_, i64>(0)?, is_intact == Some(true)))
        })?;
        match found {
            None => Ok(false),
            Some((_, true)) => Ok(true),
            Some((row, false)) => {
                self.access.damage.note(kind, row);
                self.run(delete, [row]).map(|_| false)
            }
        }
    }

    /// Runs a statement and returns the number of changed rows.
    fn run(&self, sql: &str, params: impl Params) -> Result<usize, HistoryError> {
        self.unless_failed(|connection| connection.prepare_cached(sql)?.execute(params))
    }

    fn unless_failed<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        if let Some(error) = self.failed.borrow().as_ref() {
            return Err(error.clone());
        }
        work(self.connection).map_err(|error| {
            let error = from_sqlite(error);
            if self.access.is_writing {
                *self.failed.borrow_mut() = Some(error.clone());
            }
            error
        })
    }
}

/// Reads a row; `None` if it is damaged.
fn checked<T>(
    row: &Row<'_>,
    read: &mut impl FnMut(&Row<'_>) -> rusqlite::Result<Option<T>>,
) -> Option<T> {
    let is_intact: Option<bool> = row.get(1).ok()?;
    is_intact.filter(|intact| *intact)?;
    read(row).ok()?
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(from_sqlite_ref(error), HistoryError::Corrupt { .. })
}
