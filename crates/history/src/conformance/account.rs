//! Checks of the account.

use context::Text;
use jiff::civil::{Date, date};

use super::{Broken, Check, ONE, OTHER, read, same, sample, write};
use crate::account::{MOST_MODELS, MOST_SPENT, OTHER_MODELS, Spent};
use crate::engine::{Engine, Purge};

pub(super) const CHECKS: &[Check] = &[
    Check(
        "what was spent adds up by day and model, for each tenant by itself",
        adds_up,
    ),
    Check("an account is bounded, and the oldest day leaves", bounded),
    Check(
        "many models of one day share a row, and nothing of them is lost",
        many_models,
    ),
    Check(
        "a purge takes the days before its time off the account, or all of them",
        purged,
    ),
];

const FIRST: Date = date(2026, 1, 1);

fn spent(day: Date, model: &str, micros: u64) -> Spent {
    Spent {
        day,
        model: Text::from(model),
        requests: 1,
        micros,
        micros_without: 2 * micros,
    }
}

fn account(engine: &dyn Engine) -> Result<Vec<Spent>, Broken> {
    read(engine, ONE, |store| store.spent())
}

fn adds_up(engine: &dyn Engine) -> Result<(), Broken> {
    let later = date(2026, 1, 2);
    let rows = [
        spent(later, "b", 1),
        spent(FIRST, "b", 2),
        spent(later, "a", 4),
        spent(later, "b", 8),
    ];
    for row in &rows {
        write(engine, ONE, |store| store.spend(row))?;
    }
    let both = Spent {
        requests: 2,
        ..spent(later, "b", 9)
    };
    let expected = vec![spent(FIRST, "b", 2), spent(later, "a", 4), both];
    same("the account", &account(engine)?, &expected)?;
    let other = read(engine, OTHER, |store| store.spent())?;
    same("another tenant's", &other, &Vec::new())?;
    same("the tenants", &engine.tenants()?, &vec![ONE])
}

fn bounded(engine: &dyn Engine) -> Result<(), Broken> {
    let more = 10;
    write(engine, ONE, |store| {
        let mut day = FIRST;
        for _ in 0..MOST_SPENT + more {
            store.spend(&spent(day, "a", 1))?;
            day = day.tomorrow().unwrap_or(day);
        }
        Ok(())
    })?;
    let rows = account(engine)?;
    same("the rows", &rows.len(), &MOST_SPENT)?;
    let old = rows.iter().filter(|row| row.day == FIRST).count();
    same("the rows of the oldest day", &old, &0)
}

fn many_models(engine: &dyn Engine) -> Result<(), Broken> {
    let more = 10;
    for _ in 0..2 {
        write(engine, ONE, |store| {
            (0..MOST_MODELS + more)
                .try_for_each(|number| store.spend(&spent(FIRST, &format!("m{number:02}"), 1)))
        })?;
    }
    let rows = account(engine)?;
    same("the rows", &rows.len(), &(MOST_MODELS + 1))?;
    let others = rows.iter().find(|row| row.model.as_str() == OTHER_MODELS);
    same(
        "the others",
        &others.map(|row| row.micros),
        &Some(2 * more as u64),
    )
}

fn purged(engine: &dyn Engine) -> Result<(), Broken> {
    let later = spent(date(1970, 1, 3), "a", 2);
    write(engine, ONE, |store| {
        store.spend(&spent(date(1970, 1, 1), "a", 1))?;
        store.spend(&later)
    })?;
    let purge = |conversation, before| {
        engine.purge(Purge {
            tenant: None,
            conversation,
            before,
        })
    };
    purge(Some(sample::conversation_id(1)), None)?;
    same("after a conversation's", &account(engine)?.len(), &2)?;
    let third_day = date(1970, 1, 3).at(12, 0, 0, 0);
    let third_day = third_day.to_zoned(jiff::tz::TimeZone::UTC).ok();
    purge(None, third_day.map(|it| it.timestamp()))?;
    same("after one by age", &account(engine)?, &vec![later])?;
    purge(None, None)?;
    same("after one of all", &account(engine)?, &Vec::new())?;
    same("the tenants", &engine.tenants()?, &Vec::new())
}
