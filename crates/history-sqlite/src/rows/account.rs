//! The account as rows.

use context::Text;
use history::{AccountStore, HistoryError, MOST_SPENT, Record, Spent};

use super::TenantStore;
use crate::sum::SPENT;

impl AccountStore for TenantStore<'_> {
    fn spend(&mut self, spent: &Spent) -> Result<(), HistoryError> {
        let tenant = self.tenant_to_write()?;
        let day = spent.day.to_string();
        let place = (tenant, &day, spent.model.as_str());
        let sql = format!(
            "SELECT n, sum IS {SPENT} FROM spent WHERE tenant = ?1 AND day = ?2 AND model = ?3"
        );
        let delete = "DELETE FROM spent WHERE n = ?1";
        let is_new = !self.is_kept(Record::Account, (&sql, place), delete)?;
        self.run(
            "INSERT INTO spent (tenant, day, model, requests, micros, micros_without) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (tenant, day, model) DO UPDATE SET \
               requests = requests + excluded.requests, micros = micros + excluded.micros, \
               micros_without = micros_without + excluded.micros_without",
            (
                tenant,
                &day,
                spent.model.as_str(),
                spent.requests.cast_signed(),
                spent.micros.cast_signed(),
                spent.micros_without.cast_signed(),
            ),
        )?;
        let sql =
            format!("UPDATE spent SET sum = {SPENT} WHERE tenant = ?1 AND day = ?2 AND model = ?3");
        self.run(&sql, place)?;
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
            "SELECT n, sum IS {SPENT}, day, model, requests, micros, micros_without FROM spent \
             WHERE tenant = ?1 ORDER BY day, model"
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
