//! The schema and the migrations to it.
//!
//! A store is recognized by its `application_id`; its `user_version` counts the migration steps taken.

use history::HistoryError;
use rusqlite::{Connection, TransactionBehavior};

use crate::error::from_sqlite;

/// `EbTd`.
const APPLICATION: u32 = 0x4562_5464;

/// The steps from an empty file. Released steps never change; every change is a new step.
const STEPS: &[&str] = &[
    include_str!("schema/1_tree.sql"),
    include_str!("schema/2_around.sql"),
    include_str!("schema/3_strategy.sql"),
];

/// The contents of a file.
pub enum Found {
    /// An empty file.
    Empty,
    /// An Ebbtide store that has taken this many steps.
    Store(usize),
    /// Any other database.
    Foreign,
}

/// Identifies the contents of a file without changing it. Fails if SQLite cannot read the file.
pub fn look(connection: &Connection) -> Result<Found, rusqlite::Error> {
    // In one snapshot: another process may be turning the file into a store.
    let moment = connection.unchecked_transaction()?;
    let found = look_within(&moment)?;
    moment.finish()?;
    Ok(found)
}

/// Identifies the contents within an open transaction.
fn look_within(connection: &Connection) -> Result<Found, rusqlite::Error> {
    let number = |pragma| {
        // The file's header holds 32 bits, which SQLite reads as signed.
        connection.pragma_query_value(None, pragma, |row| {
            row.get::<_, i32>(0).map(i32::cast_unsigned)
        })
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version, tables) {
        (APPLICATION, version, _) => Found::Store(version as usize),
        (0, 0, 0) => Found::Empty,
        _ => Found::Foreign,
    })
}

/// Migrates an empty file or a store to the newest schema in one transaction. A new store gets `secret`.
///
/// # Errors
/// [`HistoryError::Newer`] if the store is ahead of this version, or an error of SQLite.
pub fn migrate(connection: &mut Connection, secret: &[u8; 32]) -> Result<(), HistoryError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(from_sqlite)?;
    // Checked again under the lock: another process may have migrated it.
    let taken = match look_within(&transaction).map_err(from_sqlite)? {
        Found::Store(taken) => taken,
        Found::Empty | Found::Foreign => 0,
    };
    if taken == STEPS.len() {
        return Ok(());
    }
    if taken > STEPS.len() {
        return Err(newer(taken));
    }
    for step in STEPS.iter().skip(taken) {
        transaction.execute_batch(step).map_err(from_sqlite)?;
    }
    if taken == 0 {
        transaction
            .execute(
                "INSERT INTO meta (name, value) VALUES ('secret', ?1)",
                [secret],
            )
            .map_err(from_sqlite)?;
    }
    let done = |name, value: u32| transaction.pragma_update(None, name, value);
    done("application_id", APPLICATION).map_err(from_sqlite)?;
    done("user_version", number(STEPS.len())).map_err(from_sqlite)?;
    transaction.commit().map_err(from_sqlite)
}

/// The error for a store with more steps than this version has.
pub fn newer(found: usize) -> HistoryError {
    HistoryError::Newer {
        found: number(found),
        known: number(STEPS.len()),
    }
}

/// Returns true if a store has more steps than this version has.
pub const fn is_newer(taken: usize) -> bool {
    taken > STEPS.len()
}

fn number(steps: usize) -> u32 {
    u32::try_from(steps).unwrap_or(u32::MAX)
}
