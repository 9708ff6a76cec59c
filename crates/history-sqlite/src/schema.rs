//! The schema and the migrations to it.
//!
//! A store is recognized by its `application_id`; its `user_version` counts the migration steps taken.

use history::{HistoryError, Record};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use crate::damage::Damage;
use crate::error::from_sqlite;

/// The row number of the secret among damaged rows.
const SECRET: i64 = -2;

/// `EbTd`.
const APPLICATION: u32 = 0x4562_5464;

/// The steps from an empty file. Released steps never change; every change is a new step.
const STEPS: &[&str] = &[
    include_str!("schema/1_tree.sql"),
    include_str!("schema/2_around.sql"),
    include_str!("schema/3_strategy.sql"),
    include_str!("schema/4_sums.sql"),
    include_str!("schema/5_people.sql"),
    include_str!("schema/6_account.sql"),
    include_str!("schema/7_noted.sql"),
    include_str!("schema/8_owned.sql"),
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
    if let Some(steps) = noted_version(connection)
        && (application == APPLICATION || version as usize == steps)
    {
        return Ok(Found::Store(steps));
    }
    Ok(match (application, version, tables) {
        (APPLICATION, version, _) => Found::Store(version as usize),
        (0, 0, 0) => Found::Empty,
        _ => Found::Foreign,
    })
}

/// The number of steps as the store itself notes it since the fourth. It holds where the header, which has
/// no checksum, is damaged.
fn noted_version(connection: &Connection) -> Option<usize> {
    let sql = "SELECT value FROM meta WHERE name = 'version'";
    let value: Vec<u8> = connection.query_row(sql, [], |row| row.get(0)).ok()?;
    let (steps, check) = value.split_first_chunk::<4>()?;
    let steps = u32::from_le_bytes(*steps);
    (*check == (!steps).to_le_bytes()).then_some(steps as usize)
}

/// Notes the number of steps in the store itself.
fn note_version(connection: &Connection, steps: u32) -> rusqlite::Result<()> {
    let value = [steps.to_le_bytes(), (!steps).to_le_bytes()].concat();
    let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES ('version', ?1)";
    connection.execute(sql, [value]).map(drop)
}

/// Returns true if this file begins as an Ebbtide store, whatever else of its header is damaged.
pub fn is_ours(header: &[u8]) -> bool {
    header.get(68..72) == Some(&APPLICATION.to_be_bytes())
}

/// The secret: one of its two copies, of which a damaged one is noticed and left.
///
/// # Errors
/// [`HistoryError::SecretLost`] if it is gone.
pub fn secret(connection: &Connection, damage: &Damage) -> Result<[u8; 32], HistoryError> {
    let read = |name| {
        let sql = "SELECT value FROM meta WHERE name = ?1";
        connection
            .query_row(sql, [name], |row| row.get::<_, [u8; 32]>(0))
            .ok()
    };
    let sum = |secret: &[u8; 32]| blake3::hash(secret);
    let kept: Option<[u8; 32]> = read("secret sum");
    let (one, other) = (read("secret"), read("secret again"));
    let is_sound = |secret: &[u8; 32]| kept.is_none_or(|kept| *sum(secret).as_bytes() == kept);
    if one != other || !one.is_some_and(|one| is_sound(&one)) {
        damage.note(Record::Structure, SECRET);
    }
    // Of two equal copies the sum is the damaged one.
    let agreed = one.filter(|_| one == other);
    let sound = [one, other].into_iter().flatten().find(is_sound);
    sound.or(agreed).ok_or(HistoryError::SecretLost)
}

/// Adds the sum of the secret, with which a damaged copy is told from a sound one.
fn note_secret(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT value FROM meta WHERE name = 'secret'";
    let Some(secret) = connection
        .query_row(sql, [], |row| row.get::<_, Vec<u8>>(0))
        .optional()?
    else {
        return Ok(());
    };
    let sum = blake3::hash(&secret);
    let sql =
        "INSERT OR REPLACE INTO meta (name, value) VALUES ('secret again', ?1), ('secret sum', ?2)";
    connection.execute(sql, (secret, sum.as_bytes())).map(drop)
}

/// Migrates an empty file or a store to the newest schema in one transaction. A new store gets `secret`.
///
/// # Errors
/// [`HistoryError::Newer`] if the store is ahead of this version, or an error of SQLite.
pub fn migrate(connection: &mut Connection, secret: &[u8; 32]) -> Result<(), HistoryError> {
    // A store of this version is not written to, so that one that another process holds can be opened.
    if let Ok(Found::Store(taken)) = look(connection)
        && taken == STEPS.len()
    {
        return Ok(());
    }
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
    note_secret(&transaction).map_err(from_sqlite)?;
    note_version(&transaction, number(STEPS.len())).map_err(from_sqlite)?;
    let done = |name, value: u32| transaction.pragma_update(None, name, value);
    // Within the transaction, so a crash leaves the old file or a whole store.
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
