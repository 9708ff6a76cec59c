//! The list of the gaps that repairs left in a store, so that their turns are written again when they come.

use std::collections::BTreeSet;

use context::TurnId;
use rusqlite::Connection;

use crate::damage::{Key, MOST};

/// The turns on the list, each once. More than are remembered are not read: no checksum covers the list, and each
/// turn on it is looked for.
fn listed(connection: &Connection) -> BTreeSet<[u8; 16]> {
    let bytes = 16 * MOST;
    let sql = format!("SELECT substr(value, 1, {bytes}) FROM meta WHERE name = 'gaps'");
    let list = connection.query_row(&sql, [], |row| row.get::<_, Vec<u8>>(0));
    let list = list.unwrap_or_default();
    let (ids, _) = list.as_chunks::<16>();
    ids.iter().copied().collect()
}

/// The turns that are still gaps, with the rows of their tenants.
pub fn all(connection: &Connection) -> Vec<Key> {
    let sql = "SELECT node.tenant FROM tenant JOIN node ON node.tenant = tenant.n AND node.id = ?1 \
               WHERE length(node.body) = 0";
    let tenants = |id: &[u8; 16]| -> rusqlite::Result<Vec<i64>> {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map([id], |row| row.get(0))?;
        rows.collect()
    };
    let gaps = listed(connection).into_iter().flat_map(|id| {
        let tenants = tenants(&id).unwrap_or_default();
        tenants
            .into_iter()
            .map(move |tenant| (tenant, TurnId::from_bytes(id)))
    });
    gaps.collect()
}

/// Adds rows to the list of the store that is attached as `fresh`, with what is on that of the main one.
pub fn note(connection: &Connection, rows: &[i64]) -> rusqlite::Result<()> {
    let mut ids = listed(connection);
    for row in rows {
        let sql = "SELECT id FROM fresh.node WHERE n = ?1";
        ids.insert(connection.query_row(sql, [row], |row| row.get(0))?);
    }
    if ids.is_empty() {
        return Ok(());
    }
    let list: Vec<u8> = ids.into_iter().flatten().collect();
    let sql = "INSERT OR REPLACE INTO fresh.meta (name, value) VALUES ('gaps', ?1)";
    connection.execute(sql, [list]).map(drop)
}
