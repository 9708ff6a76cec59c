//! One tenant's rows, as the store of that tenant, within one transaction.

mod conversation;
mod edition;
mod mark;
mod node;
mod pin;

use std::cell::RefCell;

use history::{HistoryError, Limits, Stored, Tenant};
use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use crate::fault::fault;

/// One tenant's store within a transaction. A write ends with [`finish`](Self::finish).
///
/// After SQLite has failed once, everything fails with the same error: SQLite may have rolled back by
/// then, and what would be written after that would stand alone.
pub struct TenantStore<'a> {
    connection: &'a Connection,
    limits: Limits,
    id: Tenant,
    /// The number of the tenant's row. None before anything was written for the tenant.
    row: Option<i64>,
    /// What is held, what this transaction has added included.
    held: Stored,
    /// What was held when the transaction began.
    before: Stored,
    failed: RefCell<Option<HistoryError>>,
}

/// Not the number of any row, so nothing is found with it.
const NOBODY: i64 = -1;

impl<'a> TenantStore<'a> {
    /// The store of this tenant in the transaction that `connection` is in.
    ///
    /// # Errors
    /// Where SQLite fails.
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

    /// Writes down how much is held.
    ///
    /// # Errors
    /// Where SQLite fails, or has failed before.
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
        match self.failed.into_inner() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn tenant(&self) -> i64 {
        self.row.unwrap_or(NOBODY)
    }

    /// The number of the tenant's row, which is made where there is none.
    fn tenant_to_write(&mut self) -> Result<i64, HistoryError> {
        if let Some(row) = self.row {
            return Ok(row);
        }
        self.run("INSERT INTO tenant (id) VALUES (?1)", [self.id.as_bytes()])?;
        let row = self.connection.last_insert_rowid();
        self.row = Some(row);
        Ok(row)
    }

    /// What would be held with this more.
    fn room_for(&self, more: Stored) -> Result<Stored, HistoryError> {
        let held = self.held + more;
        self.limits.allow(&held)?;
        Ok(held)
    }

    /// The first row that a statement gives.
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

    /// All rows that a statement gives.
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

    /// Runs a statement that changes rows; says how many.
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
            let error = fault(error);
            *self.failed.borrow_mut() = Some(error.clone());
            error
        })
    }
}
