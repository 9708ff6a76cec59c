//! Rows of editions (recorded changes to sent messages), kept messages, and texts kept under a key.

use std::collections::BTreeSet;

use context::{Text, TurnId};
use history::{Change, Edition, EditionStore, HistoryError, Owner, Record, Stored};
use rusqlite::Row;

use super::TenantStore;
use crate::sum::{CHUNK, EDITION, ORIGINAL, OWNED};
use crate::timestamp;

const APPENDED: &str = "appended";
const FOLLOWED: &str = "followed";
const SHRUNK: &str = "shrunk";

/// The values of the columns `kind` and `result` for a change.
const fn form(change: &Change) -> (&'static str, Option<u32>) {
    match change {
        Change::Appended(_) => (APPENDED, None),
        Change::Followed(_) => (FOLLOWED, None),
        Change::Shrunk { result, .. } => (SHRUNK, Some(*result)),
    }
}

fn change(row: &Row<'_>) -> rusqlite::Result<Option<Change>> {
    let result: Option<u32> = row.get(3)?;
    let text = Text::from(row.get_ref(4)?.as_str()?);
    Ok(match (row.get_ref(2)?.as_str()?, result) {
        (APPENDED, None) => Some(Change::Appended(text)),
        (FOLLOWED, None) => Some(Change::Followed(text)),
        (SHRUNK, Some(result)) => Some(Change::Shrunk { result, text }),
        _ => None,
    })
}

/// A table of texts that are kept under a key.
#[derive(Clone, Copy)]
struct TextTable {
    name: &'static str,
    /// The value of its column `sum`.
    sum: &'static str,
}

const CACHE: TextTable = TextTable {
    name: "chunk",
    sum: CHUNK,
};

const WITH_OWNER: TextTable = TextTable {
    name: "owned",
    sum: OWNED,
};

impl TenantStore<'_> {
    /// Returns a turn's editions with their row numbers.
    fn editions_of(&self, turn: TurnId) -> Result<Vec<(i64, Edition)>, HistoryError> {
        let sql = format!(
            "SELECT edition.n, edition.sum IS {EDITION}, edition.kind, edition.result, edition.text, \
             edition.at FROM node JOIN edition ON edition.node = node.n \
             WHERE node.tenant = ?1 AND node.id = ?2"
        );
        let params = (self.tenant(), turn.as_bytes());
        self.intact(Record::Edition, (&sql, params), |row| {
            let at = timestamp::from_sql(row.get(5)?);
            let edition = change(row)?.map(|change| Edition { turn, change, at });
            let number = row.get(0)?;
            Ok(edition.map(|edition| (number, edition)))
        })
    }

    /// Returns true if one of the tables of texts has a sound text under a key.
    fn is_text_kept(&self, table: TextTable, key: [u8; 16]) -> Result<bool, HistoryError> {
        let TextTable { name, sum } = table;
        let sql = format!("SELECT n, sum IS {sum} FROM {name} WHERE tenant = ?1 AND hash = ?2");
        let delete = format!("DELETE FROM {name} WHERE n = ?1");
        self.is_kept(Record::Chunk, (&sql, (self.tenant(), key)), &delete)
    }

    fn text_in(&self, table: TextTable, key: [u8; 16]) -> Result<Option<Text>, HistoryError> {
        let TextTable { name, sum } = table;
        let sql =
            format!("SELECT n, sum IS {sum}, summary FROM {name} WHERE tenant = ?1 AND hash = ?2");
        let found = self.intact(Record::Chunk, (&sql, (self.tenant(), key)), |row| {
            Ok(Some(Text::from(row.get_ref(2)?.as_str()?)))
        })?;
        Ok(found.into_iter().next())
    }
}

impl EditionStore for TenantStore<'_> {
    fn add_edition(&mut self, edition: &Edition) -> Result<(), HistoryError> {
        let node = self.require_row(edition.turn)?;
        let text = edition.change.text();
        let (kind, result) = form(&edition.change);
        let sql = format!(
            "SELECT edition.n, edition.sum IS {EDITION} FROM edition JOIN node ON node.n = edition.node \
             WHERE edition.node = ?1 AND kind = ?2 AND result IS ?3 AND edition.text = ?4"
        );
        let params = (node, kind, result, text.as_str());
        let delete = "DELETE FROM edition WHERE n = ?1";
        if self.is_kept(Record::Edition, (&sql, params), delete)? {
            return Ok(());
        }
        self.hold(Stored::text_beside(text.len()))?;
        self.run(
            "INSERT INTO edition (node, kind, result, at, text, sum) \
             VALUES (?1, ?2, ?3, ?4, ?5, row_sum('edition', ?6, ?2, ?3, ?4, ?5))",
            (
                node,
                kind,
                result,
                timestamp::to_sql(edition.at),
                text.as_str(),
                edition.turn.as_bytes(),
            ),
        )?;
        Ok(())
    }

    fn editions(&self, of: &[TurnId]) -> Result<Vec<Edition>, HistoryError> {
        let turns: BTreeSet<&TurnId> = of.iter().collect();
        let mut found = Vec::new();
        for turn in turns {
            found.extend(self.editions_of(*turn)?);
        }
        found.sort_unstable_by_key(|(row, _)| *row);
        Ok(found.into_iter().map(|(_, edition)| edition).collect())
    }

    fn keep_original(&mut self, of: TurnId, message: &[u8]) -> Result<(), HistoryError> {
        let node = self.require_row(of)?;
        let sql = format!(
            "SELECT node.n, turn_sum.original IS {ORIGINAL} FROM original \
             JOIN node ON node.n = original.node LEFT JOIN turn_sum ON turn_sum.node = node.n \
             WHERE original.node = ?1"
        );
        let delete = "DELETE FROM original WHERE node = ?1";
        if self.is_kept(Record::Original, (&sql, [node]), delete)? {
            return Ok(());
        }
        self.hold(Stored::text_beside(message.len()))?;
        self.run(
            "INSERT INTO original (node, message) VALUES (?1, ?2)",
            (node, message),
        )?;
        self.run(
            "UPDATE turn_sum SET original = row_sum('original', ?2, ?3) WHERE node = ?1",
            (node, of.as_bytes(), message),
        )?;
        Ok(())
    }

    fn original(&self, of: TurnId) -> Result<Option<Vec<u8>>, HistoryError> {
        let sql = format!(
            "SELECT node.n, turn_sum.original IS {ORIGINAL}, original.message \
             FROM node JOIN original ON original.node = node.n \
             LEFT JOIN turn_sum ON turn_sum.node = node.n \
             WHERE node.tenant = ?1 AND node.id = ?2"
        );
        let params = (self.tenant(), of.as_bytes());
        let found = self.intact(Record::Original, (&sql, params), |row| row.get(2).map(Some))?;
        Ok(found.into_iter().next())
    }

    fn keep_chunk(&mut self, hash: [u8; 16], summary: &Text) -> Result<(), HistoryError> {
        if self.is_text_kept(CACHE, hash)? {
            return Ok(());
        }
        let tenant = self.hold(Stored::text_beside(summary.len()))?;
        self.run(
            "INSERT INTO chunk (tenant, hash, summary, sum) \
             VALUES (?1, ?2, ?3, row_sum('chunk', ?1, ?2, ?3))",
            (tenant, hash, summary.as_str()),
        )?;
        Ok(())
    }

    fn keep_owned(&mut self, of: Owner, key: [u8; 16], text: &Text) -> Result<(), HistoryError> {
        if self.is_text_kept(WITH_OWNER, key)? {
            return Ok(());
        }
        let tenant = self.hold(Stored::text_beside(text.len()))?;
        self.run(
            "INSERT INTO owned (tenant, hash, owner, summary, sum) \
             VALUES (?1, ?2, ?3, ?4, row_sum('owned', ?1, ?2, ?3, ?4))",
            (tenant, key, of.as_bytes(), text.as_str()),
        )?;
        Ok(())
    }

    fn chunk(&self, hash: [u8; 16]) -> Result<Option<Text>, HistoryError> {
        match self.text_in(WITH_OWNER, hash)? {
            Some(text) => Ok(Some(text)),
            None => self.text_in(CACHE, hash),
        }
    }
}
