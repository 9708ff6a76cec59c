//! Care for a store: a check of every row, and a copy of the whole.

use std::collections::BTreeMap;
use std::path::Path;

use context::TurnId;
use history::{HistoryError, Record};
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::connection;
use crate::damage::Damage;
use crate::engine::Sqlite;
use crate::error::{from_sqlite, from_sqlite_ref};
use crate::file::{self, Missing};
use crate::gap;
use crate::mend::Turns;
use crate::rows::node::Content;
use crate::rows::{mark, node};
use crate::schema;
use crate::sum::{CHUNK, CONVERSATION, EDITION, ORIGINAL, OWNED, PIN, SPENT};

/// The findings of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The number of records of each kind.
    pub records: BTreeMap<Record, u64>,
    /// The number of damaged ones.
    pub damaged: BTreeMap<Record, u64>,
    /// The damaged turns that have lost their text but not their place: they read as gaps.
    pub emptied: u64,
    /// The turns that stand on a turn whose place is lost. A repair leaves them out.
    pub behind: u64,
    /// The gaps that earlier repairs left.
    pub gaps: u64,
}

impl Checked {
    fn turns(&mut self, turns: &Turns) {
        let damaged = turns.mended.len() as u64 + turns.lost;
        self.records.insert(Record::Turn, turns.count());
        let counts = [(Record::Turn, damaged), (Record::Structure, turns.places)];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        self.damaged.extend(counts);
        self.behind = turns.behind.len() as u64;
        let emptied = turns.mended.iter().filter(|(_, mend)| !mend.is_proved);
        self.emptied = emptied
            .filter(|(row, _)| !turns.behind.contains(row))
            .count() as u64;
    }
}

/// A table whose rows are checked one by one.
pub struct Table {
    pub kind: Record,
    pub name: &'static str,
    /// The column of its row number.
    pub key: &'static str,
    /// A query of the first row after `?1`: its number and whether it is intact, and what `read` needs.
    pub first: String,
    pub read: fn(&Row<'_>) -> rusqlite::Result<bool>,
}

/// Tables in an order in which each row's references come first.
pub fn tables() -> [Table; 9] {
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
        "{}, parent.id, node.parent IS NULL OR parent.n < node.n FROM node {SUMMED} \
         LEFT JOIN node AS parent ON parent.n = node.parent WHERE node.n > ?1 ORDER BY node.n LIMIT 1",
        node::select(),
        SUMMED = node::SUMMED,
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
    let parent: Option<[u8; 16]> = row.get(node::AFTER)?;
    let parent = parent.map_or(TurnId::ROOT, TurnId::from_bytes);
    let is_placed = row.get::<_, Option<bool>>(node::AFTER + 1)? == Some(true);
    let content = node::Kept::read(row)?.after(parent);
    Ok(is_placed && matches!(content, Content::Whole(_) | Content::Gap))
}

fn is_mark_intact(row: &Row<'_>) -> rusqlite::Result<bool> {
    let sum: Option<bool> = row.get(1)?;
    Ok(sum == Some(true) && mark::read(row)?.is_some())
}

/// One look at a table.
pub enum Seen {
    /// A row, and whether it is intact.
    Row(i64, bool),
    /// A place that cannot be read.
    Unreadable,
    End,
}

/// The most that a walk skips behind a place that cannot be read, as a power of two.
const SKIPS: u32 = 40;

/// Walks over a table, past what cannot be read.
pub fn walk(
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

pub fn count(counts: &mut BTreeMap<Record, u64>, kind: Record) {
    *counts.entry(kind).or_insert(0) += 1;
}

/// The rows of a table that can be read.
#[derive(Default)]
pub struct Readable {
    /// Intact rows with numbers that follow each other: the first and the last.
    pub intact: Vec<(i64, i64)>,
    pub damaged: Vec<i64>,
    pub places: u64,
}

impl Readable {
    pub fn of(source: &Connection, table: &Table) -> Result<Self, HistoryError> {
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

impl Sqlite {
    /// Checks the structure of the file and every row. Others may read and write meanwhile.
    ///
    /// # Errors
    /// Where the file cannot be read at all.
    pub fn check(&self) -> Result<Checked, HistoryError> {
        let mut found = Checked::default();
        self.readers().with(|connection| {
            for table in tables() {
                if table.kind == Record::Turn {
                    found.turns(&Turns::of(connection, &table)?);
                    continue;
                }
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
            found.gaps = gap::all(connection).len() as u64;
            if !is_structure_sound(connection) || !are_keys_sound(connection) {
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

/// True if everything that a row refers to is there. No checksum covers that.
fn are_keys_sound(connection: &Connection) -> bool {
    let statement = connection.prepare("PRAGMA foreign_key_check");
    statement
        .and_then(|mut dangling| dangling.exists([]))
        .is_ok_and(|is_dangling| !is_dangling)
}
