//! Checks of tenant isolation.

use context::{Text, TurnId};
use jiff::Timestamp;

use super::{Broken, Check, ONE, OTHER, read, same, sample, write};
use crate::engine::Engine;
use crate::error::HistoryError;
use crate::store::Stored;
use crate::tenant::Tenant;

pub(super) const CHECKS: &[Check] = &[
    Check(
        "one tenant sees nothing of another, even with every id",
        apart,
    ),
    Check("tenants with the same conversation do not share it", twins),
    Check("a tenant is listed while anything is stored for it", named),
];

fn apart(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b"]);
    let at = sample::head(&said);
    let mark = sample::mark(at, "summary");
    let saved = sample::conversation(1, at, sample::moment(1));
    write(engine, ONE, |store| {
        store.record(&said)?;
        store.add_mark(mark.clone())?;
        store.save(&saved)?;
        store.set_pin(saved.id, &sample::pin("pin"))?;
        store.add_edition(&sample::appended(at, "edition"))?;
        store.keep_original(at, b"original")?;
        store.spend(&sample::spent("model"))?;
        store.keep_chunk([1; 16], &Text::from("chunk"))
    })?;
    let others = sample::line(&["another conversation"]);
    let strangers = [OTHER, Tenant::ANONYMOUS];
    write(engine, OTHER, |store| store.record(&others))?;
    for tenant in strangers {
        read(engine, tenant, |store| {
            Ok([
                store.node(at)?.is_some(),
                store.path(at) != Err(HistoryError::UnknownNode(at)),
                store.known(&said)? > 0,
                store.mark(mark.id())?.is_some(),
                !store.marks_at(at)?.is_empty(),
                store.conversation(saved.id)?.is_some(),
                !store.headed(&[at])?.is_empty(),
                !store.conversations(Timestamp::MAX, 9)?.is_empty(),
                !store.pins(saved.id)?.is_empty(),
                !store.editions(&[at])?.is_empty(),
                store.original(at)?.is_some(),
                store.chunk([1; 16])?.is_some(),
                !store.spent()?.is_empty(),
            ])
        })
        .and_then(|seen| same("what a stranger sees", &seen, &[false; 13]))?;
        let answers = write(engine, tenant, |store| {
            let child = sample::turn(at, "c");
            Ok([
                store.append(at, &child).map(|_| ()),
                store.add_mark(mark.clone()).map(|_| ()),
                store.add_edition(&sample::appended(at, "x")),
                store.keep_original(at, b"x"),
            ])
        })?;
        let unknown = Err(HistoryError::UnknownNode(at));
        same(
            "what a stranger may do",
            &answers,
            &[(); 4].map(|()| unknown.clone()),
        )?;
        let gone = write(engine, tenant, |store| {
            store.remove_pin(saved.id, sample::pin("pin").pin.id)
        })?;
        same("whether a stranger unpins", &gone, &false)?;
    }
    let pins = read(engine, ONE, |store| store.pins(saved.id))?;
    same("the pins of its owner", &pins, &vec![sample::pin("pin")])
}

fn twins(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b"]);
    let at = sample::head(&said);
    let mine = |n: u8| sample::conversation(1, at, sample::moment(i64::from(n)));
    for (n, tenant) in [(1, ONE), (2, OTHER)] {
        let text = format!("of {n}");
        let added = write(engine, tenant, |store| {
            let added = store.record(&said)?.added;
            store.add_mark(sample::mark(at, &text))?;
            store.save(&mine(n))?;
            store.set_pin(mine(n).id, &sample::pin(&text))?;
            store.add_edition(&sample::appended(at, &text))?;
            store.keep_original(at, text.as_bytes())?;
            store.keep_chunk([1; 16], &Text::from(&*text))?;
            Ok(added)
        })?;
        same("turns added", &added, &2)?;
    }
    for (n, tenant) in [(1, ONE), (2, OTHER)] {
        let text = format!("of {n}");
        let found = read(engine, tenant, |store| {
            Ok((
                store.marks_on(at)?,
                store.headed(&[at])?,
                store.pins(mine(n).id)?,
                store.editions(&[at])?,
                (store.original(at)?, store.chunk([1; 16])?),
                store.stored()?,
            ))
        })?;
        let expected = (
            vec![sample::mark(at, &text)],
            vec![mine(n)],
            vec![sample::pin(&text)],
            vec![sample::appended(at, &text)],
            (Some(text.clone().into_bytes()), Some(Text::from(&*text))),
            Stored {
                turns: 2,
                bytes: 2,
                marks: 1,
                conversations: 1,
                beside: 5 * text.len() as u64,
            },
        );
        same("what a twin sees", &found, &expected)?;
    }
    Ok(())
}

fn named(engine: &dyn Engine) -> Result<(), Broken> {
    same("at first", &engine.tenants()?, &Vec::new())?;
    read(engine, ONE, |store| store.node(TurnId::ROOT))?;
    write(engine, ONE, |store| store.stored())?;
    same("after nothing was written", &engine.tenants()?, &Vec::new())?;
    write(engine, OTHER, |store| store.record(&sample::line(&["a"])))?;
    write(engine, ONE, |store| {
        store.set_pin(sample::conversation_id(1), &sample::pin("p"))
    })?;
    same("with two", &engine.tenants()?, &vec![ONE, OTHER])?;
    write(engine, ONE, |store| {
        let pin = sample::pin("p").pin.id;
        store.remove_pin(sample::conversation_id(1), pin)
    })?;
    same(
        "after the last pin is gone",
        &engine.tenants()?,
        &vec![OTHER],
    )
}
