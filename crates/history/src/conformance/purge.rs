//! Checks of purges.

use context::{Heuristic, Role, Text, Turn, TurnDraft, TurnId};

use super::{Broken, Check, ONE, OTHER, read, same, sample, write};
use crate::conversation::ConversationId;
use crate::engine::{Engine, Owner, Purge, Purged};
use crate::store::Stored;
use crate::tenant::Tenant;

pub(super) const CHECKS: &[Check] = &[
    Check(
        "a purge removes a conversation with all that only it needs, and keeps a shared prefix",
        one,
    ),
    Check(
        "a purge removes the texts whose conversation or turn goes, and the cache, and keeps those of others",
        owned,
    ),
    Check(
        "a purge by age removes conversations last seen earlier, and unreachable turns",
        by_age,
    ),
    Check(
        "a purge keeps the newest answers of a conversation, which its head does not lead to yet",
        answers,
    ),
    Check(
        "a purge of one tenant keeps the others, and a purge of all leaves nothing",
        by_tenant,
    ),
    Check(
        "a preview counts what a purge would remove, and removes nothing",
        preview,
    ),
];

const ALL: Purge = Purge {
    tenant: None,
    conversation: None,
    before: None,
};

fn counts(purged: Purged) -> (u64, u64, u64) {
    (purged.conversations, purged.turns, purged.marks)
}

/// Stores a conversation with a mark, an edition and a kept message at its head, and a pin.
fn keep(engine: &dyn Engine, tenant: Tenant, n: u8, said: &[Turn]) -> Result<(), Broken> {
    let at = sample::head(said);
    write(engine, tenant, |store| {
        store.record(said)?;
        store.save(&sample::conversation(n, at, sample::moment(i64::from(n))))?;
        store.add_mark(sample::mark(at, "ten bytes."))?;
        store.add_edition(&sample::appended(at, "ten bytes."))?;
        store.keep_original(at, b"ten bytes.")?;
        store.set_pin(sample::conversation_id(n), &sample::pin("ten bytes."))?;
        store.keep_chunk([n; 16], &Text::from("ten bytes."))
    })
}

/// Reads which parts of a conversation are stored.
fn kept(engine: &dyn Engine, tenant: Tenant, n: u8, said: &[Turn]) -> Result<[bool; 6], Broken> {
    let at = sample::head(said);
    let id: ConversationId = sample::conversation_id(n);
    read(engine, tenant, |store| {
        Ok([
            store.conversation(id)?.is_some() && !store.headed(&[at])?.is_empty(),
            store.node(at)?.is_some() && store.path(at)? == said,
            !store.marks_at(at)?.is_empty(),
            !store.editions(&[at])?.is_empty(),
            store.original(at)?.is_some(),
            !store.pins(id)?.is_empty(),
        ])
    })
}

const WHOLE: [bool; 6] = [true; 6];
const GONE: [bool; 6] = [false; 6];

fn one(engine: &dyn Engine) -> Result<(), Broken> {
    let left = sample::line(&["a", "b", "left"]);
    let right = sample::line(&["a", "b", "right", "more"]);
    keep(engine, ONE, 1, &left)?;
    keep(engine, ONE, 2, &right)?;
    let purged = engine.purge(Purge {
        conversation: Some(sample::conversation_id(2)),
        ..ALL
    })?;
    same("what went", &counts(purged), &(1, 2, 1))?;
    same("the other", &kept(engine, ONE, 1, &left)?, &WHOLE)?;
    same("the purged", &kept(engine, ONE, 2, &right)?, &GONE)?;
    let (known, chunk, stored) = read(engine, ONE, |store| {
        Ok((store.known(&right)?, store.chunk([1; 16])?, store.stored()?))
    })?;
    same("the shared beginning", &known, &2)?;
    same("summaries of chunks", &chunk, &None)?;
    let held = Stored {
        turns: 3,
        bytes: 6,
        marks: 1,
        conversations: 1,
        beside: 40,
    };
    same("how much is held", &stored, &held)?;
    let nobody = engine.purge(Purge {
        conversation: Some(sample::conversation_id(2)),
        ..ALL
    })?;
    same("the second time", &counts(nobody), &(0, 0, 0))?;
    // A purged conversation can be recorded again.
    keep(engine, ONE, 2, &right)?;
    same("said again", &kept(engine, ONE, 2, &right)?, &WHOLE)
}

fn owned(engine: &dyn Engine) -> Result<(), Broken> {
    let left = sample::line(&["a", "b", "left"]);
    let right = sample::line(&["a", "b", "right"]);
    keep(engine, ONE, 1, &left)?;
    keep(engine, ONE, 2, &right)?;
    let shared = left.get(1).map_or(TurnId::ROOT, Turn::id);
    let owners = [
        Owner::Conversation(sample::conversation_id(1)),
        Owner::Conversation(sample::conversation_id(2)),
        Owner::Turn(sample::head(&left)),
        Owner::Turn(sample::head(&right)),
        Owner::Turn(shared),
        Owner::Conversation(sample::conversation_id(3)),
    ];
    let text = Text::from("ten bytes.");
    write(engine, ONE, |store| {
        for (n, of) in (11_u8..).zip(owners) {
            store.keep_owned(of, [n; 16], &text)?;
        }
        // The first one stays, with its owner.
        store.keep_owned(owners[1], [11; 16], &Text::from("another"))
    })?;
    let there = || {
        read(engine, ONE, |store| {
            let keys = [1, 2].into_iter().chain(11_u8..17);
            let texts = keys.map(|n| store.chunk([n; 16]));
            let texts: Vec<Option<Text>> = texts.collect::<Result<_, _>>()?;
            Ok(texts
                .iter()
                .map(|it| it.as_ref() == Some(&text))
                .collect::<Vec<_>>())
        })
    };
    same("all", &there()?, &vec![true; 8])?;
    let before = read(engine, ONE, |store| store.stored())?.beside;
    engine.purge(Purge {
        conversation: Some(sample::conversation_id(2)),
        ..ALL
    })?;
    let expected = [false, false, true, false, true, false, true, false];
    same("what is left", &there()?, &expected.to_vec())?;
    let after = read(engine, ONE, |store| store.stored())?.beside;
    // With four other texts of the conversation.
    same("how much is held", &(before - after), &90)?;
    engine.purge(Purge {
        conversation: Some(sample::conversation_id(1)),
        ..ALL
    })?;
    same("what is left at last", &there()?, &vec![false; 8])?;
    same("the tenants", &engine.tenants()?, &Vec::new())
}

fn by_age(engine: &dyn Engine) -> Result<(), Broken> {
    let lines = [
        sample::line(&["one"]),
        sample::line(&["two"]),
        sample::line(&["three"]),
    ];
    for (n, said) in (1_u8..).zip(&lines) {
        keep(engine, ONE, n, said)?;
    }
    let orphan = sample::line(&["nobody leads here"]);
    write(engine, ONE, |store| store.record(&orphan))?;
    let purged = engine.purge(Purge {
        before: Some(sample::moment(3)),
        ..ALL
    })?;
    same("what went", &counts(purged), &(2, 3, 2))?;
    for ((n, said), expected) in (1_u8..).zip(&lines).zip([GONE, GONE, WHOLE]) {
        same("each", &kept(engine, ONE, n, said)?, &expected)?;
    }
    let node = read(engine, ONE, |store| store.node(sample::head(&orphan)))?;
    same("the orphan", &node, &None)?;
    let both = engine.purge(Purge {
        conversation: Some(sample::conversation_id(3)),
        before: Some(sample::moment(3)),
        ..ALL
    })?;
    same("by id, but younger", &counts(both), &(0, 0, 0))
}

fn answers(engine: &dyn Engine) -> Result<(), Broken> {
    let (old, young) = (sample::line(&["old"]), sample::line(&["young"]));
    keep(engine, ONE, 1, &old)?;
    keep(engine, ONE, 2, &young)?;
    let answer = |to: &[Turn], text: &str| {
        TurnDraft::text(Role::Assistant, text).after(sample::head(to), &Heuristic)
    };
    let of_old = answer(&old, "of the old one");
    let newest = answer(&young, "the newest");
    // The same request was sent again.
    let second = answer(&young, "the newest again");
    // Another conversation went on from here, and was purged.
    let left = answer(&young, "left");
    let question = sample::turn(left.id(), "a question");
    let asked = sample::turn(sample::head(&young), "another request");
    let recorded = [&of_old, &newest, &second, &left, &question, &asked];
    let recorded = recorded.map(Turn::clone);
    for (turn, before) in recorded
        .iter()
        .zip([&old, &young, &young, &young, &young, &young])
    {
        let mut path = before.clone();
        if turn.id() == question.id() {
            path.push(left.clone());
        }
        path.push(turn.clone());
        write(engine, ONE, |store| store.record(&path))?;
    }
    let what = Purge {
        before: Some(sample::moment(2)),
        ..ALL
    };
    let expected = (1, 5, 1);
    same(
        "what it says",
        &engine.preview(what).map(counts),
        &Ok(expected),
    )?;
    same("what went", &counts(engine.purge(what)?), &expected)?;
    let there = read(engine, ONE, |store| {
        let there = recorded
            .iter()
            .map(|turn| Ok(store.node(turn.id())?.is_some()));
        there.collect::<Result<Vec<bool>, _>>()
    })?;
    let expected = [false, true, true, false, false, false];
    same("what is left", &there, &expected.to_vec())?;
    same("the young one", &kept(engine, ONE, 2, &young)?, &WHOLE)?;
    // The answers go with their conversation.
    let all = engine.purge(Purge {
        conversation: Some(sample::conversation_id(2)),
        ..ALL
    })?;
    same("what went at last", &counts(all), &(1, 3, 1))
}

fn by_tenant(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b"]);
    keep(engine, ONE, 1, &said)?;
    keep(engine, OTHER, 1, &said)?;
    let purged = engine.purge(Purge {
        tenant: Some(ONE),
        ..ALL
    })?;
    same("what went", &counts(purged), &(1, 2, 1))?;
    same("the purged", &kept(engine, ONE, 1, &said)?, &GONE)?;
    same("the other", &kept(engine, OTHER, 1, &said)?, &WHOLE)?;
    same("the tenants", &engine.tenants()?, &vec![OTHER])?;
    keep(engine, ONE, 2, &said)?;
    let secret = engine.secret()?;
    let purged = engine.purge(ALL)?;
    same("what went of all", &counts(purged), &(2, 4, 2))?;
    same("the tenants", &engine.tenants()?, &Vec::new())?;
    let (stored, chunk) = read(engine, OTHER, |store| {
        Ok((store.stored()?, store.chunk([1; 16])?))
    })?;
    same("what is held", &(stored, chunk), &(Stored::default(), None))?;
    same("the secret", &engine.secret()?, &secret)
}

fn preview(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b"]);
    keep(engine, ONE, 1, &said)?;
    keep(engine, OTHER, 2, &said)?;
    let stored = |tenant| read(engine, tenant, |store| store.stored());
    let before = (stored(ONE)?, stored(OTHER)?);
    let pages = [
        ALL,
        Purge {
            tenant: Some(OTHER),
            ..ALL
        },
        Purge {
            before: Some(sample::moment(2)),
            ..ALL
        },
    ];
    let seen = pages.map(|what| engine.preview(what).map(counts));
    let expected = [Ok((2, 4, 2)), Ok((1, 2, 1)), Ok((1, 2, 1))];
    same("what it says", &seen, &expected)?;
    same("what is held", &(stored(ONE)?, stored(OTHER)?), &before)?;
    same("the one", &kept(engine, ONE, 1, &said)?, &WHOLE)?;
    let nowhere = TurnId::from_bytes([5; 16]);
    let purged = engine.purge(ALL)?;
    same("what a purge says then", &counts(purged), &(2, 4, 2))?;
    let gone = read(engine, ONE, |store| store.headed(&[nowhere]))?;
    same("what is left", &gone, &Vec::new())
}
