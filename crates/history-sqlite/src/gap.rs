//! The list of the gaps that repairs left in a store, so that their turns are written again when they come.

use context::TurnId;
use rusqlite::Connection;

use crate::damage::Key;

const LIST: &str = "SELECT value FROM meta WHERE name = 'gaps'";

/// The turns that are still gaps, with the rows of their tenants.
pub fn all(connection: &Connection) -> Vec<Key> {
    let Ok(list) = connection.query_row(LIST, [], |row| row.get::<_, Vec<u8>>(0)) else {
        return Vec::new();
    };
    let sql = "SELECT node.tenant FROM tenant JOIN node ON node.tenant = tenant.n AND node.id = ?1 \
               WHERE length(node.body) = 0";
    let tenants = |id: &[u8; 16]| -> rusqlite::Result<Vec<i64>> {
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map([id], |row| row.get(0))?;
        rows.collect()
    };
    let (ids, _) = list.as_chunks::<16>();
    let gaps = ids.iter().flat_map(|id| {
        let tenants = tenants(id).unwrap_or_default();
        tenants
            .into_iter()
            .map(move |tenant| (tenant, TurnId::from_bytes(*id)))
    });
    gaps.collect()
}

/// Adds rows to the list of the store that is attached as `fresh`, with what is on that of the main one.
pub fn note(connection: &Connection, rows: &[i64]) -> rusqlite::Result<()> {
    let mut list: Vec<u8> = connection
        .query_row(LIST, [], |row| row.get(0))
        .unwrap_or_default();
    for row in rows {
        let sql = "SELECT id FROM fresh.node WHERE n = ?1";
        list.extend(connection.query_row(sql, [row], |row| row.get::<_, [u8; 16]>(0))?);
    }
    if list.is_empty() {
        return Ok(());
    }
    let sql = "INSERT OR REPLACE INTO fresh.meta (name, value) VALUES ('gaps', ?1)";
    connection.execute(sql, [list]).map(drop)
}
