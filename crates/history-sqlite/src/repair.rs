//! Repair of a store: a copy of what is intact takes the damaged file's place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use context::TurnId;
use history::{HistoryError, Record};
use rusqlite::Connection;

use crate::care::{Readable, Table, count, tables};
use crate::checkpoint;
use crate::connection::{self, set_patience};
use crate::damage::Damage;
use crate::error::from_sqlite;
use crate::file::{self, Missing};
use crate::gap;
use crate::mend::{Mend, Turns};
use crate::schema;
use crate::sum::{CONVERSATION, GAP, JOURNAL, PLACE, TURN};

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The records that were copied.
    pub kept: BTreeMap<Record, u64>,
    /// The records that were left out: damaged, or standing on a turn whose place is lost.
    pub lost: BTreeMap<Record, u64>,
    /// The lost turns that left a gap in their place, so that the turns after them were kept.
    pub gaps: u64,
    /// The damaged file under its new name.
    pub before: PathBuf,
}

/// Copies everything intact of the store at `path` into a new store that takes its place. The damaged file
/// stays beside it under another name.
///
/// A damaged turn leaves a [gap](context::Turn::gap), and the turns after it are kept. If its place is lost, too,
/// the turns after it are left out. The conversation stays, with its pins; its client's next request brings the
/// turns again.
///
/// # Errors
/// [`HistoryError::Busy`] if a process has the store open, [`HistoryError::Corrupt`] if nothing of it can be
/// read, [`HistoryError::SecretLost`], or an error of the file system.
pub fn repair(path: &Path) -> Result<Repaired, HistoryError> {
    let file = file::prepare(path, Missing::Refuse)?;
    // Behind a link: the new store takes the place of the file, not of the link.
    let file = file
        .canonicalize()
        .map_err(|error| HistoryError::Unreachable {
            place: file.display().to_string(),
            what: error.to_string(),
        })?;
    let fresh = beside(&file, "repaired");
    let mut source = connection::writer(&file, &[0; 32], Missing::Refuse)?;
    hold(&mut source)?;
    let secret = schema::secret(&source, &Damage::default())?;
    drop(connection::writer(
        &file::prepare(&fresh, Missing::Create)?,
        &secret,
        Missing::Create,
    )?);
    let copied = copy(&mut source, &fresh);
    drop(source);
    let (kept, lost, gaps) = copied.inspect_err(|_| remove(&fresh))?;
    checkpoint::settle(&fresh)?;
    let before = beside(&file, "damaged");
    let moved = std::fs::rename(&file, &before).and_then(|()| std::fs::rename(&fresh, &file));
    moved.map_err(|error| HistoryError::Unreachable {
        place: file.display().to_string(),
        what: error.to_string(),
    })?;
    remove_log(&file);
    Ok(Repaired {
        kept,
        lost,
        gaps,
        before,
    })
}

/// Takes the file for this process alone.
fn hold(connection: &mut Connection) -> Result<(), HistoryError> {
    set_patience(connection, false)?;
    // Out of the log and back: only then the mode takes the lock that everybody who has it open shares.
    let taken = connection.execute_batch(
        "PRAGMA journal_mode = delete; PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE; COMMIT",
    );
    taken.map_err(from_sqlite)?;
    let mode: String = connection
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .map_err(from_sqlite)?;
    match mode.as_str() {
        "wal" => Err(HistoryError::Busy),
        _ => Ok(()),
    }
}

type Counts = BTreeMap<Record, u64>;

fn copy(source: &mut Connection, fresh: &Path) -> Result<(Counts, Counts, u64), HistoryError> {
    let (mut kept, mut lost) = (Counts::new(), Counts::new());
    let name = fresh.to_string_lossy();
    source
        .execute("ATTACH ?1 AS fresh", [&*name])
        .map_err(from_sqlite)?;
    // SQLite gives up a transaction that writes once a read within it meets a damaged page, also of another file.
    // So everything is read before the first write.
    let (mut readable, mut turns) = (Vec::new(), Turns::default());
    for table in tables() {
        match table.kind {
            Record::Turn => turns = Turns::of(source, &table)?,
            _ => readable.push((Readable::of(source, &table)?, table)),
        }
    }
    source
        .execute_batch("BEGIN; INSERT INTO fresh.tenant SELECT * FROM main.tenant")
        .map_err(from_sqlite)?;
    let gaps = copy_turns(source, &turns, (&mut kept, &mut lost))?;
    for (found, table) in readable {
        let intact = found
            .intact
            .into_iter()
            .flat_map(|(first, last)| first..=last);
        let rows = intact.map(|row| (row, true));
        for (row, is_intact) in rows.chain(found.damaged.into_iter().map(|row| (row, false))) {
            let is_copied = is_intact && copy_row(source, &table, row)
                || table.kind == Record::Conversation && salvage(source, row)?;
            count(if is_copied { &mut kept } else { &mut lost }, table.kind);
        }
        if found.places > 0 {
            *lost.entry(Record::Structure).or_insert(0) += found.places;
        }
    }
    source
        .execute_batch(&format!("{COUNT}; COMMIT"))
        .map_err(from_sqlite)?;
    let journals = format!(
        "INSERT INTO fresh.journal SELECT * FROM main.journal WHERE sum IS {JOURNAL} \
         AND EXISTS (SELECT 1 FROM fresh.conversation AS kept \
                     WHERE kept.tenant = journal.tenant AND kept.id = journal.conversation)"
    );
    // Where they cannot be read, people know less of what happened, and nothing else is lost.
    let _ = source.execute_batch(&journals);
    source.execute_batch("DETACH fresh").map_err(from_sqlite)?;
    Ok((kept, lost, gaps))
}

/// Copies the turns that keep their place, and returns the number of gaps among them.
fn copy_turns(
    source: &Connection,
    turns: &Turns,
    (kept, lost): (&mut Counts, &mut Counts),
) -> Result<u64, HistoryError> {
    let mut gaps = Vec::new();
    for row in turns.rows() {
        let mend = turns.mended.get(&row);
        let (is_kept, is_gap) = match mend {
            None => (copy_turn(source, row), false),
            Some(mend) => (mend_turn(source, row, *mend), !mend.is_proved),
        };
        count(
            if is_kept && !is_gap {
                &mut *kept
            } else {
                &mut *lost
            },
            Record::Turn,
        );
        if is_kept && is_gap {
            gaps.push(row);
        }
    }
    let left_out = turns.lost + turns.behind.len() as u64;
    for (kind, more) in [(Record::Turn, left_out), (Record::Structure, turns.places)] {
        if more > 0 {
            *lost.entry(kind).or_insert(0) += more;
        }
    }
    gap::note(source, &gaps).map_err(from_sqlite)?;
    Ok(gaps.len() as u64)
}

/// Copies a row; `false` if what it stands on was left out.
fn copy_row(source: &Connection, table: &Table, row: i64) -> bool {
    let Table { name, key, .. } = table;
    let sql = format!("INSERT INTO fresh.{name} SELECT * FROM main.{name} WHERE {key} = ?1");
    let copied = source
        .prepare_cached(&sql)
        .and_then(|mut copy| copy.execute([row]));
    copied.is_ok_and(|rows| rows == 1)
}

fn copy_turn(source: &Connection, row: i64) -> bool {
    let node = format!(
        "INSERT INTO fresh.node SELECT n, {OWNER}, id, parent, role, provenance, at, tokens, text, body \
         FROM (SELECT *, parent AS stands_on FROM main.node WHERE n = ?1) AS node"
    );
    [node.as_str(), COPY_SUM].iter().all(|sql| {
        let copied = source
            .prepare_cached(sql)
            .and_then(|mut copy| copy.execute([row]));
        copied.is_ok_and(|rows| rows == 1)
    })
}

/// The tenant of a row `node` after `stands_on`. No checksum covers it, and without it every later turn would be
/// lost. A first turn takes no other tenant: it may belong to one whose own row is lost.
const OWNER: &str = "coalesce(\
     (SELECT tenant.n FROM fresh.tenant WHERE tenant.n = node.tenant), \
     (SELECT parent.tenant FROM fresh.node AS parent WHERE parent.n = node.stands_on))";

const COPY_SUM: &str = "INSERT INTO fresh.turn_sum SELECT * FROM main.turn_sum WHERE node = ?1";

/// Copies the part of a damaged turn that is kept, with a new checksum.
fn mend_turn(source: &Connection, row: i64, mend: Mend) -> bool {
    // No id covers these columns of a proved turn, and nothing those of a gap, unless the checksum holds.
    let holds = format!(
        "EXISTS (SELECT 1 FROM main.turn_sum WHERE turn_sum.node = node.n AND turn_sum.sum IS {TURN})"
    );
    let (body, role, sum) = match mend.is_proved {
        true => ("body", "role".to_owned(), TURN),
        false => ("x''", format!("iif({holds}, role, 'other')"), GAP),
    };
    let insert = format!(
        "INSERT INTO fresh.node SELECT n, {OWNER}, id, ?2, {role}, iif({holds}, provenance, 'said'), \
           iif({holds}, at, NULL), iif({holds}, tokens, min(max(tokens, 0), length(body))), \
           iif({holds}, text, min(max(text, 0), length(body))), {body} \
         FROM (SELECT *, ?2 AS stands_on FROM main.node WHERE n = ?1) AS node"
    );
    let again = format!(
        "INSERT INTO fresh.turn_sum SELECT node.n, {sum}, \
           (SELECT original FROM main.turn_sum WHERE turn_sum.node = ?1) FROM fresh.node WHERE node.n = ?1"
    );
    let copied = source
        .execute(&insert, (row, mend.parent))
        .and_then(|_| source.execute(&again, [row]));
    copied.is_ok_and(|rows| rows == 1)
}

/// Copies the place of a conversation whose row is damaged elsewhere; it shows everything.
fn salvage(source: &Connection, row: i64) -> Result<bool, HistoryError> {
    let root = TurnId::ROOT;
    let sql = format!(
        "INSERT INTO fresh.conversation (n, tenant, id, head, turns, model, shown_from, cleared, stripped, \
           compactions, requests, fresh, cache_read, cache_write, output, micros, micros_without, \
           stalls_avoided, began, seen, place) \
         SELECT n, tenant, id, head, turns, '', ?2, ?2, ?2, 0, 0, 0, 0, 0, 0, 0, 0, 0, began, seen, place \
         FROM main.conversation WHERE n = ?1 AND place IS {PLACE}"
    );
    let copied = source.execute(&sql, (row, root.as_bytes())).unwrap_or(0) == 1;
    if copied {
        let sql = format!("UPDATE fresh.conversation SET sum = {CONVERSATION} WHERE n = ?1");
        source.execute(&sql, [row]).map_err(from_sqlite)?;
    }
    Ok(copied)
}

const COUNT: &str = "UPDATE fresh.tenant SET \
     turns = (SELECT count(*) FROM fresh.node WHERE node.tenant = tenant.n), \
     bytes = (SELECT coalesce(sum(text), 0) FROM fresh.node WHERE node.tenant = tenant.n), \
     marks = (SELECT count(*) FROM fresh.mark WHERE mark.tenant = tenant.n), \
     conversations = (SELECT count(*) FROM fresh.conversation WHERE conversation.tenant = tenant.n), \
     beside = \
       (SELECT coalesce(sum(octet_length(summary)), 0) FROM fresh.mark WHERE mark.tenant = tenant.n) \
       + (SELECT coalesce(sum(octet_length(text)), 0) FROM fresh.pin WHERE pin.tenant = tenant.n) \
       + (SELECT coalesce(sum(octet_length(summary)), 0) FROM fresh.chunk WHERE chunk.tenant = tenant.n) \
       + (SELECT coalesce(sum(octet_length(summary)), 0) FROM fresh.owned WHERE owned.tenant = tenant.n) \
       + (SELECT coalesce(sum(octet_length(edition.text)), 0) FROM fresh.edition \
          JOIN fresh.node ON node.n = edition.node WHERE node.tenant = tenant.n) \
       + (SELECT coalesce(sum(octet_length(message)), 0) FROM fresh.original \
          JOIN fresh.node ON node.n = original.node WHERE node.tenant = tenant.n)";

/// A name beside the file that nothing has.
fn beside(file: &Path, word: &str) -> PathBuf {
    let named = |number: u32| {
        let mut name = file.as_os_str().to_owned();
        name.push(match number {
            1 => format!(".{word}"),
            number => format!(".{word}-{number}"),
        });
        PathBuf::from(name)
    };
    (1..)
        .map(named)
        .find(|name| !name.exists())
        .unwrap_or_else(|| named(0))
}

fn remove(file: &Path) {
    let _ = std::fs::remove_file(file);
    remove_log(file);
}

fn remove_log(file: &Path) {
    for end in ["-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}
