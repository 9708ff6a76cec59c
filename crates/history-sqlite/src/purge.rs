//! Purges, which also return the freed pages to the file system.

use std::path::Path;

use history::{Purge, Purged};
use rusqlite::{Connection, TransactionBehavior};

use crate::timestamp;

/// The end of the transaction of a purge.
#[derive(Clone, Copy)]
pub enum Finish {
    /// Keeps the changes.
    Commit,
    /// Discards the changes; only the counts are needed.
    RollBack,
}

/// Pages freed per statement, so that other processes can write in between.
const PAGES: u32 = 1_000;

/// Removes the selected conversations in one transaction per tenant. `Purged::bytes` counts the freed
/// pages.
pub fn remove(
    connection: &mut Connection,
    what: Purge,
    finish: Finish,
) -> rusqlite::Result<Purged> {
    let mut all = Purged::default();
    for tenant in tenants(connection, &what)? {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        all += remove_of(&transaction, tenant, &what)?;
        match finish {
            Finish::Commit => transaction.commit()?,
            Finish::RollBack => transaction.rollback()?,
        }
    }
    Ok(all)
}

fn tenants(connection: &Connection, what: &Purge) -> rusqlite::Result<Vec<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT n FROM tenant WHERE ?1 IS NULL OR id = ?1")?;
    let only = what.tenant.as_ref().map(history::Tenant::as_bytes);
    statement.query_map([only], |row| row.get(0))?.collect()
}

const CONVERSATIONS: &str = "DELETE FROM conversation WHERE tenant = ?1 \
     AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR seen < ?3)";

const PINS: &str = "DELETE FROM pin WHERE tenant = ?1 \
     AND conversation NOT IN (SELECT id FROM conversation WHERE tenant = ?1)";

/// Foreign keys remove the marks, editions and kept messages of the removed turns.
const TURNS: &str = "WITH RECURSIVE kept (n, parent) AS (\
       SELECT node.n, node.parent FROM conversation \
       JOIN node ON node.tenant = ?1 AND node.id = conversation.head \
       WHERE conversation.tenant = ?1 \
       UNION SELECT node.n, node.parent FROM kept JOIN node ON node.n = kept.parent) \
     DELETE FROM node WHERE tenant = ?1 AND n NOT IN (SELECT n FROM kept)";

const CHUNKS: &str = "DELETE FROM chunk WHERE tenant = ?1 AND (?2 OR NOT EXISTS (\
     SELECT 1 FROM conversation WHERE tenant = ?1))";

const COUNT: &str = "UPDATE tenant SET \
     turns = (SELECT count(*) FROM node WHERE tenant = ?1), \
     bytes = (SELECT coalesce(sum(text), 0) FROM node WHERE tenant = ?1), \
     marks = (SELECT count(*) FROM mark WHERE tenant = ?1), \
     conversations = (SELECT count(*) FROM conversation WHERE tenant = ?1), \
     beside = \
       (SELECT coalesce(sum(octet_length(summary)), 0) FROM mark WHERE tenant = ?1) \
       + (SELECT coalesce(sum(octet_length(text)), 0) FROM pin WHERE tenant = ?1) \
       + (SELECT coalesce(sum(octet_length(summary)), 0) FROM chunk WHERE tenant = ?1) \
       + (SELECT coalesce(sum(octet_length(edition.text)), 0) FROM edition \
          JOIN node ON node.n = edition.node WHERE node.tenant = ?1) \
       + (SELECT coalesce(sum(octet_length(message)), 0) FROM original \
          JOIN node ON node.n = original.node WHERE node.tenant = ?1) \
     WHERE n = ?1";

const TENANT: &str = "DELETE FROM tenant WHERE n = ?1 AND turns = 0 AND conversations = 0 \
     AND NOT EXISTS (SELECT 1 FROM pin WHERE tenant = ?1) \
     AND NOT EXISTS (SELECT 1 FROM chunk WHERE tenant = ?1)";

fn remove_of(connection: &Connection, tenant: i64, what: &Purge) -> rusqlite::Result<Purged> {
    let free = free_bytes(connection)?;
    let marks = marks_of(connection, tenant)?;
    let id = what
        .conversation
        .as_ref()
        .map(history::ConversationId::as_bytes);
    let before = what.before.map(timestamp::to_sql);
    let conversations = connection.execute(CONVERSATIONS, (tenant, id, before))?;
    connection.execute(PINS, [tenant])?;
    let turns = connection.execute(TURNS, [tenant])?;
    connection.execute(CHUNKS, (tenant, turns > 0))?;
    connection.execute(COUNT, [tenant])?;
    let left = marks_of(connection, tenant)?;
    connection.execute(TENANT, [tenant])?;
    Ok(Purged {
        conversations: conversations as u64,
        turns: turns as u64,
        marks: marks.saturating_sub(left),
        bytes: free_bytes(connection)?.saturating_sub(free),
    })
}

fn marks_of(connection: &Connection, tenant: i64) -> rusqlite::Result<u64> {
    let count = "SELECT count(*) FROM mark WHERE tenant = ?1";
    connection.query_row(count, [tenant], |row| row.get(0).map(i64::cast_unsigned))
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    connection.pragma_query_value(None, name, |row| row.get(0).map(i64::cast_unsigned))
}

fn free_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = pragma(connection, "freelist_count")?;
    Ok(pages.saturating_mul(pragma(connection, "page_size")?))
}

/// Returns free pages to the file system and truncates the write-ahead log as far as no reader needs it.
pub fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    const INCREMENTAL: u64 = 2;
    if pragma(connection, "auto_vacuum")? == INCREMENTAL {
        let mut free = pragma(connection, "freelist_count")?;
        while free > 0 {
            // Each step of the statement frees one page.
            let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
            let mut rows = vacuum.query([])?;
            while rows.next()?.is_some() {}
            let left = pragma(connection, "freelist_count")?;
            if left >= free {
                break;
            }
            free = left;
        }
    } else {
        // Made by hand or by another tool: one rewrite turns on incremental vacuuming.
        connection.execute_batch("PRAGMA auto_vacuum = incremental; VACUUM")?;
    }
    // Returns a row even if a reader keeps the log from being truncated now.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// The size of the store on the disk in bytes, with its log.
pub fn size(file: &Path) -> u64 {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    [file, Path::new(&log)]
        .into_iter()
        .filter_map(|file| std::fs::metadata(file).ok())
        .map(|there| there.len())
        .sum()
}
