//! The turns that no conversation leads to.
//!
//! A conversation's head moves with the next request. Until then its newest answer is a turn of the model's behind
//! the head, on which no other stands; it stays with its conversation.

use std::collections::{BTreeMap, HashSet};

use history::{Purge, Purged};
use rusqlite::{Connection, OptionalExtension as _, Transaction};

use super::{BYTES, Freed, ROWS, leads_back, release, rest, transact};
use crate::sum::CONVERSATION;
use crate::timestamp;

/// The turns looked at in one read.
const LOOK: usize = 4_096;

/// Walks over the turns, newest row first, without writing.
struct Walk {
    /// The row looked at last.
    last: i64,
    /// The parents of turns that stay, not reached yet.
    kept: HashSet<i64>,
    /// The parents of turns that go, not reached yet.
    stood_on: HashSet<i64>,
    sql: String,
}

/// A turn that no conversation leads to: its row and its tenant.
type Lost = (i64, i64);

impl Walk {
    fn new() -> Self {
        // A selected conversation counts as gone already; its row may be damaged, and then it stays.
        let is_headed = |turn: &str| {
            format!(
                "EXISTS (SELECT 1 FROM conversation \
                   WHERE conversation.tenant = node.tenant AND conversation.head = {turn} \
                   AND NOT ((?2 IS NULL OR id = ?2) \
                     AND (?3 IS NULL OR (seen < ?3 AND sum IS {CONVERSATION}))))"
            )
        };
        let headed = is_headed("node.id");
        let behind_head =
            is_headed("(SELECT above.id FROM node AS above WHERE above.n = node.parent)");
        let sql = format!(
            "SELECT n, tenant, parent, {headed}, role = 'assistant' AND {behind_head} \
             FROM node WHERE n < ?1 AND (?4 IS NULL OR tenant = \
               (SELECT n FROM tenant WHERE tenant.id = ?4)) ORDER BY n DESC LIMIT {LOOK}"
        );
        Self {
            last: i64::MAX,
            kept: HashSet::new(),
            stood_on: HashSet::new(),
            sql,
        }
    }

    /// The next lost turns; `None` at the end.
    fn next(
        &mut self,
        connection: &Connection,
        what: &Purge,
    ) -> rusqlite::Result<Option<Vec<Lost>>> {
        let id = what
            .conversation
            .as_ref()
            .map(history::ConversationId::as_bytes);
        let tenant = what.tenant.as_ref().map(history::Tenant::as_bytes);
        let before = what.before.map(timestamp::to_sql);
        let mut statement = connection.prepare_cached(&self.sql)?;
        let mut rows = statement.query((self.last, id, before, tenant))?;
        let mut lost = None;
        while let Some(row) = rows.next()? {
            let lost: &mut Vec<Lost> = lost.get_or_insert_default();
            let number: i64 = row.get(0)?;
            if number >= self.last {
                return Err(leads_back());
            }
            self.last = number;
            let parent: Option<i64> = row.get(2)?;
            let (is_headed, is_answer): (bool, bool) = (row.get(3)?, row.get(4)?);
            let is_newest = !self.stood_on.remove(&self.last) && is_answer;
            if self.kept.remove(&self.last) || is_headed || is_newest {
                self.kept.extend(parent);
            } else {
                self.stood_on.extend(parent);
                lost.push((self.last, row.get(1)?));
            }
        }
        Ok(lost)
    }
}

/// Removes the turns that no conversation leads to. Returns the tenants that lost any.
pub(super) fn remove(
    connection: &mut Connection,
    what: &Purge,
    all: &mut Purged,
) -> rusqlite::Result<HashSet<i64>> {
    let mut walk = Walk::new();
    let mut losers = HashSet::new();
    while let Some(lost) = walk.next(connection, what)? {
        let mut rest_of = lost.as_slice();
        while !rest_of.is_empty() {
            let (done, freed) = transact(connection, |transaction| some(transaction, rest_of))?;
            for (tenant, freed) in freed.into_iter().filter(|(_, freed)| freed.turns > 0) {
                losers.insert(tenant);
                all.turns += freed.turns;
                all.marks += freed.marks;
            }
            rest_of = rest_of.get(done..).unwrap_or_default();
            rest(connection)?;
        }
    }
    Ok(losers)
}

/// Counts them, with about the bytes that they take.
pub(super) fn preview(
    connection: &Connection,
    what: &Purge,
    all: &mut Purged,
) -> rusqlite::Result<()> {
    let mut walk = Walk::new();
    while let Some(lost) = walk.next(connection, what)? {
        for (row, _) in lost {
            let Some((of, bytes)) = held_by(connection, row)? else {
                continue;
            };
            all.turns += 1;
            all.marks += of.marks;
            all.bytes += bytes;
        }
    }
    Ok(())
}

/// Removes the first of these turns, as many as one transaction may. Returns how many it looked at.
fn some(
    transaction: &Transaction<'_>,
    lost: &[Lost],
) -> rusqlite::Result<(usize, BTreeMap<i64, Freed>)> {
    let mut freed: BTreeMap<i64, Freed> = BTreeMap::new();
    let (mut done, mut bytes) = (0, 0);
    for &(row, tenant) in lost.iter().take(ROWS) {
        done += 1;
        // Measured first: foreign keys take the marks and texts along with the turn.
        let Some((of, size)) = held_by(transaction, row)? else {
            continue;
        };
        // The walk looked before this transaction. If a write has needed the turn since, it stays.
        if transaction.prepare_cached(DELETE)?.execute([row])? == 0 {
            continue;
        }
        let freed = freed.entry(tenant).or_default();
        freed.turns += 1;
        freed.text += of.text;
        freed.marks += of.marks;
        freed.beside += of.beside;
        bytes += size;
        if bytes >= BYTES {
            break;
        }
    }
    for (tenant, freed) in &freed {
        release(transaction, *tenant, freed)?;
    }
    Ok((done, freed))
}

/// Foreign keys remove the marks, editions, kept messages and checksums of the turn.
const DELETE: &str = "DELETE FROM node WHERE n = ?1 \
     AND NOT EXISTS (SELECT 1 FROM node AS child WHERE child.parent = ?1) \
     AND NOT EXISTS (SELECT 1 FROM conversation \
       WHERE conversation.tenant = node.tenant AND conversation.head = node.id)";

const HELD: &str = "SELECT text, octet_length(body), \
     (SELECT count(*) FROM mark WHERE mark.node = ?1), \
     (SELECT coalesce(sum(octet_length(summary)), 0) FROM mark WHERE mark.node = ?1) \
     + (SELECT coalesce(sum(octet_length(edition.text)), 0) FROM edition WHERE edition.node = ?1) \
     + (SELECT coalesce(sum(octet_length(message)), 0) FROM original WHERE original.node = ?1) \
     FROM node WHERE n = ?1";

/// The contents of a turn, and about how many bytes they take; `None` if it is not there.
fn held_by(connection: &Connection, row: i64) -> rusqlite::Result<Option<(Freed, u64)>> {
    let mut statement = connection.prepare_cached(HELD)?;
    let number = |row: &rusqlite::Row<'_>, column| row.get(column).map(i64::cast_unsigned);
    let read = |row: &rusqlite::Row<'_>| {
        let freed = Freed {
            text: number(row, 0)?,
            marks: number(row, 2)?,
            beside: number(row, 3)?,
            ..Freed::default()
        };
        let bytes = number(row, 1)?.saturating_add(freed.beside);
        Ok((freed, bytes))
    };
    statement.query_row([row], read).optional()
}
