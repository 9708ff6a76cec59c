//! The parent of a turn as the index of parents has it: a second copy of a number that no checksum covers.

use rusqlite::{Connection, OptionalExtension as _};

/// True if the index has `parent` for the row, too.
pub fn is_sound(connection: &Connection, row: i64, parent: Option<i64>) -> rusqlite::Result<bool> {
    // Only the index has to be read for this.
    let sql = "SELECT 1 FROM node INDEXED BY node_by_parent WHERE parent IS ?1 AND n = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    statement.exists((parent, row))
}

/// The parent of a row according to the index. Reads all of it.
pub fn of(connection: &Connection, row: i64) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT parent FROM node INDEXED BY node_by_parent WHERE parent > 0 AND n = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([row], |row| row.get(0)).optional()
}
