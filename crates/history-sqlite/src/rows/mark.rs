//! Marks as rows.

use context::{Text, Tokens, TurnId};
use history::{HistoryError, Mark, MarkId, MarkStore, Record, Route, Stored};
use rusqlite::Row;

use super::TenantStore;
use super::node::UP;
use crate::sum::MARK;
use crate::timestamp;

/// The columns that [`read`] expects, behind the number and the checksum.
const COLUMNS: &str =
    "node.id, mark.made_from, mark.summary, mark.tokens, mark.route, mark.at, mark.id";

/// Reads a mark; `None` if it does not match its id.
pub fn read(row: &Row<'_>) -> rusqlite::Result<Option<Mark>> {
    let Some(route) = route(row.get_ref(6)?.as_str()?) else {
        return Ok(None);
    };
    let mark = Mark {
        node: TurnId::from_bytes(row.get(2)?),
        made_from: TurnId::from_bytes(row.get(3)?),
        summary: Text::from(row.get_ref(4)?.as_str()?),
        tokens: Tokens::new(row.get::<_, i64>(5)?.cast_unsigned()),
        route,
        at: timestamp::from_sql(row.get(7)?),
    };
    let id = MarkId::from_bytes(row.get(8)?);
    Ok(Some(mark).filter(|mark| mark.id() == id))
}

/// The beginning of a query of marks.
pub fn select() -> String {
    format!("SELECT mark.n, mark.sum IS {MARK}, {COLUMNS}")
}

impl MarkStore for TenantStore<'_> {
    fn add_mark(&mut self, mark: Mark) -> Result<bool, HistoryError> {
        let node = self.require_row(mark.node)?;
        let id = mark.id();
        if self.is_mark_kept(&mark)? {
            return Ok(false);
        }
        let tenant = self.hold(Stored::mark(&mark))?;
        self.run(
            "INSERT INTO mark (tenant, id, node, made_from, route, tokens, at, summary, sum) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, row_sum('mark', ?2, ?4, ?6, ?7))",
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
            "{} FROM mark JOIN node ON node.n = mark.node \
             WHERE mark.tenant = ?1 AND mark.id = ?2",
            select()
        );
        let params = (self.tenant(), id.as_bytes());
        let found = self.intact(Record::Mark, (&sql, params), |row| {
            Ok(read(row)?.filter(|mark| mark.id() == id))
        })?;
        Ok(found.into_iter().next())
    }

    fn marks_at(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError> {
        let sql = format!(
            "{} FROM node JOIN mark ON mark.node = node.n \
             WHERE node.tenant = ?1 AND node.id = ?2 ORDER BY mark.n",
            select()
        );
        self.intact(Record::Mark, (&sql, (self.tenant(), node.as_bytes())), read)
    }

    fn marks_on(&self, node: TurnId) -> Result<Vec<Mark>, HistoryError> {
        if node == TurnId::ROOT {
            return Ok(Vec::new());
        }
        self.require_row(node)?;
        let sql = format!(
            "{UP} {} FROM up JOIN mark ON mark.node = up.n \
             JOIN node ON node.n = up.n ORDER BY node.n, mark.n",
            select()
        );
        self.intact(Record::Mark, (&sql, (self.tenant(), node.as_bytes())), read)
    }
}

impl TenantStore<'_> {
    /// Returns true if this mark is stored. A damaged one is deleted.
    fn is_mark_kept(&self, mark: &Mark) -> Result<bool, HistoryError> {
        let id = mark.id();
        let found = self.one(
            "SELECT n FROM mark WHERE tenant = ?1 AND id = ?2",
            (self.tenant(), id.as_bytes()),
            |row| row.get::<_, i64>(0),
        )?;
        let Some(row) = found else { return Ok(false) };
        if self.mark(id)?.is_some() {
            return Ok(true);
        }
        self.run("DELETE FROM mark WHERE n = ?1", [row])?;
        Ok(false)
    }
}

fn route(name: &str) -> Option<Route> {
    [Route::Native, Route::Readable, Route::Extractive]
        .into_iter()
        .find(|route| route.as_str() == name)
}
