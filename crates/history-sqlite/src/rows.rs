//! One tenant's rows as a store, within one transaction.

mod conversation;
mod edition;
mod mark;
mod node;
mod pin;

use std::cell::RefCell;

use history::{HistoryError, Limits, Stored, Tenant};
use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use crate::error::from_sqlite;

/// One tenant's store within a transaction. A write ends with [`finish`](Self::finish).
///
/// After SQLite has failed once, every call fails with the same error: SQLite may have rolled back by
/// then, and later writes would be committed without the earlier ones.
pub struct TenantStore<'a> {
    connection: &'a Connection,
    limits: Limits,
    id: Tenant,
    /// The number of the tenant's row, or `None` before the tenant's first write.
    row: Option<i64>,
    /// The amount stored, with this transaction's changes.
    held: Stored,
    /// The amount stored at the start of the transaction.
    before: Stored,
    failed: RefCell<Option<HistoryError>>,
}

/// A number that no row has, so that nothing is found with it.
const NO_ROW: i64 = -1;

impl<'a> TenantStore<'a> {
    /// Opens the tenant's store in the current transaction of `connection`.
    pub fn of(
        connection: &'a Connection,
        id: Tenant,
        limits: Limits,
    ) -> Result<Self, HistoryError> {
        let mut store = Self {
            connection,
            limits,
            id,
            row: None,
            held: Stored::default(),
            before: Stored::default(),
            failed: RefCell::new(None),
        };
        let found = store.one(
            "SELECT n, turns, bytes, marks, conversations, beside FROM tenant WHERE id = ?1",
            [id.as_bytes()],
            |row| {
                let number = |column| row.get(column).map(i64::cast_unsigned);
                let held = Stored {
                    turns: number(1)?,
                    bytes: number(2)?,
                    marks: number(3)?,
                    conversations: number(4)?,
                    beside: number(5)?,
                };
                Ok((row.get(0)?, held))
            },
        )?;
        if let Some((row, held)) = found {
            store.row = Some(row);
            store.held = held;
            store.before = held;
        }
        Ok(store)
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
        self.limits.allow(&held)?;
        // Counted before the statement runs: after a failed statement nothing of the write is committed.
        self.held = held;
        self.tenant_to_write()
    }

    /// Returns true if a query has a row.
    fn exists(&self, sql: &str, params: impl Params) -> Result<bool, HistoryError> {
        Ok(self.one(sql, params, |_| Ok(()))?.is_some())
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
            *self.failed.borrow_mut() = Some(error.clone());
            error
        })
    }
}
