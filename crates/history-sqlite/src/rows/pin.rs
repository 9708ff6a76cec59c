//! Pins as rows.

use context::pin::{Origin, Pin, PinId};
use context::{Text, Tokens, TurnId};
use history::{ConversationId, HistoryError, PinStore, Pinned, Record, Stored};
use rusqlite::Row;

use super::TenantStore;
use crate::sum::PIN;
use crate::timestamp;

fn read(row: &Row<'_>) -> rusqlite::Result<Option<Pinned>> {
    let id = PinId::parse(row.get_ref(2)?.as_str()?);
    let origin = origin(row.get_ref(3)?.as_str()?);
    let (Some(id), Some(origin)) = (id, origin) else {
        return Ok(None);
    };
    let at: Option<i64> = row.get(4)?;
    let said_in: Option<[u8; 16]> = row.get(6)?;
    Ok(Some(Pinned {
        pin: Pin {
            id,
            text: Text::from(row.get_ref(7)?.as_str()?),
            origin,
            at: at.map(timestamp::from_sql),
            tokens: Tokens::new(row.get::<_, i64>(5)?.cast_unsigned()),
        },
        said_in: said_in.map(TurnId::from_bytes),
    }))
}

impl PinStore for TenantStore<'_> {
    fn set_pin(&mut self, of: ConversationId, pin: &Pinned) -> Result<bool, HistoryError> {
        let Pinned { pin, said_in } = pin;
        let id = pin.id.to_string();
        let sql = format!(
            "SELECT n, sum IS {PIN} FROM pin \
             WHERE tenant = ?1 AND conversation = ?2 AND id = ?3"
        );
        let params = (self.tenant(), of.as_bytes(), &id);
        if self.is_kept(Record::Pin, (&sql, params), "DELETE FROM pin WHERE n = ?1")? {
            return Ok(false);
        }
        let tenant = self.hold(Stored::text_beside(pin.text.len()))?;
        self.run(
            "INSERT INTO pin (tenant, conversation, id, origin, at, tokens, said_in, text, sum) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, \
                 row_sum('pin', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8))",
            (
                tenant,
                of.as_bytes(),
                id,
                pin.origin.as_str(),
                pin.at.map(timestamp::to_sql),
                pin.tokens.get().cast_signed(),
                said_in.as_ref().map(TurnId::as_bytes),
                pin.text.as_str(),
            ),
        )?;
        Ok(true)
    }

    fn remove_pin(&mut self, of: ConversationId, pin: PinId) -> Result<bool, HistoryError> {
        let removed = self.all(
            "DELETE FROM pin WHERE tenant = ?1 AND conversation = ?2 AND id = ?3 \
             RETURNING octet_length(text)",
            (self.tenant(), of.as_bytes(), pin.to_string()),
            |row| row.get(0).map(i64::cast_unsigned),
        )?;
        let bytes: u64 = removed.iter().sum();
        self.held.beside = self.held.beside.saturating_sub(bytes);
        Ok(!removed.is_empty())
    }

    fn pins(&self, of: ConversationId) -> Result<Vec<Pinned>, HistoryError> {
        let sql = format!(
            "SELECT n, sum IS {PIN}, id, origin, at, tokens, said_in, text FROM pin \
             WHERE tenant = ?1 AND conversation = ?2 ORDER BY n"
        );
        self.intact(Record::Pin, (&sql, (self.tenant(), of.as_bytes())), read)
    }
}

fn origin(name: &str) -> Option<Origin> {
    Origin::ALL
        .into_iter()
        .find(|origin| origin.as_str() == name)
}
