//! Marks as rows.

use context::{Text, Tokens, TurnId};
use history::{HistoryError, Mark, MarkId, MarkStore, Route, Stored};
use rusqlite::Row;

use super::TenantStore;
use super::node::UP;
use crate::error::damaged;
use crate::timestamp;

/// The columns that [`read`] expects.
const COLUMNS: &str =
    "node.id, mark.made_from, mark.summary, mark.tokens, mark.route, mark.at, mark.id";

fn read(row: &Row<'_>) -> rusqlite::Result<Option<Mark>> {
    let Some(route) = route(row.get_ref(4)?.as_str()?) else {
        return Ok(None);
    };
    let mark = Mark {
        node: TurnId::from_bytes(row.get(0)?),
        made_from: TurnId::from_bytes(row.get(1)?),
        summary: Text::from(row.get_ref(2)?.as_str()?),
        tokens: Tokens::new(row.get::<_, i64>(3)?.cast_unsigned()),
        route,
        at: timestamp::from_sql(row.get(5)?),
    };
    let id = MarkId::from_bytes(row.get(6)?);
    Ok(Some(mark).filter(|mark| mark.id() == id))
}

fn whole(mark: Option<Mark>) -> Result<Mark, HistoryError> {
    mark.ok_or_else(|| damaged("a mark does not match its id"))
}

impl MarkStore for TenantStore<'_> {
    fn add_mark(&mut self, mark: Mark) -> Result<bool, HistoryError> {
        let node = self.require_row(mark.node)?;
        let id = mark.id();
        let known = self.exists(
            "SELECT n FROM mark WHERE tenant = ?1 AND id = ?2",
            (self.tenant(), id.as_bytes()),
        )?;
        if known {
            return Ok(false);
        }
        let tenant = self.hold(Stored::mark(&mark))?;
        self.run(
            "INSERT INTO mark (tenant, id, node, made_from, route, tokens, at, summary) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            (
                tenant,
                id.as_bytes(),
                node,
                mark.made_from.as_bytes(),
                mark.route.as_str(),
                mark.tokens.get().cast_signed(),
                timestamp::to_sql(mark.at),
                mark.summary.as_str(),
            ),
        )?;
        Ok(true)
    }

    fn mark(&self, id: MarkId) -> Result<Option<Mark>, HistoryError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM mark JOIN node ON node.n = mark.node \
             WHERE mark.tenant = ?1 AND mark.id = ?2"
        );
        self.one(&sql, (self.tenant(), id.as_bytes()), read)?
            .map(whole)
            .transpose()
    }

    fn marks_at(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM node JOIN mark ON mark.node = node.n \
             WHERE node.tenant = ?1 AND node.id = ?2 ORDER BY mark.n"
        );
        let marks = self.all(&sql, (self.tenant(), node.as_bytes()), read)?;
        marks.into_iter().map(whole).collect()
    }

    fn marks_on(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError> {
        if node == TurnId::ROOT {
            return Ok(Vec::new());
        }
        self.require_row(node)?;
        let sql = format!(
            "{UP} SELECT {COLUMNS} FROM up JOIN mark ON mark.node = up.n \
             JOIN node ON node.n = up.n ORDER BY node.n, mark.n"
        );
        let marks = self.all(&sql, (self.tenant(), node.as_bytes()), read)?;
        marks.into_iter().map(whole).collect()
    }
}

fn route(name: &str) -> Option<Route> {
    [Route::Native, Route::Readable, Route::Extractive]
        .into_iter()
        .find(|route| route.as_str() == name)
}
