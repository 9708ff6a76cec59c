//! The turns of a damaged store: which are intact, what a repair can make of the others, and which it leaves out.

use std::collections::{BTreeMap, BTreeSet};

use context::TurnId;
use history::HistoryError;
use rusqlite::{Connection, OptionalExtension as _};

use crate::care::{Readable, Table};
use crate::error::{from_sqlite, from_sqlite_ref};
use crate::rows::link;
use crate::rows::node::{AFTER, Content, Kept, SUMMED, select_with};

/// The state of the turns.
#[derive(Default)]
pub struct Turns {
    /// Rows with numbers that follow each other: the first and the last.
    pub intact: Vec<(i64, i64)>,
    /// The damaged ones that keep their place.
    pub mended: BTreeMap<i64, Mend>,
    /// The damaged ones whose place is lost, too.
    pub lost: u64,
    /// The intact and mended ones that stand on a turn whose place is lost.
    pub behind: BTreeSet<i64>,
    /// The places of the file that cannot be read.
    pub places: u64,
}

/// The part of a damaged turn that a repair keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mend {
    /// The parent's row.
    pub parent: Option<i64>,
    /// True if its content is proved by its id; otherwise it becomes a gap.
    pub is_proved: bool,
}

impl Turns {
    /// Reads all turns. `table` is that of the turns.
    pub fn of(connection: &Connection, table: &Table) -> Result<Self, HistoryError> {
        let found = Readable::of(connection, table)?;
        let mut turns = Self {
            intact: found.intact,
            places: found.places,
            ..Self::default()
        };
        let mut damaged = found.damaged;
        if found.places > 0 {
            turns.overlooked(connection, table, &mut damaged)?;
        }
        for row in damaged {
            match mend(connection, row)? {
                Some(mend) => drop(turns.mended.insert(row, mend)),
                None => turns.lost += 1,
            }
        }
        if turns.lost > 0 || turns.places > 0 || !turns.mended.is_empty() {
            turns.leave_out(connection)?;
        }
        Ok(turns)
    }

    /// The number of turns of which anything can be read.
    pub fn count(&self) -> u64 {
        let intact = self
            .intact
            .iter()
            .map(|(first, last)| last.abs_diff(*first) + 1);
        intact.sum::<u64>() + self.mended.len() as u64 + self.lost
    }

    /// The rows that a repair keeps, parents first.
    pub fn rows(&self) -> impl Iterator<Item = i64> {
        let alone = self.mended.keys().map(|row| (*row, *row));
        let mut all: Vec<_> = self.intact.iter().copied().chain(alone).collect();
        all.sort_unstable();
        let rows = all.into_iter().flat_map(|(first, last)| first..=last);
        rows.filter(|row| !self.behind.contains(row))
    }

    /// Finds the rows whose bodies alone cannot be read, and those that were skipped behind them.
    fn overlooked(
        &mut self,
        connection: &Connection,
        table: &Table,
        damaged: &mut Vec<i64>,
    ) -> Result<(), HistoryError> {
        let known: BTreeSet<i64> = damaged.iter().copied().collect();
        let heads = Table {
            first: "SELECT n FROM node WHERE n > ?1 ORDER BY n LIMIT 1".to_owned(),
            read: |_| Ok(true),
            ..*table
        };
        let all = Readable::of(connection, &heads)?.intact.into_iter();
        let missing = all
            .flat_map(|(first, last)| first..=last)
            .filter(|row| !self.is_intact(*row) && !known.contains(row));
        for row in missing.collect::<Vec<_>>() {
            match content(connection, row) {
                Some((_, Content::Whole(_) | Content::Gap)) => self.intact.push((row, row)),
                _ => damaged.push(row),
            }
        }
        self.intact.sort_unstable();
        Ok(())
    }

    /// Finds the turns that stand on a place that is lost.
    fn leave_out(&mut self, connection: &Connection) -> Result<(), HistoryError> {
        for row in self.rows().collect::<Vec<_>>() {
            let parent = match self.mended.get(&row) {
                Some(mend) => mend.parent,
                None => connection
                    .prepare_cached("SELECT parent FROM node WHERE n = ?1")
                    .and_then(|mut it| it.query_row([row], |row| row.get(0)))
                    .map_err(from_sqlite)?,
            };
            let is_placed = |parent| {
                (self.is_intact(parent) || self.mended.contains_key(&parent))
                    && !self.behind.contains(&parent)
            };
            if !parent.is_none_or(is_placed) {
                self.behind.insert(row);
            }
        }
        Ok(())
    }

    fn is_intact(&self, row: i64) -> bool {
        let after = self.intact.partition_point(|(first, _)| *first <= row);
        let range = after.checked_sub(1).and_then(|at| self.intact.get(at));
        range.is_some_and(|(_, last)| row <= *last)
    }
}

/// A row and its content, if the row can be read. A body that cannot be read is no content.
fn content(connection: &Connection, row: i64) -> Option<(Kept, Content)> {
    let read = |body| {
        let sql = format!(
            "{}, parent.id FROM node {SUMMED} LEFT JOIN node AS parent ON parent.n = node.parent \
             WHERE node.n = ?1",
            select_with(body)
        );
        let mut statement = connection.prepare_cached(&sql)?;
        statement.query_row([row], |row| {
            Ok((Kept::read(row)?, row.get::<_, Option<[u8; 16]>>(AFTER)?))
        })
    };
    let (kept, parent) = read("node.body").or_else(|_| read("NULL")).ok()?;
    let content = kept.after(parent.map_or(TurnId::ROOT, TurnId::from_bytes));
    Some((kept, content))
}

/// The part of a damaged row that can be kept; `None` if its place cannot be known.
fn mend(connection: &Connection, row: i64) -> Result<Option<Mend>, HistoryError> {
    let Some((kept, content)) = content(connection, row) else {
        return Ok(None);
    };
    let proved = |parent| Mend {
        parent,
        is_proved: true,
    };
    // A first turn is proved as such, whatever number its row has for a parent.
    if is_proved(&kept.after(TurnId::ROOT)) {
        return Ok(Some(proved(None)));
    }
    if is_proved(&content) {
        return Ok(Some(proved(kept.parent)));
    }
    let gap = |parent| Mend {
        parent,
        is_proved: false,
    };
    let is_before = |parent: i64| parent < row;
    if kept.parent.is_none_or(is_before)
        && readable(link::is_sound(connection, row, kept.parent))? == Some(true)
    {
        return Ok(Some(gap(kept.parent)));
    }
    let linked = readable(link::of(connection, row))?.flatten();
    let Some(parent) = linked.filter(|parent| is_before(*parent)) else {
        return Ok(None);
    };
    let id = connection.query_row("SELECT id FROM node WHERE n = ?1", [parent], |row| {
        row.get(0)
    });
    let content = readable(id.optional())?
        .flatten()
        .map(|id| kept.after(TurnId::from_bytes(id)));
    Ok(Some(match content.is_some_and(|it| is_proved(&it)) {
        true => proved(Some(parent)),
        false => gap(Some(parent)),
    }))
}

const fn is_proved(content: &Content) -> bool {
    matches!(content, Content::Whole(_) | Content::Proved(_))
}

/// `None` where the file is damaged.
fn readable<T>(read: rusqlite::Result<T>) -> Result<Option<T>, HistoryError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) => match from_sqlite_ref(&error) {
            HistoryError::Busy | HistoryError::NoSpace => Err(from_sqlite(error)),
            _ => Ok(None),
        },
    }
}
