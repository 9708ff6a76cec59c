//! What was spent each day with each model: a bounded account in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::conversation::Notice;
use context::Text;
use history::Tenant;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::report::{DayReport, Viewer};

/// The most rows; those of the oldest day go.
const MOST: usize = 4_096;

/// The rows by day, tenant and model.
#[derive(Debug, Default)]
pub(super) struct Spending(Mutex<BTreeMap<(Date, Tenant, Text), Row>>);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Row {
    requests: u64,
    cost: f64,
    cost_without: f64,
}

impl Spending {
    /// Adds what a notice says was spent.
    pub(super) fn add(&self, (tenant, model): (Tenant, Text), notice: &Notice, now: Timestamp) {
        let (requests, cost, cost_without) = match notice {
            Notice::Billed(bill) => (1, bill.cost, bill.cost_without),
            Notice::Spent(cost) => (0, *cost, 0.0),
            _ => return,
        };
        let day = now.to_zoned(TimeZone::UTC).date();
        let mut rows = self.rows();
        let row = rows.entry((day, tenant, model)).or_default();
        row.requests += requests;
        row.cost += cost;
        row.cost_without += cost_without;
        while rows.len() > MOST {
            rows.pop_first();
        }
    }

    /// The rows that the viewer may see, the newest day first.
    pub(super) fn report(&self, viewer: Viewer) -> Vec<DayReport> {
        let mut sums: BTreeMap<(Date, Text), Row> = BTreeMap::new();
        for ((day, tenant, model), row) in &*self.rows() {
            if viewer.may_see(*tenant) {
                let sum = sums.entry((*day, model.clone())).or_default();
                sum.requests += row.requests;
                sum.cost += row.cost;
                sum.cost_without += row.cost_without;
            }
        }
        let report = |((day, model), row): ((Date, Text), Row)| DayReport {
            day: day.to_string(),
            model: model.to_string(),
            requests: row.requests,
            cost: row.cost,
            cost_without: row.cost_without,
        };
        let mut days: Vec<DayReport> = sums.into_iter().map(report).collect();
        // Stable: the models of a day stay in order.
        days.sort_by(|one, other| other.day.cmp(&one.day));
        days
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<(Date, Tenant, Text), Row>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use ::conversation::Notice;
    use history::Tenant;
    use jiff::{SignedDuration, Timestamp};

    use super::{MOST, Spending};
    use crate::report::Viewer;

    fn tenant(key: &[u8]) -> Tenant {
        Tenant::of(&[1; 32], key)
    }

    #[test]
    fn each_sees_their_own_by_day_and_model() {
        let spending = Spending::default();
        let add = |key: &[u8], model: &str, hours, cost| {
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours);
            spending.add((tenant(key), model.into()), &Notice::Spent(cost), now);
        };
        add(b"a", "one", 1, 1.0);
        add(b"a", "one", 23, 0.5);
        add(b"a", "two", 2, 2.0);
        add(b"b", "one", 3, 4.0);
        add(b"a", "one", 25, 8.0);
        let seen = |viewer| -> Vec<(String, String, f64)> {
            let days = spending.report(viewer).into_iter();
            days.map(|it| (it.day, it.model, it.cost)).collect()
        };
        let row = |day: &str, model: &str, cost| (day.to_owned(), model.to_owned(), cost);
        assert_eq!(
            seen(Viewer::Tenant(tenant(b"a"))),
            [
                row("1970-01-02", "one", 8.0),
                row("1970-01-01", "one", 1.5),
                row("1970-01-01", "two", 2.0)
            ]
        );
        assert_eq!(
            seen(Viewer::Tenant(tenant(b"b"))),
            [row("1970-01-01", "one", 4.0)]
        );
        assert_eq!(seen(Viewer::All)[1], row("1970-01-01", "one", 5.5));
        assert!(seen(Viewer::Tenant(tenant(b"c"))).is_empty());
    }

    #[test]
    fn it_is_bounded_and_the_oldest_day_goes() {
        let spending = Spending::default();
        for n in 0..MOST + 10 {
            let day = i64::from(n >= 10) * 24;
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(day);
            let of = (tenant(b"a"), format!("model {n}").into());
            spending.add(of, &Notice::Spent(1.0), now);
        }
        let days = spending.report(Viewer::All);
        assert_eq!(days.len(), MOST);
        assert!(days.iter().all(|it| it.day == "1970-01-02"));
    }
}
