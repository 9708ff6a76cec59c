//! Purges, in small transactions with pauses in which others write.
//!
//! Turns are removed from the newest row to the oldest, each only if no turn stands on it and no conversation
//! ends with it. A parent has a smaller row number than its children, so this removes exactly what no
//! conversation leads to, and a turn that another write needs meanwhile stays, with all before it.

mod turns;

use std::path::Path;
use std::time::Duration;

use history::{Purge, Purged};
use jiff::tz::TimeZone;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::connection::{log_size, pause};
use crate::sum::CONVERSATION;
use crate::{checkpoint, timestamp};

/// The most rows of one transaction.
const ROWS: usize = 64;

/// The most bytes of one transaction, unless a single row has more: some milliseconds.
const BYTES: u64 = 256 << 10;

/// Pages given back to the file system per transaction.
const PAGES: u64 = 500;

/// With more free pages than this, each step gives back fewer: SQLite searches the whole list of free pages for each
/// page at the end of the file.
const LIST: u64 = 64 * PAGES;

/// Pages given back per transaction while the list is long.
const FEW: u64 = 16;

/// With more free pages than this, none are given back, which would take hours. Later turns use them.
const TOO_MANY: u64 = 8 * LIST;

/// The pause between two transactions, longer than a writer waits before it tries again.
const PAUSE: Duration = Duration::from_millis(4);

/// The log is copied into the file when it has grown to so many bytes.
const LOG: u64 = 8 << 20;

/// The amounts that a transaction removes of one tenant.
#[derive(Default)]
struct Freed {
    turns: u64,
    text: u64,
    marks: u64,
    conversations: u64,
    beside: u64,
}

/// Removes the selected conversations. `Purged::bytes` stays zero.
pub fn remove(connection: &mut Connection, what: Purge) -> rusqlite::Result<Purged> {
    let mut all = Purged::default();
    // Conversations go first: a turn stays as long as a conversation ends with it.
    let tenants = tenants(connection, &what)?;
    for &tenant in &tenants {
        let mut after = 0;
        while let Some((last, removed)) = conversations(connection, (tenant, after), &what)? {
            all.conversations += removed;
            after = last;
            rest(connection)?;
        }
        while pins(connection, tenant)? > 0 {
            rest(connection)?;
        }
    }
    let lost = turns::remove(connection, &what, &mut all)?;
    for &tenant in &tenants {
        if lost.contains(&tenant) || is_without_conversations(connection, tenant)? {
            while chunks(connection, tenant)? > 0 {
                rest(connection)?;
            }
        }
        let mut after = Vec::new();
        while let Some(owners) = owners(connection, tenant, &after)? {
            for owner in owners.iter().filter(|owner| !owner.is_there) {
                while owned(connection, tenant, &owner.id)? > 0 {
                    rest(connection)?;
                }
            }
            after = owners.into_iter().next_back().map_or(after, |last| last.id);
        }
        // Where it is damaged, it stays, and everything else goes on.
        while spent(connection, tenant, &what).is_ok_and(|removed| removed > 0) {
            rest(connection)?;
        }
        connection.execute(TENANT, [tenant])?;
    }
    Ok(all)
}

/// Counts what [`remove`] would remove, without writing. `Purged::bytes` is about the size of the texts.
pub fn preview(connection: &Connection, what: Purge) -> rusqlite::Result<Purged> {
    let mut all = Purged::default();
    for tenant in tenants(connection, &what)? {
        let mut after = 0;
        loop {
            let chosen = chosen(connection, (tenant, after), &what)?;
            let Some(&(last, ..)) = chosen.last() else {
                break;
            };
            after = last;
            let selected = chosen.iter().filter(|(.., is_selected)| *is_selected);
            all.conversations += selected.count() as u64;
        }
    }
    turns::preview(connection, &what, &mut all)?;
    Ok(all)
}

fn tenants(connection: &Connection, what: &Purge) -> rusqlite::Result<Vec<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT n FROM tenant WHERE ?1 IS NULL OR id = ?1")?;
    let only = what.tenant.as_ref().map(history::Tenant::as_bytes);
    statement.query_map([only], |row| row.get(0))?.collect()
}

/// Runs one transaction. It waits for others as long as a write does.
fn transact<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

/// Lets others write, and gives pages back as soon as they are free, before their list grows long.
fn rest(connection: &Connection) -> rusqlite::Result<()> {
    settle(connection)?;
    give_back_to(connection, PAGES)
}

/// Shortens a long log, and leaves a pause in which others write.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    if connection
        .path()
        .is_some_and(|file| log_size(Path::new(file)) >= LOG)
    {
        checkpoint::checkpoint(connection)?;
    }
    pause(PAUSE);
    Ok(())
}

/// The next conversations of a tenant after a row: their row, their id and whether they are selected. A damaged
/// row is never old enough, since its time may be the damaged part.
type Chosen = (i64, [u8; 16], bool);

fn chosen(
    connection: &Connection,
    (tenant, after): (i64, i64),
    what: &Purge,
) -> rusqlite::Result<Vec<Chosen>> {
    let sql = format!(
        "SELECT n, id, ?3 IS NULL OR sum IS {CONVERSATION} FROM conversation \
         WHERE tenant = ?1 AND n > ?4 AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR seen < ?3) \
         ORDER BY n LIMIT {ROWS}"
    );
    let id = what
        .conversation
        .as_ref()
        .map(history::ConversationId::as_bytes);
    let before = what.before.map(timestamp::to_sql);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map((tenant, id, before, after), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let rows: Vec<Chosen> = rows.collect::<Result<_, _>>()?;
    match rows.last() {
        Some(&(last, ..)) if last <= after => Err(leads_back()),
        _ => Ok(rows),
    }
}

/// The error for a damaged page that leads back to rows before it, which would be gone through for ever.
fn leads_back() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, None)
}

/// Removes the next conversations with their pins. Returns the last row looked at and the number removed;
/// `None` after the last.
fn conversations(
    connection: &mut Connection,
    place: (i64, i64),
    what: &Purge,
) -> rusqlite::Result<Option<(i64, u64)>> {
    let tenant = place.0;
    transact(connection, |transaction| {
        let chosen = chosen(transaction, place, what)?;
        let Some(&(last, ..)) = chosen.last() else {
            return Ok(None);
        };
        let mut freed = Freed::default();
        for (row, id, _) in chosen.into_iter().filter(|(.., is_selected)| *is_selected) {
            let sql = "DELETE FROM conversation WHERE n = ?1";
            freed.conversations += transaction.prepare_cached(sql)?.execute([row])? as u64;
            let sql = "DELETE FROM pin WHERE tenant = ?1 AND conversation = ?2 \
                 RETURNING octet_length(text)";
            freed.beside += bytes_of(transaction, sql, (tenant, id))?.1;
        }
        release(transaction, tenant, &freed)?;
        Ok(Some((last, freed.conversations)))
    })
}

/// Removes some pins whose conversation is not there. Returns their number.
fn pins(connection: &mut Connection, tenant: i64) -> rusqlite::Result<usize> {
    let sql = format!(
        "DELETE FROM pin WHERE n IN (SELECT n FROM pin WHERE tenant = ?1 AND NOT EXISTS (\
         SELECT 1 FROM conversation WHERE conversation.tenant = ?1 \
         AND conversation.id = pin.conversation) LIMIT {ROWS}) RETURNING octet_length(text)"
    );
    beside(connection, tenant, &sql, [tenant])
}

/// Removes some texts of the cache. Returns their number.
fn chunks(connection: &mut Connection, tenant: i64) -> rusqlite::Result<usize> {
    let sql = format!(
        "DELETE FROM chunk WHERE n IN (SELECT n FROM chunk WHERE tenant = ?1 LIMIT {}) \
         RETURNING octet_length(summary)",
        ROWS / 4
    );
    beside(connection, tenant, &sql, [tenant])
}

/// A conversation or a turn that texts belong to.
struct TextOwner {
    id: Vec<u8>,
    is_there: bool,
}

/// True if the column `owner` names a conversation or a turn of the tenant `?1`.
const IS_THERE: &str = "EXISTS (SELECT 1 FROM conversation WHERE tenant = ?1 AND id = owner) \
     OR EXISTS (SELECT 1 FROM node WHERE tenant = ?1 AND id = owner)";

/// The next owners of texts, in the order of their ids.
fn owners(
    connection: &Connection,
    tenant: i64,
    after: &[u8],
) -> rusqlite::Result<Option<Vec<TextOwner>>> {
    let sql = format!(
        "SELECT owner, {IS_THERE} FROM (SELECT DISTINCT owner FROM owned \
         WHERE tenant = ?1 AND owner > ?2 ORDER BY owner LIMIT {ROWS})"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let owners = statement.query_map((tenant, after), |row| {
        let (id, is_there) = (row.get(0)?, row.get(1)?);
        Ok(TextOwner { id, is_there })
    })?;
    let owners: Vec<TextOwner> = owners.collect::<Result<_, _>>()?;
    match owners.last() {
        Some(last) if last.id.as_slice() <= after => Err(leads_back()),
        last => Ok(last.is_some().then_some(owners)),
    }
}

/// Removes some texts of an owner that is not there. Returns their number.
fn owned(connection: &mut Connection, tenant: i64, owner: &[u8]) -> rusqlite::Result<usize> {
    // A write may have brought the owner back since.
    let sql = format!(
        "DELETE FROM owned WHERE n IN (SELECT n FROM owned WHERE tenant = ?1 AND owner = ?2 \
         AND NOT ({IS_THERE}) LIMIT {}) RETURNING octet_length(summary)",
        ROWS / 4
    );
    beside(connection, tenant, &sql, (tenant, owner))
}

/// Removes some of the costs before the day of `what.before`, or of all. Returns the number of rows.
fn spent(connection: &Connection, tenant: i64, what: &Purge) -> rusqlite::Result<usize> {
    if what.conversation.is_some() {
        return Ok(0);
    }
    let before = what.before.map(|it| it.to_zoned(TimeZone::UTC).date());
    let before = before.map(|day| day.to_string());
    let sql = format!(
        "DELETE FROM spent WHERE n IN (SELECT n FROM spent WHERE tenant = ?1 \
         AND (?2 IS NULL OR day < ?2) LIMIT {ROWS})"
    );
    connection.execute(&sql, (tenant, before))
}

fn beside(
    connection: &mut Connection,
    tenant: i64,
    sql: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<usize> {
    transact(connection, |transaction| {
        let (rows, beside) = bytes_of(transaction, sql, params)?;
        let freed = Freed {
            beside,
            ..Freed::default()
        };
        release(transaction, tenant, &freed)?;
        Ok(rows)
    })
}

/// Runs a statement that returns the bytes of each row; returns the rows and their bytes.
fn bytes_of(
    connection: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<(usize, u64)> {
    let mut statement = connection.prepare_cached(sql)?;
    let sizes = statement.query_map(params, |row| row.get(0).map(i64::cast_unsigned))?;
    let sizes: Vec<u64> = sizes.collect::<Result<_, _>>()?;
    Ok((sizes.len(), sizes.iter().sum()))
}

fn is_without_conversations(connection: &Connection, tenant: i64) -> rusqlite::Result<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM conversation WHERE tenant = ?1)";
    connection.query_row(sql, [tenant], |row| row.get(0))
}

/// Takes what was removed off what the tenant holds.
fn release(connection: &Connection, tenant: i64, freed: &Freed) -> rusqlite::Result<()> {
    let sql = "UPDATE tenant SET turns = max(turns - ?2, 0), bytes = max(bytes - ?3, 0), \
         marks = max(marks - ?4, 0), conversations = max(conversations - ?5, 0), \
         beside = max(beside - ?6, 0) WHERE n = ?1";
    let numbers = (
        tenant,
        freed.turns.cast_signed(),
        freed.text.cast_signed(),
        freed.marks.cast_signed(),
        freed.conversations.cast_signed(),
        freed.beside.cast_signed(),
    );
    connection.prepare_cached(sql)?.execute(numbers).map(drop)
}

const TENANT: &str = "DELETE FROM tenant WHERE n = ?1 \
     AND NOT EXISTS (SELECT 1 FROM node WHERE tenant = ?1) \
     AND NOT EXISTS (SELECT 1 FROM conversation WHERE tenant = ?1) \
     AND NOT EXISTS (SELECT 1 FROM pin WHERE tenant = ?1) \
     AND NOT EXISTS (SELECT 1 FROM chunk WHERE tenant = ?1) \
     AND NOT EXISTS (SELECT 1 FROM owned WHERE tenant = ?1) \
     AND NOT EXISTS (SELECT 1 FROM spent WHERE tenant = ?1)";

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    connection.pragma_query_value(None, name, |row| row.get(0).map(i64::cast_unsigned))
}

/// Returns free pages to the file system. A file that was made by hand keeps them for later turns, as does one in
/// which too many are free: only rewriting the whole file would help, and all others would have to wait for that.
pub fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    give_back_to(connection, 1)
}

/// Returns free pages until fewer than `few` are left.
fn give_back_to(connection: &Connection, few: u64) -> rusqlite::Result<()> {
    let mut free = pragma(connection, "freelist_count")?;
    while (few..TOO_MANY).contains(&free) {
        vacuum(connection, if free < LIST { PAGES } else { FEW })?;
        let left = pragma(connection, "freelist_count")?;
        if left >= free {
            break;
        }
        free = left;
        settle(connection)?;
    }
    Ok(())
}

/// Gives back some free pages.
fn vacuum(connection: &Connection, pages: u64) -> rusqlite::Result<()> {
    // Each step of the statement frees one page.
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// The size of the store on the disk in bytes, with its log.
pub fn size(file: &Path) -> u64 {
    let own = std::fs::metadata(file).map_or(0, |file| file.len());
    own + log_size(file)
}
