//! Care for a store: a check of every row, a copy of the whole, and a repair.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use context::TurnId;
use history::{HistoryError, Record};
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::connection::{self, set_patience};
use crate::damage::Damage;
use crate::error::{from_sqlite, from_sqlite_ref};
use crate::file::{self, Missing};
use crate::rows::{mark, node};
use crate::schema;
use crate::sum::{CHUNK, CONVERSATION, EDITION, JOURNAL, ORIGINAL, OWNED, PIN, PLACE, SPENT};
use crate::{checkpoint, engine::Sqlite};

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The number of records of each kind.
    pub records: BTreeMap<Record, u64>,
    /// The number of damaged ones.
    pub damaged: BTreeMap<Record, u64>,
}

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The records that were copied.
    pub kept: BTreeMap<Record, u64>,
    /// The records that were left out: damaged, or standing on a damaged turn.
    pub lost: BTreeMap<Record, u64>,
    /// The damaged file under its new name.
    pub before: PathBuf,
}

/// A table whose rows are checked one by one.
struct Table {
    kind: Record,
    name: &'static str,
    /// The column of its row number.
    key: &'static str,
    /// A query of the first row after `?1`: its number and whether it is intact, and what `read` needs.
    first: String,
    read: fn(&Row<'_>) -> rusqlite::Result<bool>,
}

/// Tables in an order in which each row's references come first.
fn tables() -> [Table; 9] {
    let by_sum = |row: &Row<'_>| row.get::<_, Option<bool>>(1).map(|sum| sum == Some(true));
    let table = |kind, name, key, first| Table {
        kind,
        name,
        key,
        first,
        read: by_sum,
    };
    let (pin, chunk, owned) = (
        PIN.replace("?2", "pin.conversation"),
        CHUNK.replace("?2", "chunk.hash"),
        OWNED.replace("?2", "owned.hash"),
    );
    let node = format!(
        "{}, parent.id FROM node LEFT JOIN turn_sum ON turn_sum.node = node.n \
         LEFT JOIN node AS parent ON parent.n = node.parent WHERE node.n > ?1 ORDER BY node.n LIMIT 1",
        node::select()
    );
    // Also a message whose turn is not there: its row number may be the damaged part.
    let original = format!(
        "SELECT original.node, turn_sum.original IS {ORIGINAL} FROM original \
         LEFT JOIN node ON node.n = original.node \
         LEFT JOIN turn_sum ON turn_sum.node = node.n WHERE original.node > ?1 \
         ORDER BY original.node LIMIT 1"
    );
    let mark = format!(
        "{} FROM mark JOIN node ON node.n = mark.node WHERE mark.n > ?1 ORDER BY mark.n LIMIT 1",
        mark::select()
    );
    let edition = format!(
        "SELECT edition.n, edition.sum IS {EDITION} FROM edition \
         LEFT JOIN node ON node.n = edition.node WHERE edition.n > ?1 ORDER BY edition.n LIMIT 1"
    );
    let spent = format!(
        "SELECT it.n, it.sum IS {SPENT} FROM spent AS it WHERE it.n > ?1 ORDER BY it.n LIMIT 1"
    );
    let simple = |name, sum: &str| {
        format!("SELECT n, sum IS {sum} FROM {name} WHERE n > ?1 ORDER BY n LIMIT 1")
    };
    [
        Table {
            read: is_turn_intact,
            ..table(Record::Turn, "node", "n", node)
        },
        table(Record::Original, "original", "node", original),
        Table {
            read: is_mark_intact,
            ..table(Record::Mark, "mark", "n", mark)
        },
        table(Record::Edition, "edition", "n", edition),
        table(Record::Pin, "pin", "n", simple("pin", &pin)),
        table(Record::Chunk, "chunk", "n", simple("chunk", &chunk)),
        table(Record::Chunk, "owned", "n", simple("owned", &owned)),
        table(
            Record::Conversation,
            "conversation",
            "n",
            simple("conversation", CONVERSATION),
        ),
        table(Record::Account, "spent", "n", spent),
    ]
}

fn is_turn_intact(row: &Row<'_>) -> rusqlite::Result<bool> {
    let parent: Option<[u8; 16]> = row.get(8)?;
    let parent = parent.map_or(TurnId::ROOT, TurnId::from_bytes);
    Ok(node::Kept::read(row)?.after(parent).is_ok())
}

fn is_mark_intact(row: &Row<'_>) -> rusqlite::Result<bool> {
    let sum: Option<bool> = row.get(1)?;
    Ok(sum == Some(true) && mark::read(row)?.is_some())
}

/// One look at a table.
enum Seen {
    /// A row, and whether it is intact.
    Row(i64, bool),
    /// A place that cannot be read.
    Unreadable,
    End,
}

/// The most that a walk skips behind a place that cannot be read, as a power of two.
const SKIPS: u32 = 40;

/// Walks over a table, past what cannot be read.
fn walk(
    connection: &Connection,
    table: &Table,
    mut see: impl FnMut(Seen) -> Result<(), HistoryError>,
) -> Result<(), HistoryError> {
    let (mut last, mut skips) = (0_i64, 0);
    loop {
        let look = || -> rusqlite::Result<Option<(i64, bool)>> {
            let mut statement = connection.prepare_cached(&table.first)?;
            let read = |row: &Row<'_>| {
                let number: i64 = row.get(0)?;
                Ok((number, (table.read)(row).unwrap_or(false)))
            };
            statement.query_row([last], read).optional()
        };
        match look() {
            // A damaged page may lead back.
            Ok(Some((number, _))) if number <= last => {
                see(Seen::Unreadable)?;
                return see(Seen::End);
            }
            Ok(Some((number, is_intact))) => {
                (last, skips) = (number, 0);
                see(Seen::Row(number, is_intact))?;
            }
            Ok(None) => return see(Seen::End),
            Err(error) => {
                match from_sqlite_ref(&error) {
                    HistoryError::Corrupt { .. } => {}
                    HistoryError::Busy | HistoryError::NoSpace => return Err(from_sqlite(error)),
                    // The schema itself is damaged.
                    _ => return see(Seen::Unreadable),
                }
                if skips == 0 {
                    see(Seen::Unreadable)?;
                }
                last = last.saturating_add(1 << skips);
                skips += 1;
                if skips > SKIPS {
                    return see(Seen::End);
                }
            }
        }
    }
}

fn count(counts: &mut BTreeMap<Record, u64>, kind: Record) {
    *counts.entry(kind).or_insert(0) += 1;
}

impl Sqlite {
    /// Checks the structure of the file and every row. Others may read and write meanwhile.
    ///
    /// # Errors
    /// Where the file cannot be read at all.
    pub fn check(&self) -> Result<Checked, HistoryError> {
        let mut found = Checked::default();
        self.readers().with(|connection| {
            for table in tables() {
                walk(connection, &table, |seen| {
                    match seen {
                        Seen::Row(_, is_intact) => {
                            count(&mut found.records, table.kind);
                            if !is_intact {
                                count(&mut found.damaged, table.kind);
                            }
                        }
                        Seen::Unreadable => count(&mut found.damaged, Record::Structure),
                        Seen::End => {}
                    }
                    Ok(())
                })?;
            }
            if !is_structure_sound(connection) {
                count(&mut found.damaged, Record::Structure);
            }
            let noted = Damage::default();
            if schema::secret(connection, &noted).is_err() || !noted.counts().is_empty() {
                count(&mut found.damaged, Record::Structure);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Copies the whole store, as it is at one moment, into one new file that only its owner may read. Others
    /// may read and write meanwhile. Returns the size of the copy in bytes.
    ///
    /// # Errors
    /// [`HistoryError::Unreachable`] if the file exists or cannot be made, or an error of SQLite.
    pub fn backup(&self, to: &Path) -> Result<u64, HistoryError> {
        let failed = |what: String| HistoryError::Unreachable {
            place: to.display().to_string(),
            what,
        };
        if to.exists() {
            return Err(failed("the file exists".to_owned()));
        }
        let to = file::prepare(to, Missing::Create)?;
        let Some(name) = to.to_str() else {
            return Err(failed("the path is not Unicode".to_owned()));
        };
        let copied = connection::open_another(self.file()).and_then(|connection| {
            let copied = connection.execute("VACUUM INTO ?1", [name]);
            copied.map(drop).map_err(from_sqlite)
        });
        if let Err(error) = copied {
            let _ = std::fs::remove_file(&to);
            return Err(error);
        }
        std::fs::metadata(&to)
            .map(|there| there.len())
            .map_err(|error| failed(error.to_string()))
    }
}

fn is_structure_sound(connection: &Connection) -> bool {
    let sql = "PRAGMA integrity_check(1)";
    let answer = connection.query_row(sql, [], |row| row.get::<_, String>(0));
    // SQLite finds nothing wrong with a damaged name of a column. Those of the other tables are read by `walk`.
    let tenants = "SELECT n, id, turns, bytes, marks, conversations, beside FROM tenant";
    answer.is_ok_and(|answer| answer == "ok") && connection.prepare(tenants).is_ok()
}

/// Copies everything intact of the store at `path` into a new store that takes its place. The damaged file
/// stays beside it under another name.
///
/// A turn that stands on a damaged turn is left out with it. Its conversation stays, with its pins; its
/// client's next request brings the turns again.
///
/// # Errors
/// [`HistoryError::Busy`] if a process has the store open, [`HistoryError::Corrupt`] if nothing of it can be
/// read, or an error of the file system.
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
    let mut source = connection::writer(&file, &[0; 32])?;
    hold(&mut source)?;
    let secret = schema::secret(&source, &Damage::default())?;
    drop(connection::writer(
        &file::prepare(&fresh, Missing::Create)?,
        &secret,
    )?);
    let copied = copy(&mut source, &fresh);
    drop(source);
    let (kept, lost) = copied.inspect_err(|_| remove(&fresh))?;
    checkpoint::settle(&fresh)?;
    let before = beside(&file, "damaged");
    let moved = std::fs::rename(&file, &before).and_then(|()| std::fs::rename(&fresh, &file));
    moved.map_err(|error| HistoryError::Unreachable {
        place: file.display().to_string(),
        what: error.to_string(),
    })?;
    remove_log(&file);
    Ok(Repaired { kept, lost, before })
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

/// The rows of a table that can be read.
#[derive(Default)]
struct Readable {
    /// Intact rows with numbers that follow each other: the first and the last.
    intact: Vec<(i64, i64)>,
    damaged: Vec<i64>,
    places: u64,
}

impl Readable {
    fn of(source: &Connection, table: &Table) -> Result<Self, HistoryError> {
        let mut found = Self::default();
        walk(source, table, |seen| {
            match seen {
                Seen::Row(row, true) => match found.intact.last_mut() {
                    Some((_, last)) if last.checked_add(1) == Some(row) => *last = row,
                    _ => found.intact.push((row, row)),
                },
                Seen::Row(row, false) => found.damaged.push(row),
                Seen::Unreadable => found.places += 1,
                Seen::End => {}
            }
            Ok(())
        })?;
        Ok(found)
    }
}

fn copy(source: &mut Connection, fresh: &Path) -> Result<(Counts, Counts), HistoryError> {
    let (mut kept, mut lost) = (Counts::new(), Counts::new());
    let name = fresh.to_string_lossy();
    source
        .execute("ATTACH ?1 AS fresh", [&*name])
        .map_err(from_sqlite)?;
    // SQLite gives up a transaction that writes once a read within it meets a damaged page, also of another file.
    // So everything is read before the first write.
    let mut readable = Vec::new();
    for table in tables() {
        readable.push((Readable::of(source, &table)?, table));
    }
    source
        .execute_batch("BEGIN; INSERT INTO fresh.tenant SELECT * FROM main.tenant")
        .map_err(from_sqlite)?;
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
    Ok((kept, lost))
}

/// Copies a row; `false` if what it stands on was left out.
fn copy_row(source: &Connection, table: &Table, row: i64) -> bool {
    let Table { name, key, .. } = table;
    let insert = |name: &str, key: &str| {
        let sql = format!("INSERT INTO fresh.{name} SELECT * FROM main.{name} WHERE {key} = ?1");
        source.prepare_cached(&sql)?.execute([row])
    };
    let is_there = insert(name, key).is_ok_and(|rows| rows == 1);
    match table.kind {
        Record::Turn => is_there && insert("turn_sum", "node").is_ok_and(|rows| rows == 1),
        _ => is_there,
    }
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
