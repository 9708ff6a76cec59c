//! Checks of limits.

use context::{Text, TurnId};

use super::{Broken, Check, ONE, OTHER, read, same, sample, write};
use crate::engine::Engine;
use crate::error::HistoryError;
use crate::limits::Limits;

pub(super) const CHECKS: &[Check] = &[
    Check(
        "each limit holds, and storing an existing record again succeeds",
        each,
    ),
    Check("everything stored counts as bytes", bytes),
    Check("limits apply to each tenant separately", own),
];

pub(super) const SMALL: Limits = Limits {
    turns: 2,
    bytes: 100,
    marks: 1,
    conversations: 1,
};

const fn full(limit: u64, what: &'static str) -> HistoryError {
    HistoryError::Full { limit, what }
}

fn each(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b", "c"]);
    let first = said.first().map_or(TurnId::ROOT, context::Turn::id);
    let saved = |n| sample::conversation(n, first, sample::moment(1));
    let answers = write(engine, ONE, |store| {
        Ok([
            store.record(&said).map(|_| ()),
            store.record(&said).map(|_| ()),
            store.add_mark(sample::mark(first, "a")).map(|_| ()),
            store.add_mark(sample::mark(first, "b")).map(|_| ()),
            store.add_mark(sample::mark(first, "a")).map(|_| ()),
            store.save(&saved(1)),
            store.save(&saved(2)),
            store.save(&saved(1)),
        ])
    })?;
    let expected = [
        Err(full(2, "turns")),
        Err(full(2, "turns")),
        Ok(()),
        Err(full(1, "marks")),
        Ok(()),
        Ok(()),
        Err(full(1, "conversations")),
        Ok(()),
    ];
    same("the answers", &answers, &expected)?;
    let known = read(engine, ONE, |store| store.known(&said))?;
    same("turns before the one that was too many", &known, &2)
}

fn bytes(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["0123456789"]);
    let at = sample::head(&said);
    let (of, other) = (sample::conversation_id(1), sample::conversation_id(2));
    let long = "0123456789012345678901234567890";
    write(engine, ONE, |store| {
        store.record(&said)?;
        store.add_mark(sample::mark(at, "0123456789"))?;
        store.add_edition(&sample::appended(at, "0123456789"))?;
        store.keep_original(at, b"0123456789")?;
        store.set_pin(of, &sample::pin("0123456789"))?;
        store.keep_chunk([1; 16], &Text::from("0123456789"))?;
        store.keep_chunk([2; 16], &Text::from("0123456789"))
    })?;
    let answers = write(engine, ONE, |store| {
        Ok([
            store.append(at, &sample::turn(at, long)).map(|_| ()),
            store.add_edition(&sample::appended(at, long)),
            store.set_pin(other, &sample::pin(long)).map(|_| ()),
            store.keep_chunk([3; 16], &Text::from(long)),
            store.keep_chunk([3; 16], &Text::from(&*long.replacen('0', "", 1))),
        ])
    })?;
    let too_much = || Err(full(100, "bytes"));
    let expected = [too_much(), too_much(), too_much(), too_much(), Ok(())];
    same("the answers", &answers, &expected)?;
    let stored = read(engine, ONE, |store| store.stored())?;
    same(
        "how much is held",
        &(stored.bytes, stored.beside),
        &(10, 90),
    )
}

fn own(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b"]);
    for tenant in [ONE, OTHER] {
        let recorded = write(engine, tenant, |store| store.record(&said))?;
        same("turns added", &recorded.added, &2)?;
    }
    Ok(())
}
