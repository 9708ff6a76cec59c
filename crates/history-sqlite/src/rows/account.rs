//! The account as rows.

use context::Text;
use history::{AccountStore, HistoryError, MOST_MODELS, MOST_SPENT, OTHER_MODELS, Record, Spent};

use super::TenantStore;
use crate::sum::SPENT;

/// Rows by the index, `found`, beside the rows themselves, `it`: a damaged one may be found under another key.
const ROWS: &str = "FROM spent AS found JOIN spent AS it ON it.n = found.n";

/// Says if a row is intact and is the one that was looked for.
fn is_intact() -> String {
    format!("it.sum IS {SPENT} AND it.day IS found.day AND it.model IS found.model")
}

impl TenantStore<'_> {
    /// Returns true if there is an intact row. A damaged one is deleted.
    fn has_spent(&self, (tenant, day, model): (i64, &str, &str)) -> Result<bool, HistoryError> {
        let sql = format!(
            "SELECT it.n, {} {ROWS} WHERE found.tenant = ?1 AND found.day = ?2 AND found.model = ?3",
            is_intact()
        );
        let delete = "DELETE FROM spent WHERE n = ?1";
        self.is_kept(Record::Account, (&sql, (tenant, day, model)), delete)
    }
}

impl AccountStore for TenantStore<'_> {
    fn spend(&mut self, spent: &Spent) -> Result<(), HistoryError> {
        let tenant = self.tenant_to_write()?;
        let day = spent.day.to_string();
        let day = day.as_str();
        let mut model = spent.model.as_str();
        let mut is_new = !self.has_spent((tenant, day, model))?;
        if is_new {
            let sql = "SELECT count(*) FROM spent WHERE tenant = ?1 AND day = ?2";
            let models = self.one(sql, (tenant, day), |row| row.get::<_, i64>(0))?;
            if models.unwrap_or(0).cast_unsigned() >= MOST_MODELS as u64 {
                model = OTHER_MODELS;
                is_new = !self.has_spent((tenant, day, model))?;
            }
        }
        self.run(
            "INSERT INTO spent (tenant, day, model, requests, micros, micros_without) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (tenant, day, model) DO UPDATE SET \
               requests = requests + excluded.requests, micros = micros + excluded.micros, \
               micros_without = micros_without + excluded.micros_without",
            (
                tenant,
                day,
                model,
                spent.requests.cast_signed(),
                spent.micros.cast_signed(),
                spent.micros_without.cast_signed(),
            ),
        )?;
        // Over the key that was asked for, so that no other row is taken for it.
        self.run(
            "UPDATE spent SET sum = row_sum('spent', ?1, ?2, ?3, requests, micros, micros_without) \
             WHERE tenant = ?1 AND day = ?2 AND model = ?3",
            (tenant, day, model),
        )?;
        if is_new {
            let sql = format!(
                "DELETE FROM spent WHERE n IN (SELECT n FROM spent WHERE tenant = ?1 \
                 ORDER BY day DESC, model DESC LIMIT -1 OFFSET {MOST_SPENT})"
            );
            self.run(&sql, [tenant])?;
        }
        Ok(())
    }

    fn spent(&self) -> Result<Vec<Spent>, HistoryError> {
        let sql = format!(
            "SELECT it.n, {}, it.day, it.model, it.requests, it.micros, it.micros_without \
             {ROWS} WHERE found.tenant = ?1 ORDER BY found.day, found.model",
            is_intact()
        );
        self.intact(Record::Account, (&sql, [self.tenant()]), |row| {
            let number = |column| row.get(column).map(i64::cast_unsigned);
            let Ok(day) = row.get_ref(2)?.as_str()?.parse() else {
                return Ok(None);
            };
            Ok(Some(Spent {
                day,
                model: Text::from(row.get_ref(3)?.as_str()?),
                requests: number(4)?,
                micros: number(5)?,
                micros_without: number(6)?,
            }))
        })
    }
}
