//! Nodes of the tree as rows.

use context::{Provenance, Role, TokenCounter, Tokens, Turn, TurnDraft, TurnId};
use history::{HistoryError, NodeStore, Record, Stored};
use rusqlite::Row;

use super::TenantStore;
use crate::error::damaged;
use crate::sum::TURN;
use crate::{encoding, timestamp};

/// The columns that [`Kept::read`] expects, without the last: true if the checksum holds.
const COLUMNS: &str =
    "node.n, node.id, node.role, node.provenance, node.at, node.tokens, node.body";

/// The tables of [`select`].
const SUMMED: &str = "LEFT JOIN turn_sum ON turn_sum.node = node.n";

/// The beginning of a query of nodes.
pub fn select() -> String {
    format!("SELECT {COLUMNS}, turn_sum.sum IS {TURN}")
}

/// A node's row.
pub struct Kept {
    pub row: i64,
    id: TurnId,
    is_intact: bool,
    role: Option<Role>,
    provenance: Option<Provenance>,
    at: Option<i64>,
    tokens: Tokens,
    body: Vec<u8>,
}

impl Kept {
    pub fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            is_intact: row.get::<_, Option<bool>>(7)? == Some(true),
            row: row.get(0)?,
            id: TurnId::from_bytes(row.get(1)?),
            role: role(row.get_ref(2)?.as_str()?),
            provenance: provenance(row.get_ref(3)?.as_str()?),
            at: row.get(4)?,
            tokens: Tokens::new(row.get::<_, i64>(5)?.cast_unsigned()),
            body: row.get(6)?,
        })
    }

    /// Rebuilds the turn after `parent`. Recomputes its id, so a changed row is detected.
    pub fn after(self, parent: TurnId) -> Result<Turn, HistoryError> {
        let lost = || damaged(&format!("turn {} does not match its id", self.id));
        if !self.is_intact {
            return Err(lost());
        }
        let (Some(role), Some(provenance), Some(parts)) =
            (self.role, self.provenance, encoding::read(&self.body))
        else {
            return Err(lost());
        };
        let draft = TurnDraft {
            role,
            parts,
            at: self.at.map(timestamp::from_sql),
            provenance,
        };
        let turn = draft.after(parent, &Counted(self.tokens));
        if turn.id() == self.id {
            Ok(turn)
        } else {
            Err(lost())
        }
    }
}

/// Returns the count from when the turn was first appended.
struct Counted(Tokens);

impl TokenCounter for Counted {
    fn count(&self, _: &str) -> Tokens {
        self.0
    }

    fn count_parts(&self, _: &[context::Part]) -> Tokens {
        self.0
    }
}

impl TenantStore<'_> {
    /// Returns the number of a turn's row, if it is stored.
    pub(super) fn row_of(&self, turn: TurnId) -> Result<Option<i64>, HistoryError> {
        self.one(
            "SELECT n FROM node WHERE tenant = ?1 AND id = ?2",
            (self.tenant(), turn.as_bytes()),
            |row| row.get(0),
        )
    }

    /// Returns the number of a turn's row, or an error if the turn is unknown.
    pub(super) fn require_row(&self, turn: TurnId) -> Result<i64, HistoryError> {
        self.row_of(turn)?.ok_or(HistoryError::UnknownNode(turn))
    }
}

impl NodeStore for TenantStore<'_> {
    fn append(&mut self, parent: TurnId, turn: &Turn) -> Result<bool, HistoryError> {
        let parent_row = match parent {
            TurnId::ROOT => None,
            parent => Some(self.require_row(parent)?),
        };
        if !turn.follows(parent) {
            return Err(HistoryError::NotItsChild {
                turn: turn.id(),
                parent,
            });
        }
        if self.row_of(turn.id())?.is_some() {
            return Ok(false);
        }
        let more = Stored::turn(turn);
        let tenant = self.hold(more)?;
        self.run(
            "INSERT INTO node (tenant, id, parent, role, provenance, at, tokens, text, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            (
                tenant,
                turn.id().as_bytes(),
                parent_row,
                turn.role().as_str(),
                provenance_name(turn.provenance()),
                turn.at().map(timestamp::to_sql),
                turn.tokens().get().cast_signed(),
                more.bytes.cast_signed(),
                encoding::write(turn.parts()),
            ),
        )?;
        self.run(
            "INSERT OR REPLACE INTO turn_sum (node, sum) \
             VALUES (?1, row_sum('turn', ?2, ?3, ?4, ?5, ?6, ?7))",
            (
                self.connection.last_insert_rowid(),
                turn.id().as_bytes(),
                turn.role().as_str(),
                provenance_name(turn.provenance()),
                turn.at().map(timestamp::to_sql),
                turn.tokens().get().cast_signed(),
                more.bytes.cast_signed(),
            ),
        )?;
        Ok(true)
    }

    fn node(&self, id: TurnId) -> Result<Option<(Turn, TurnId)>, HistoryError> {
        let sql = format!(
            "{}, parent.id FROM node {SUMMED} LEFT JOIN node AS parent ON parent.n = node.parent \
             WHERE node.tenant = ?1 AND node.id = ?2",
            select()
        );
        let found = self.one(&sql, (self.tenant(), id.as_bytes()), |row| {
            let parent: Option<[u8; 16]> = row.get(8)?;
            let parent = parent.map_or(TurnId::ROOT, TurnId::from_bytes);
            Ok((Kept::read(row)?, parent))
        })?;
        found
            .filter(|(kept, _)| kept.id == id)
            .map(|(kept, parent)| Ok((self.rebuilt(kept, parent)?, parent)))
            .transpose()
    }

    fn stored(&self) -> Result<Stored, HistoryError> {
        Ok(self.held)
    }

    fn path(&self, node: TurnId) -> Result<Vec<Turn>, HistoryError> {
        if node == TurnId::ROOT {
            return Ok(Vec::new());
        }
        let sql = format!(
            "{UP} {} FROM up JOIN node ON node.n = up.n {SUMMED}",
            select()
        );
        let mut way = self.all(&sql, (self.tenant(), node.as_bytes()), Kept::read)?;
        if way.is_empty() {
            return Err(HistoryError::UnknownNode(node));
        }
        way.sort_unstable_by_key(|kept| kept.row);
        let mut parent = TurnId::ROOT;
        way.into_iter()
            .map(|kept| {
                let turn = self.rebuilt(kept, parent)?;
                parent = turn.id();
                Ok(turn)
            })
            .collect()
    }

    fn known(&self, turns: &[Turn]) -> Result<usize, HistoryError> {
        let mut failed = Ok(());
        let known = turns.partition_point(|turn| {
            let there = self.row_of(turn.id());
            match there {
                Ok(row) => row.is_some(),
                Err(error) => {
                    failed = Err(error);
                    false
                }
            }
        });
        failed.map(|()| known)
    }
}

impl TenantStore<'_> {
    /// Rebuilds a turn, and notes one that is damaged.
    fn rebuilt(&self, kept: Kept, parent: TurnId) -> Result<Turn, HistoryError> {
        let row = kept.row;
        kept.after(parent)
            .inspect_err(|_| self.access.damage.note(Record::Turn, row))
    }
}

/// The table `up`: row numbers from turn `?2` of tenant `?1` up to the root. A parent has the smaller number;
/// without that condition, a damaged one could lead in a circle.
pub(super) const UP: &str = "WITH RECURSIVE up (n, parent) AS (\
     SELECT n, parent FROM node WHERE tenant = ?1 AND id = ?2 \
     UNION ALL SELECT node.n, node.parent FROM up JOIN node ON node.n = up.parent \
     WHERE up.parent < up.n)";

fn role(name: &str) -> Option<Role> {
    [
        Role::System,
        Role::User,
        Role::Assistant,
        Role::Tool,
        Role::Other,
    ]
    .into_iter()
    .find(|role| role.as_str() == name)
}

const fn provenance_name(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Said => "said",
        Provenance::Shrunk => "shrunk",
        Provenance::Summary => "summary",
        Provenance::Pins => "pins",
        Provenance::Note => "note",
    }
}

fn provenance(name: &str) -> Option<Provenance> {
    [
        Provenance::Said,
        Provenance::Shrunk,
        Provenance::Summary,
        Provenance::Pins,
        Provenance::Note,
    ]
    .into_iter()
    .find(|provenance| provenance_name(*provenance) == name)
}
