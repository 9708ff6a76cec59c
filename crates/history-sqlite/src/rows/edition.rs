//! Rows of editions (recorded changes to sent messages), kept messages and chunk summaries.

use std::collections::BTreeSet;

use context::{Text, TurnId};
use history::{Change, Edition, EditionStore, HistoryError, Stored};
use rusqlite::Row;

use super::TenantStore;
use crate::error::damaged;
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
    let result: Option<u32> = row.get(1)?;
    let text = Text::from(row.get_ref(2)?.as_str()?);
    Ok(match (row.get_ref(0)?.as_str()?, result) {
        (APPENDED, None) => Some(Change::Appended(text)),
        (FOLLOWED, None) => Some(Change::Followed(text)),
        (SHRUNK, Some(result)) => Some(Change::Shrunk { result, text }),
        _ => None,
    })
}

impl TenantStore<'_> {
    /// Returns a turn's editions with their row numbers.
    fn editions_of(&self, turn: TurnId) -> Result<Vec<(i64, Edition)>, HistoryError> {
        let rows = self.all(
            "SELECT edition.kind, edition.result, edition.text, edition.at, edition.n \
             FROM node JOIN edition ON edition.node = node.n \
             WHERE node.tenant = ?1 AND node.id = ?2",
            (self.tenant(), turn.as_bytes()),
            |row| Ok((row.get(4)?, change(row)?, timestamp::from_sql(row.get(3)?))),
        )?;
        rows.into_iter()
            .map(|(row, change, at)| {
                let change = change.ok_or_else(|| damaged("an edition has an unknown form"))?;
                Ok((row, Edition { turn, change, at }))
            })
            .collect()
    }
}

impl EditionStore for TenantStore<'_> {
    fn add_edition(&mut self, edition: &Edition) -> Result<(), HistoryError> {
        let node = self.require_row(edition.turn)?;
        let text = edition.change.text();
        let (kind, result) = form(&edition.change);
        let known = self.exists(
            "SELECT n FROM edition WHERE node = ?1 AND kind = ?2 AND result IS ?3 AND text = ?4",
            (node, kind, result, text.as_str()),
        )?;
        if known {
            return Ok(());
        }
        self.hold(Stored::text_beside(text.len()))?;
        self.run(
            "INSERT INTO edition (node, kind, result, at, text) VALUES (?1, ?2, ?3, ?4, ?5)",
            (
                node,
                kind,
                result,
                timestamp::to_sql(edition.at),
                text.as_str(),
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
        if self.exists("SELECT node FROM original WHERE node = ?1", [node])? {
            return Ok(());
        }
        self.hold(Stored::text_beside(message.len()))?;
        self.run(
            "INSERT INTO original (node, message) VALUES (?1, ?2)",
            (node, message),
        )?;
        Ok(())
    }

    fn original(&self, of: TurnId) -> Result<Option<Vec<u8>>, HistoryError> {
        self.one(
            "SELECT original.message FROM node JOIN original ON original.node = node.n \
             WHERE node.tenant = ?1 AND node.id = ?2",
            (self.tenant(), of.as_bytes()),
            |row| row.get(0),
        )
    }

    fn keep_chunk(&mut self, hash: [u8; 16], summary: &Text) -> Result<(), HistoryError> {
        if self.chunk(hash)?.is_some() {
            return Ok(());
        }
        let tenant = self.hold(Stored::text_beside(summary.len()))?;
        self.run(
            "INSERT INTO chunk (tenant, hash, summary) VALUES (?1, ?2, ?3)",
            (tenant, hash, summary.as_str()),
        )?;
        Ok(())
    }

    fn chunk(&self, hash: [u8; 16]) -> Result<Option<Text>, HistoryError> {
        self.one(
            "SELECT summary FROM chunk WHERE tenant = ?1 AND hash = ?2",
            (self.tenant(), hash),
            |row| Ok(Text::from(row.get_ref(0)?.as_str()?)),
        )
    }
}
