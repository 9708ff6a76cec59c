//! Nodes of the tree as rows.

use context::{Provenance, Role, TokenCounter, Tokens, Turn, TurnDraft, TurnId};
use history::{HistoryError, NodeStore, Stored};
use rusqlite::Row;

use super::{TenantStore, link};
use crate::error::damaged;
use crate::sum::{GAP, TURN};
use crate::{encoding, timestamp};

/// The columns of [`Kept`] in front of its body.
const COLUMNS: &str =
    "node.n, node.id, node.parent, node.role, node.provenance, node.at, node.tokens";

/// The tables of [`select`].
pub const SUMMED: &str = "LEFT JOIN turn_sum ON turn_sum.node = node.n";

/// The beginning of a query of nodes. A row that follows has the columns from [`AFTER`] on.
pub fn select() -> String {
    select_with("node.body")
}

/// The beginning of a query of nodes with `body` in the place of their bodies.
pub fn select_with(body: &str) -> String {
    format!("SELECT {COLUMNS}, {body}, turn_sum.sum IS {TURN}, turn_sum.sum IS {GAP}")
}

/// The first column after those of [`select`].
pub const AFTER: usize = 10;

/// A node's row.
pub struct Kept {
    pub row: i64,
    id: TurnId,
    /// The parent's row.
    pub parent: Option<i64>,
    is_intact: bool,
    is_gap: bool,
    role: Option<Role>,
    provenance: Option<Provenance>,
    at: Option<i64>,
    tokens: Tokens,
    /// `None` if its page cannot be read.
    body: Option<Vec<u8>>,
}

/// The content of a row.
pub enum Content {
    /// The turn, and the row's checksum holds.
    Whole(Turn),
    /// The turn, as its id proves, in a row whose checksum does not hold.
    Proved(Turn),
    /// A repair found no content and left a gap.
    Gap,
    /// Not what was written.
    Lost,
}

impl Kept {
    /// Reads a row. Only its number, its id and its parent must be readable.
    pub fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let name = |column| row.get_ref(column).ok().and_then(|it| it.as_str().ok());
        let tokens: i64 = row.get(6).unwrap_or(0);
        let holds = |column| row.get::<_, Option<bool>>(column).ok().flatten() == Some(true);
        Ok(Self {
            row: row.get(0)?,
            id: TurnId::from_bytes(row.get(1)?),
            parent: row.get(2)?,
            role: name(3).and_then(role),
            provenance: name(4).and_then(provenance),
            at: row.get(5).unwrap_or(None),
            tokens: Tokens::new(tokens.cast_unsigned()),
            body: row.get(7).unwrap_or(None),
            is_intact: holds(8),
            is_gap: holds(9),
        })
    }

    /// Rebuilds the turn after `parent`. Recomputes its id, so a changed row is detected.
    pub fn after(&self, parent: TurnId) -> Content {
        if self.is_gap {
            return Content::Gap;
        }
        let parts = self.body.as_deref().and_then(encoding::read);
        let (Some(role), Some(parts)) = (self.role, parts) else {
            return Content::Lost;
        };
        let is_whole = self.is_intact && self.provenance.is_some();
        let draft = TurnDraft {
            role,
            parts,
            // No id covers the rest.
            at: self.at.filter(|_| is_whole).map(timestamp::from_sql),
            provenance: self.provenance.unwrap_or(Provenance::Said),
        };
        let turn = draft.after(parent, &Counted(self.tokens()));
        match turn.id() == self.id {
            true if is_whole => Content::Whole(turn),
            true => Content::Proved(turn),
            false => Content::Lost,
        }
    }

    /// The size, which is at most that of the body where the checksum does not hold.
    fn tokens(&self) -> Tokens {
        let bytes = self.body.as_ref().map_or(0, |body| body.len() as u64);
        match self.is_intact || self.is_gap {
            true => self.tokens,
            false => self.tokens.min(Tokens::new(bytes)),
        }
    }

    /// The gap that stands for the turn.
    fn gap(&self) -> Turn {
        let is_known = self.is_intact || self.is_gap;
        let role = self.role.filter(|_| is_known).unwrap_or(Role::Other);
        let text = if self.is_gap { LEFT } else { DAMAGED };
        Turn::gap(self.id, role, self.tokens(), text)
    }
}

/// The text of a turn that is damaged.
const DAMAGED: &str = "[Ebbtide: this turn cannot be shown, because its record in the store is damaged. \
     Stop the gateway and run `ebbtide store repair`.]";

/// The text of a turn that a repair left as a gap.
const LEFT: &str = "[Ebbtide: this turn cannot be shown. Its record was damaged, and `ebbtide store repair` \
     left this gap. The turn returns when its client sends the conversation again.]";

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
            return self.restore(parent, turn).map(|_| false);
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
        self.sum_turn(self.connection.last_insert_rowid(), turn)?;
        Ok(true)
    }

    fn node(&self, id: TurnId) -> Result<Option<(Turn, TurnId)>, HistoryError> {
        let found = with_body_or_without(|body| {
            let sql = format!(
                "{}, parent.id FROM node {SUMMED} LEFT JOIN node AS parent ON parent.n = node.parent \
                 WHERE node.tenant = ?1 AND node.id = ?2",
                select_with(body)
            );
            self.one(&sql, (self.tenant(), id.as_bytes()), |row| {
                let parent: Option<[u8; 16]> = row.get(AFTER)?;
                let parent = parent.map_or(TurnId::ROOT, TurnId::from_bytes);
                Ok((Kept::read(row)?, parent))
            })
        })?;
        let Some((kept, parent)) = found.filter(|(kept, _)| kept.id == id) else {
            return Ok(None);
        };
        if let Some(turn) = self.rebuilt(&kept, parent) {
            return Ok(Some((turn, parent)));
        }
        let mut path = self.path_of(kept.row)?;
        let turn = path.pop();
        Ok(turn.map(|turn| (turn, path.last().map_or(TurnId::ROOT, Turn::id))))
    }

    fn restore(&mut self, parent: TurnId, turn: &Turn) -> Result<bool, HistoryError> {
        if !self.access.damage.is_open((self.tenant(), turn.id())) || !turn.follows(parent) {
            return Ok(false);
        }
        let Some(row) = self.row_of(turn.id())? else {
            return Ok(false);
        };
        self.place(row, parent)?;
        let text = Stored::turn(turn).bytes;
        self.run(
            "UPDATE node SET role = ?2, provenance = ?3, at = ?4, tokens = ?5, text = ?6, body = ?7 \
             WHERE n = ?1",
            (
                row,
                turn.role().as_str(),
                provenance_name(turn.provenance()),
                turn.at().map(timestamp::to_sql),
                turn.tokens().get().cast_signed(),
                text.cast_signed(),
                encoding::write(turn.parts()),
            ),
        )?;
        self.sum_turn(row, turn)?;
        self.access.damage.close((self.tenant(), turn.id()));
        Ok(true)
    }

    fn is_damaged(&self, turns: &[TurnId]) -> bool {
        let is_open = |id: &TurnId| self.access.damage.is_open((self.tenant(), *id));
        turns.iter().any(is_open)
    }

    fn stored(&self) -> Result<Stored, HistoryError> {
        Ok(self.held)
    }

    fn path(&self, node: TurnId) -> Result<Vec<Turn>, HistoryError> {
        if node == TurnId::ROOT {
            return Ok(Vec::new());
        }
        let row = self.require_row(node)?;
        self.path_of(row)
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
    /// The turns up to a row, with gaps for what is damaged.
    fn path_of(&self, row: i64) -> Result<Vec<Turn>, HistoryError> {
        let mut turns = Vec::new();
        let mut way = self.way(row)?;
        // From the newest back: the way before a turn is right only once the turn has said where it stands.
        while let Some(kept) = way.pop() {
            let before = |way: &[Kept]| way.last().map_or(TurnId::ROOT, |it| it.id);
            let mut turn = self.rebuilt(&kept, before(&way));
            if turn.is_none() && !self.stands_on(&kept, way.last())? {
                // The number of its parent is damaged: the way may be that of another conversation.
                way = self.way_before(&kept)?;
                turn = self.rebuilt(&kept, before(&way));
            }
            turns.push(turn.unwrap_or_else(|| kept.gap()));
        }
        turns.reverse();
        Ok(turns)
    }

    /// The rows before one whose parent is damaged.
    fn way_before(&self, kept: &Kept) -> Result<Vec<Kept>, HistoryError> {
        if !matches!(kept.after(TurnId::ROOT), Content::Lost | Content::Gap) {
            return Ok(Vec::new());
        }
        let linked = self.unless_failed(|connection| link::of(connection, kept.row))?;
        let way = match linked.filter(|parent| *parent < kept.row) {
            Some(parent) => self.way(parent)?,
            None => Vec::new(),
        };
        match way.is_empty() {
            true => Err(unreadable(kept.id)),
            false => Ok(way),
        }
    }

    /// The rows up to a row, the first turn's first.
    fn way(&self, row: i64) -> Result<Vec<Kept>, HistoryError> {
        let sql = format!(
            "{UP_FROM} {} FROM up JOIN node ON node.n = up.n {SUMMED}",
            select()
        );
        let mut way = match self.all(&sql, [row], Kept::read) {
            // One at a time: a body that cannot be read must not hide the others.
            Err(HistoryError::Corrupt { .. }) if !self.access.is_writing => {
                let rows = self.all(&format!("{UP_FROM} SELECT n FROM up"), [row], |row| {
                    row.get(0)
                })?;
                let rows = rows.into_iter().map(|row| self.kept(row));
                rows.collect::<Result<Vec<_>, _>>()?
            }
            way => way?,
        };
        way.sort_unstable_by_key(|kept| kept.row);
        Ok(way)
    }

    /// One row, without its body if that cannot be read.
    fn kept(&self, row: i64) -> Result<Kept, HistoryError> {
        let found = with_body_or_without(|body| {
            let sql = format!("{} FROM node {SUMMED} WHERE node.n = ?1", select_with(body));
            self.one(&sql, [row], Kept::read)
        })?;
        found.ok_or_else(|| damaged("the way to a turn is damaged"))
    }

    /// Rebuilds a turn; `None` if its content is lost. Notes one that is damaged.
    fn rebuilt(&self, kept: &Kept, parent: TurnId) -> Option<Turn> {
        let turn = match kept.after(parent) {
            Content::Whole(turn) => return Some(turn),
            Content::Proved(turn) => Some(turn),
            Content::Lost => None,
            Content::Gap => {
                self.access.damage.gap((self.tenant(), kept.id));
                return None;
            }
        };
        let key = (self.tenant(), kept.id);
        self.access.damage.turn(kept.row, key);
        turn
    }

    /// Writes the parent of a row again, if it is another.
    fn place(&self, row: i64, parent: TurnId) -> Result<(), HistoryError> {
        let parent = match parent {
            TurnId::ROOT => None,
            parent => match self.row_of(parent)? {
                Some(parent) if parent < row => Some(parent),
                // A way to the root leads to ever smaller numbers.
                _ => return Ok(()),
            },
        };
        let sql = "SELECT 1 FROM node WHERE n = ?1 AND parent IS NOT ?2";
        if self.one(sql, (row, parent), |_| Ok(()))?.is_none() {
            return Ok(());
        }
        self.unless_failed(|connection| {
            // SQLite does not change a row that its index has with another parent, unless it is told that things
            // may be damaged.
            let tolerates = |is_so| connection.pragma_update(None, "writable_schema", is_so);
            tolerates(true)?;
            let placed =
                connection.execute("UPDATE node SET parent = ?2 WHERE n = ?1", (row, parent));
            tolerates(false)?;
            placed.map(drop)
        })
    }

    /// Writes the checksum of a turn's row, and leaves that of its message.
    fn sum_turn(&self, row: i64, turn: &Turn) -> Result<usize, HistoryError> {
        self.run(
            "INSERT INTO turn_sum (node, sum) VALUES (?1, row_sum('turn', ?2, ?3, ?4, ?5, ?6, ?7)) \
             ON CONFLICT (node) DO UPDATE SET sum = excluded.sum",
            (
                row,
                turn.id().as_bytes(),
                turn.role().as_str(),
                provenance_name(turn.provenance()),
                turn.at().map(timestamp::to_sql),
                turn.tokens().get().cast_signed(),
                Stored::turn(turn).bytes.cast_signed(),
            ),
        )
    }

    /// True if `before` is the row's parent, also in the index of parents. No id proves the parent of a lost turn.
    fn stands_on(&self, kept: &Kept, before: Option<&Kept>) -> Result<bool, HistoryError> {
        Ok(kept.parent == before.map(|it| it.row)
            && self
                .unless_failed(|connection| link::is_sound(connection, kept.row, kept.parent))?)
    }
}

/// Reads a row with its body or, where the body's pages are damaged, without. A write fails once it has read a
/// damaged page, and so does the second attempt in it.
fn with_body_or_without<T>(
    read: impl Fn(&'static str) -> Result<T, HistoryError>,
) -> Result<T, HistoryError> {
    match read("node.body") {
        Err(HistoryError::Corrupt { .. }) => read("NULL"),
        found => found,
    }
}

/// The error for a turn whose place is lost with its content.
fn unreadable(turn: TurnId) -> HistoryError {
    damaged(&format!("turn {turn} and its place cannot be read"))
}

/// The table `up` as in [`UP`], from row `?1`.
const UP_FROM: &str = "WITH RECURSIVE up (n, parent) AS (\
     SELECT n, parent FROM node WHERE n = ?1 \
     UNION ALL SELECT node.n, node.parent FROM up JOIN node ON node.n = up.parent \
     WHERE up.parent < up.n)";

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
        Provenance::Gap => "gap",
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
