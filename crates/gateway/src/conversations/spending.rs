//! The cost of each day and model: an account in the store.

use std::collections::BTreeMap;

use ::conversation::{Notice, micros};
use context::Text;
use history::{Spent, Store};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::queue::Work;
use crate::report::DayReport;

/// The longest name of a model that is kept, in bytes: clients may send any.
const LONGEST: usize = 200;
/// The most that is believed of one request, in millionths of a dollar: a million dollars.
const MOST: u64 = 1_000_000_000_000;

/// Returns the cost that a notice tells of, if it tells of one.
pub(super) fn spent(notice: &Notice, model: &str, now: Timestamp) -> Option<Spent> {
    let (requests, cost, cost_without) = match notice {
        Notice::Billed(bill) => (1, bill.cost, bill.cost_without),
        Notice::Spent(cost) => (0, *cost, 0.0),
        _ => return None,
    };
    let end = model.floor_char_boundary(LONGEST);
    Some(Spent {
        day: now.to_zoned(TimeZone::UTC).date(),
        model: Text::from(model.get(..end).unwrap_or_default()),
        requests,
        micros: micros(cost).min(MOST),
        micros_without: micros(cost_without).min(MOST),
    })
}

/// Adds it to the account.
pub(super) fn work(spent: Spent) -> Work {
    Box::new(move |store: &mut dyn Store| store.spend(&spent))
}

/// The accounts of some tenants together, the newest day first.
#[expect(
    clippy::cast_precision_loss,
    reason = "a cost stays far below 2^52 millionths"
)]
pub(super) fn report(rows: impl IntoIterator<Item = Spent>) -> Vec<DayReport> {
    let mut sums: BTreeMap<(std::cmp::Reverse<jiff::civil::Date>, Text), Spent> = BTreeMap::new();
    for row in rows {
        let key = (std::cmp::Reverse(row.day), row.model.clone());
        sums.entry(key)
            .and_modify(|sum| {
                sum.add(&row);
            })
            .or_insert(row);
    }
    let report = |sum: Spent| DayReport {
        day: sum.day.to_string(),
        model: sum.model.to_string(),
        requests: sum.requests,
        cost: sum.micros as f64 / 1e6,
        cost_without: sum.micros_without as f64 / 1e6,
    };
    sums.into_values().map(report).collect()
}

#[cfg(test)]
mod tests {
    use ::conversation::Notice;
    use jiff::{SignedDuration, Timestamp};

    use super::{LONGEST, report, spent};

    #[test]
    fn accounts_add_up_by_day_and_model_the_newest_day_first() {
        let of = |model: &str, hours, cost| {
            let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours);
            spent(&Notice::Spent(cost), model, now).expect("a cost")
        };
        let rows = [
            of("one", 1, 1.0),
            of("two", 2, 2.0),
            of("one", 25, 8.0),
            of("one", 23, 0.5),
        ];
        let days: Vec<(String, String, f64)> = report(rows)
            .into_iter()
            .map(|it| (it.day, it.model, it.cost))
            .collect();
        let row = |day: &str, model: &str, cost| (day.to_owned(), model.to_owned(), cost);
        assert_eq!(
            days,
            [
                row("1970-01-02", "one", 8.0),
                row("1970-01-01", "one", 1.5),
                row("1970-01-01", "two", 2.0)
            ]
        );
    }

    #[test]
    fn an_endless_name_of_a_model_is_cut() {
        let kept = spent(
            &Notice::Spent(1.0),
            &"é".repeat(LONGEST),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(kept.expect("a cost").model.len(), LONGEST);
    }
}
