//! Checks of transactions.

use std::sync::atomic::{AtomicBool, Ordering};

use context::{Text, Turn, TurnId};

use super::{Broken, Check, ONE, OTHER, read, same, sample, write};
use crate::engine::{Engine, Store};
use crate::error::HistoryError;
use crate::store::Stored;

pub(super) const CHECKS: &[Check] = &[
    Check("the secret is constant", secret),
    Check("a failed write leaves no records of any kind", nothing_half),
    Check(
        "a write that must not wait does all of its work or does not begin",
        at_once,
    ),
    Check("a write sees its own changes", own_writes),
    Check(
        "a reader neither waits for a writer nor sees its unfinished work",
        reader_inside,
    ),
    Check(
        "concurrent readers see only complete transactions",
        readers_beside,
    ),
];

fn secret(engine: &dyn Engine) -> Result<(), Broken> {
    let (first, second) = (engine.secret()?, engine.secret()?);
    same("the secret", &second, &first)?;
    same("whether it is nothing", &(first == [0; 32]), &false)
}

fn at_once(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["at once"]);
    let head = sample::head(&said);
    let is_there = || read(engine, ONE, |store| Ok(store.node(head)?.is_some()));
    let stop = HistoryError::UnknownNode(TurnId::ROOT);
    let failed = engine.write_at_once(ONE, &mut |store| {
        store.record(&said)?;
        Err(stop.clone())
    });
    same(
        "the answer",
        &failed.unwrap_or_else(|| Err(stop.clone())),
        &Err(stop),
    )?;
    same("whether it is there", &is_there()?, &false)?;
    let done = engine.write_at_once(ONE, &mut |store| store.record(&said).map(drop));
    same(
        "whether it is there",
        &is_there()?,
        &matches!(done, Some(Ok(()))),
    )?;
    let mut within = None;
    let outer = engine.write(ONE, &mut |_| {
        within = engine.write_at_once(OTHER, &mut |store| store.record(&said).map(drop));
        Ok(())
    });
    same("the write around", &outer, &Ok(()))?;
    let elsewhere = read(engine, OTHER, |store| Ok(store.node(head)?.is_some()))?;
    same(
        "whether it is there",
        &elsewhere,
        &matches!(within, Some(Ok(()))),
    )
}

/// Writes one record of each kind.
fn write_all(store: &mut dyn Store) -> Result<(), HistoryError> {
    let said = sample::line(&["half"]);
    let at = sample::head(&said);
    store.record(&said)?;
    store.add_mark(sample::mark(at, "half"))?;
    store.save(&sample::conversation(5, at, sample::moment(5)))?;
    store.set_pin(sample::conversation_id(5), &sample::pin("half"))?;
    store.remove_pin(sample::conversation_id(1), sample::pin("whole").pin.id)?;
    store.add_edition(&sample::appended(at, "half"))?;
    store.keep_original(at, b"half")?;
    store.spend(&sample::spent("half"))?;
    store.keep_chunk([5; 16], &Text::from("half"))
}

fn nothing_half(engine: &dyn Engine) -> Result<(), Broken> {
    let whole = sample::line(&["whole"]);
    let kept = sample::conversation(1, sample::head(&whole), sample::moment(1));
    write(engine, ONE, |store| {
        store.record(&whole)?;
        store.save(&kept)?;
        store.set_pin(kept.id, &sample::pin("whole"))
    })?;
    let before = read(engine, ONE, |store| store.stored())?;
    let stop = HistoryError::UnknownNode(TurnId::ROOT);
    for tenant in [ONE, OTHER] {
        let answer = engine.write(tenant, &mut |store| {
            write_all(store)?;
            Err(stop.clone())
        });
        same("the answer", &answer, &Err(stop.clone()))?;
    }
    same("the tenants", &engine.tenants()?, &vec![ONE])?;
    let half = sample::head(&sample::line(&["half"]));
    let found = read(engine, ONE, |store| {
        same_nothing(store, half)?;
        Ok((store.stored()?, store.pins(kept.id)?))
    })?;
    same(
        "what is held",
        &found,
        &(before, vec![sample::pin("whole")]),
    )?;
    // The next write succeeds.
    write(engine, ONE, write_all)?;
    let there = read(engine, ONE, |store| store.node(half))?;
    same("whether it is there now", &there.is_some(), &true)
}

/// Returns an error if anything of [`write_all`] is stored.
fn same_nothing(store: &dyn Store, half: TurnId) -> Result<(), HistoryError> {
    let id = sample::conversation_id(5);
    let there = [
        store.node(half)?.is_some(),
        !store.marks_at(half)?.is_empty(),
        store.conversation(id)?.is_some(),
        !store.headed(&[half])?.is_empty(),
        !store.pins(id)?.is_empty(),
        !store.editions(&[half])?.is_empty(),
        store.original(half)?.is_some(),
        store.chunk([5; 16])?.is_some(),
        !store.spent()?.is_empty(),
    ];
    if there.contains(&true) {
        return Err(HistoryError::Engine {
            what: format!("half a write is there: {there:?}"),
        });
    }
    Ok(())
}

fn own_writes(engine: &dyn Engine) -> Result<(), Broken> {
    let half = sample::head(&sample::line(&["half"]));
    let found = write(engine, ONE, |store| {
        write_all(store)?;
        Ok((
            store.path(half)?.len(),
            store.marks_on(half)?.len(),
            store.headed(&[half])?.len(),
            store.editions(&[half])?.len(),
            store.stored()?,
        ))
    })?;
    let held = Stored {
        turns: 1,
        bytes: 4,
        marks: 1,
        conversations: 1,
        beside: 5 * 4,
    };
    same("what it sees", &found, &(1, 1, 1, 1, held))
}

fn reader_inside(engine: &dyn Engine) -> Result<(), Broken> {
    let half = sample::head(&sample::line(&["half"]));
    let mut inside = Ok(());
    write(engine, ONE, |store| {
        write_all(store)?;
        inside = engine.read(ONE, &mut |now| same_nothing(now, half));
        Ok(())
    })?;
    same("what was seen meanwhile", &inside, &Ok(()))?;
    let there = read(engine, ONE, |store| store.node(half))?;
    same("whether it is there afterwards", &there.is_some(), &true)
}

/// Transactions written beside the readers, of two turns each.
const ROUNDS: u64 = 40;

fn readers_beside(engine: &dyn Engine) -> Result<(), Broken> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| watch(engine, &done)))
            .collect();
        let written = grow(engine);
        done.store(true, Ordering::Release);
        let seen = readers.into_iter().try_for_each(|reader| {
            reader
                .join()
                .unwrap_or_else(|_| Err(Broken("a reader panicked".to_owned())))
        });
        written.and(seen)
    })
}

/// Grows a conversation by two turns per transaction.
fn grow(engine: &dyn Engine) -> Result<(), Broken> {
    let mut head = TurnId::ROOT;
    for round in 1..=ROUNDS {
        let asked = sample::turn(head, "asked");
        let answered = sample::turn(asked.id(), "answered");
        write(engine, ONE, |store| {
            store.append(head, &asked)?;
            store.append(asked.id(), &answered)?;
            let mut grown = sample::conversation(1, answered.id(), sample::moment(1));
            grown.turns = 2 * round;
            store.save(&grown)
        })?;
        head = answered.id();
    }
    Ok(())
}

/// Checks that a reader sees complete transactions, never fewer than before.
fn watch(engine: &dyn Engine, done: &AtomicBool) -> Result<(), Broken> {
    let mut last = 0;
    loop {
        let finished = done.load(Ordering::Acquire);
        let seen = read(engine, ONE, |store| {
            let Some(grown) = store.conversation(sample::conversation_id(1))? else {
                return Ok((0, 0, 0));
            };
            let path: Vec<Turn> = store.path(grown.head)?;
            Ok((grown.turns, path.len() as u64, store.stored()?.turns))
        })?;
        let (turns, ..) = seen;
        same(
            "turns as saved, on the path, held",
            &seen,
            &(turns, turns, turns),
        )?;
        same("whether it went back", &(turns < last), &false)?;
        last = turns;
        if finished {
            return same("turns at the end", &turns, &(2 * ROUNDS));
        }
    }
}
