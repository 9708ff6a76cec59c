//! Conversations as rows.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use context::{Text, Tokens, TurnId};
use history::{
    Conversation, ConversationId, ConversationStore, HistoryError, Labels, MarkId, Record,
    Standing, Stored, Totals,
};
use jiff::Timestamp;
use rusqlite::{Params, Row, named_params};

use super::{NO_ROW, TenantStore};
use crate::sum::{CONVERSATION, JOURNAL, PLACE};
use crate::timestamp;

/// The columns that [`read`] expects and [`SAVE`] writes.
const COLUMNS: &str = "id, parent, head, turns, session, agent, parent_agent, user, model, \
     shown_from, cleared, stripped, mark, compactions, strategy, requests, fresh, cache_read, \
     cache_write, output, micros, micros_without, stalls_avoided, began, seen, title, noted, inherited";

/// The beginning of a query of conversations.
fn select() -> String {
    // The second column is that of an intact row: what is left of a damaged one is told by `salvage`.
    format!(
        "SELECT n, TRUE, place IS {PLACE} AS is_placed, sum IS {CONVERSATION} AS is_intact, {COLUMNS}"
    )
}

/// Reads a conversation. Where its place is intact and something else is damaged, it has only its place and
/// shows everything; `false` then.
fn salvage(row: &Row<'_>) -> rusqlite::Result<Option<(Conversation, bool)>> {
    let holds = |column| {
        row.get::<_, Option<bool>>(column)
            .map(|holds| holds == Some(true))
    };
    if holds("is_intact")? {
        return Ok(Some((read(row)?, true)));
    }
    if !holds("is_placed")? {
        return Ok(None);
    }
    let time = |column| {
        row.get(column)
            .map_or(Timestamp::UNIX_EPOCH, timestamp::from_sql)
    };
    let placed = Conversation {
        id: ConversationId::from_bytes(row.get("id")?),
        parent: None,
        head: TurnId::from_bytes(row.get("head")?),
        turns: row.get("turns").map_or(0, i64::cast_unsigned),
        labels: Labels::default(),
        title: None,
        model: Text::default(),
        standing: Standing::WHOLE,
        strategy: None,
        totals: Totals::default(),
        began: time("began"),
        seen: time("seen"),
    };
    Ok(Some((placed, false)))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    let text = |column: &str| {
        let text: rusqlite::Result<Option<String>> = row.get(column);
        text.map(|text| text.map(Text::from))
    };
    let turn = |column: &str| row.get(column).map(TurnId::from_bytes);
    let number = |column: &str| row.get(column).map(i64::cast_unsigned);
    let time = |column: &str| row.get(column).map(timestamp::from_sql);
    let parent: Option<[u8; 16]> = row.get("parent")?;
    let mark: Option<[u8; 16]> = row.get("mark")?;
    Ok(Conversation {
        id: ConversationId::from_bytes(row.get("id")?),
        parent: parent.map(ConversationId::from_bytes),
        head: turn("head")?,
        turns: number("turns")?,
        labels: Labels {
            session: text("session")?,
            agent: text("agent")?,
            parent_agent: text("parent_agent")?,
            user: text("user")?,
        },
        title: text("title")?,
        model: text("model")?.unwrap_or_default(),
        standing: Standing {
            from: turn("shown_from")?,
            cleared: turn("cleared")?,
            stripped: turn("stripped")?,
            mark: mark.map(MarkId::from_bytes),
            compactions: row.get("compactions")?,
            noted: row.get("noted")?,
            inherited: row.get("inherited")?,
        },
        strategy: text("strategy")?,
        totals: Totals {
            requests: number("requests")?,
            fresh: Tokens::new(number("fresh")?),
            cache_read: Tokens::new(number("cache_read")?),
            cache_write: Tokens::new(number("cache_write")?),
            output: Tokens::new(number("output")?),
            micros: number("micros")?,
            micros_without: number("micros_without")?,
            stalls_avoided: row.get("stalls_avoided")?,
        },
        began: time("began")?,
        seen: time("seen")?,
    })
}

/// Writes [`COLUMNS`], each from the parameter of its name.
static SAVE: LazyLock<String> = LazyLock::new(|| {
    let values = COLUMNS.replace(", ", ", :");
    let sums = [PLACE, CONVERSATION].map(|sum| sum.replace(", ", ", :"));
    let [place, sum] = sums;
    format!(
        "INSERT OR REPLACE INTO conversation (n, tenant, {COLUMNS}, place, sum) \
         VALUES (:n, :tenant, :{values}, {place}, {sum})"
    )
});

impl TenantStore<'_> {
    fn write_conversation(
        &self,
        tenant: i64,
        known: Option<i64>,
        conversation: &Conversation,
    ) -> Result<usize, HistoryError> {
        let Conversation {
            labels,
            standing,
            totals,
            ..
        } = conversation;
        let tokens = |tokens: Tokens| tokens.get().cast_signed();
        self.run(
            &SAVE,
            named_params! {
                ":n": known,
                ":tenant": tenant,
                ":id": conversation.id.as_bytes(),
                ":parent": conversation.parent.as_ref().map(ConversationId::as_bytes),
                ":head": conversation.head.as_bytes(),
                ":turns": conversation.turns.cast_signed(),
                ":session": labels.session.as_deref(),
                ":agent": labels.agent.as_deref(),
                ":parent_agent": labels.parent_agent.as_deref(),
                ":user": labels.user.as_deref(),
                ":title": conversation.title.as_deref(),
                ":model": conversation.model.as_str(),
                ":shown_from": standing.from.as_bytes(),
                ":cleared": standing.cleared.as_bytes(),
                ":stripped": standing.stripped.as_bytes(),
                ":mark": standing.mark.as_ref().map(MarkId::as_bytes),
                ":compactions": standing.compactions,
                ":noted": standing.noted,
                ":inherited": standing.inherited,
                ":strategy": conversation.strategy.as_deref(),
                ":requests": totals.requests.cast_signed(),
                ":fresh": tokens(totals.fresh),
                ":cache_read": tokens(totals.cache_read),
                ":cache_write": tokens(totals.cache_write),
                ":output": tokens(totals.output),
                ":micros": totals.micros.cast_signed(),
                ":micros_without": totals.micros_without.cast_signed(),
                ":stalls_avoided": totals.stalls_avoided,
                ":began": timestamp::to_sql(conversation.began),
                ":seen": timestamp::to_sql(conversation.seen),
            },
        )
    }
}

impl TenantStore<'_> {
    /// The conversations of a query, as far as their rows are intact.
    fn salvaged(&self, sql: &str, params: impl Params) -> Result<Vec<Conversation>, HistoryError> {
        self.intact(Record::Conversation, (sql, params), |row| {
            Ok(salvage(row)?.map(|(conversation, is_intact)| {
                if !is_intact {
                    let row = row.get(0).unwrap_or(NO_ROW);
                    self.access.damage.note(Record::Conversation, row);
                }
                conversation
            }))
        })
    }
}

impl ConversationStore for TenantStore<'_> {
    fn save(&mut self, conversation: &Conversation) -> Result<(), HistoryError> {
        let known = self.one(
            "SELECT n FROM conversation WHERE tenant = ?1 AND id = ?2",
            (self.tenant(), conversation.id.as_bytes()),
            |row| row.get(0),
        )?;
        let tenant = match known {
            Some(_) => self.tenant(),
            None => self.hold(Stored::conversation())?,
        };
        self.write_conversation(tenant, known, conversation)
            .map(drop)
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<Conversation>, HistoryError> {
        let sql = format!(
            "{} FROM conversation WHERE tenant = ?1 AND id = ?2",
            select()
        );
        let found = self.salvaged(&sql, (self.tenant(), id.as_bytes()))?;
        Ok(found.into_iter().find(|found| found.id == id))
    }

    fn headed(&self, heads: &[TurnId]) -> Result<Vec<Conversation>, HistoryError> {
        let sql = format!(
            "{} FROM conversation WHERE tenant = ?1 AND head = ?2",
            select()
        );
        let heads: BTreeSet<&TurnId> = heads.iter().collect();
        let mut found = Vec::new();
        for head in heads {
            let headed = self.salvaged(&sql, (self.tenant(), head.as_bytes()))?;
            found.extend(headed.into_iter().filter(|found| found.head == *head));
        }
        found.sort_unstable_by_key(|conversation| (Reverse(conversation.seen), conversation.id));
        Ok(found)
    }

    fn conversations(
        &self,
        before: Timestamp,
        most: usize,
    ) -> Result<Vec<Conversation>, HistoryError> {
        let sql = format!(
            "{} FROM conversation WHERE tenant = ?1 AND seen < ?2 \
             ORDER BY seen DESC, id LIMIT ?3",
            select()
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.salvaged(&sql, (self.tenant(), timestamp::to_sql(before), most))
    }

    fn keep_journal(&mut self, of: ConversationId, text: &str) -> Result<(), HistoryError> {
        self.run(
            "INSERT OR REPLACE INTO journal (tenant, conversation, text, sum) \
             SELECT ?1, ?2, ?3, row_sum('journal', ?1, ?2, ?3) \
             FROM conversation WHERE tenant = ?1 AND id = ?2",
            (self.tenant(), of.as_bytes(), text),
        )
        .map(drop)
    }

    fn journal(&self, of: ConversationId) -> Result<Option<Text>, HistoryError> {
        let sql = format!(
            "SELECT n, sum IS {JOURNAL}, text FROM journal WHERE tenant = ?1 AND conversation = ?2"
        );
        let params = (self.tenant(), of.as_bytes());
        let found = self.intact(Record::Conversation, (&sql, params), |row| {
            Ok(Some(Text::from(row.get_ref(2)?.as_str()?)))
        })?;
        Ok(found.into_iter().next())
    }
}
