//! Checks that marks are stored, found and never stored twice.

use context::TurnId;
use jiff::Timestamp;

use super::{Broken, Check, ONE, read, same, sample, write};
use crate::engine::Engine;
use crate::error::HistoryError;
use crate::mark::{Mark, Route};

pub(super) const CHECKS: &[Check] = &[
    Check(
        "marks read back equal: by id, at their node, on every path through it",
        found,
    ),
    Check(
        "the same summary at the same node is one mark, whatever its timestamp",
        once,
    ),
    Check("a mark requires its node", placed),
];

fn found(engine: &dyn Engine) -> Result<(), Broken> {
    let left = sample::line(&["a", "b", "left"]);
    let right = sample::line(&["a", "b", "right"]);
    let at = |n: usize| left.get(n).map_or(TurnId::ROOT, context::Turn::id);
    let late = sample::mark(at(2), "late");
    let second = sample::mark(at(1), "second \0 \u{1F30A}");
    let empty = Mark {
        route: Route::Extractive,
        ..sample::mark(at(0), "")
    };
    let third = Mark {
        route: Route::Readable,
        ..sample::mark(at(1), "a third")
    };
    write(engine, ONE, |store| {
        store.record(&left)?;
        store.record(&right)?;
        for mark in [&late, &second, &empty, &third] {
            store.add_mark(mark.clone())?;
        }
        Ok(())
    })?;
    let (by_id, there, nearest_root_first, other, of_root) = read(engine, ONE, |store| {
        Ok((
            store.mark(second.id())?,
            store.marks_at(at(1))?,
            store.marks_on(sample::head(&left))?,
            store.marks_on(sample::head(&right))?,
            store.marks_on(TurnId::ROOT)?,
        ))
    })?;
    same("by id", &by_id, &Some(second.clone()))?;
    let both = vec![second.clone(), third.clone()];
    same("at the node, oldest first", &there, &both)?;
    let shared = vec![empty, second, third];
    same("on the other branch", &other, &shared)?;
    let all = [shared, vec![late]].concat();
    same("on the path", &nearest_root_first, &all)?;
    same("on the way to the root", &of_root, &Vec::new())
}

fn once(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a"]);
    let mark = sample::mark(sample::head(&said), "summary");
    let again = Mark {
        at: Timestamp::UNIX_EPOCH,
        made_from: TurnId::ROOT,
        ..mark.clone()
    };
    let fresh = write(engine, ONE, |store| {
        store.record(&said)?;
        Ok((
            store.add_mark(mark.clone())?,
            store.add_mark(again.clone())?,
        ))
    })?;
    same("whether it is new", &fresh, &(true, false))?;
    let (kept, stored) = read(engine, ONE, |store| {
        Ok((store.marks_at(mark.node)?, store.stored()?))
    })?;
    same("what is kept", &kept, &vec![mark])?;
    let held = (stored.marks, stored.beside);
    same("how much is held", &held, &(1, "summary".len() as u64))
}

fn placed(engine: &dyn Engine) -> Result<(), Broken> {
    let nowhere = TurnId::from_bytes([5; 16]);
    let answers = write(engine, ONE, |store| {
        Ok([
            store.add_mark(sample::mark(nowhere, "s")),
            store.add_mark(sample::mark(TurnId::ROOT, "s")),
        ])
    })?;
    let expected = [
        Err(HistoryError::UnknownNode(nowhere)),
        Err(HistoryError::UnknownNode(TurnId::ROOT)),
    ];
    same("the answers", &answers, &expected)?;
    let (there, on) = read(engine, ONE, |store| {
        Ok((store.marks_at(nowhere)?, store.marks_on(nowhere)))
    })?;
    same("at a node that is not there", &there, &Vec::new())?;
    let expected = Err(HistoryError::UnknownNode(nowhere));
    same("on the path to it", &on, &expected)
}
