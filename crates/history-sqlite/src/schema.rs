//! The schema, and the way to it from every earlier one.
//!
//! A store is recognised by its `application_id`; its `user_version` counts the steps it has taken.

use history::HistoryError;
use rusqlite::{Connection, TransactionBehavior};

use crate::fault::fault;

/// `EbTd`.
const APPLICATION: u32 = 0x4562_5464;

/// The steps from an empty file. What has been released is never changed; a change is a new step.
const STEPS: &[&str] = &[
    include_str!("schema/1_tree.sql"),
    include_str!("schema/2_around.sql"),
    include_str!("schema/3_strategy.sql"),
];

/// What kind of file this is.
pub enum Found {
    /// Nothing is in it yet.
    Empty,
    /// A store of ours that has taken this many steps.
    Store(usize),
    /// Something else.
    Foreign,
}

/// Looks at a file and changes nothing.
///
/// # Errors
/// Where the file cannot be read as SQLite.
pub fn look(connection: &Connection) -> Result<Found, rusqlite::Error> {
    // All of it at one moment: another process may be making the file a store.
    let moment = connection.unchecked_transaction()?;
    let found = look_within(&moment)?;
    moment.finish()?;
    Ok(found)
}

/// Looks at a file as a transaction that has begun sees it.
fn look_within(connection: &Connection) -> Result<Found, rusqlite::Error> {
    let number = |pragma| {
        connection.pragma_query_value(None, pragma, |row| {
            // The file's header holds 32 bits, which SQLite reads as signed.
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

/// Brings a file that is empty or ours to the newest schema; all steps or none. A new store gets this
/// secret.
///
/// # Errors
/// [`HistoryError::Newer`] where the store is ahead of this version, and where SQLite fails.
pub fn migrate(connection: &mut Connection, secret: &[u8; 32]) -> Result<(), HistoryError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(fault)?;
    // Looked at again under the lock: another process may have been faster.
    let taken = match look_within(&transaction).map_err(fault)? {
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
        transaction.execute_batch(step).map_err(fault)?;
    }
    if taken == 0 {
        transaction
            .execute(
                "INSERT INTO meta (name, value) VALUES ('secret', ?1)",
                [secret],
            )
            .map_err(fault)?;
    }
    let done = |name, value: u32| transaction.pragma_update(None, name, value);
    done("application_id", APPLICATION).map_err(fault)?;
    done("user_version", number(STEPS.len())).map_err(fault)?;
    transaction.commit().map_err(fault)
}

/// That a store has taken more steps than this version knows.
pub fn newer(found: usize) -> HistoryError {
    HistoryError::Newer {
        found: number(found),
        known: number(STEPS.len()),
    }
}

/// Whether a store has taken more steps than this version knows.
pub const fn is_newer(taken: usize) -> bool {
    taken > STEPS.len()
}

fn number(steps: usize) -> u32 {
    u32::try_from(steps).unwrap_or(u32::MAX)
}
