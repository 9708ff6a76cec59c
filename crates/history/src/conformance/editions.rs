//! Checks of editions, kept messages and chunk summaries.

use context::{Text, Turn, TurnId};

use super::{Broken, Check, ONE, read, same, sample, write};
use crate::edition::{Change, Edition};
use crate::engine::Engine;
use crate::error::HistoryError;

pub(super) const CHECKS: &[Check] = &[
    Check(
        "editions read back in the order added, without duplicates",
        ordered,
    ),
    Check("an edition and a kept message require their turn", placed),
    Check(
        "the first kept message of a turn stays, byte for byte",
        originals,
    ),
    Check("the first summary of a chunk stays", chunks),
];

fn ordered(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b", "c"]);
    let at = |n: usize| said.get(n).map_or(TurnId::ROOT, Turn::id);
    let added = [
        sample::appended(at(1), r#"{"type":"text","text":"pins"}"#),
        sample::appended(at(0), "first turn, second edition"),
        sample::shrunk(at(1), 0, "head \0 tail"),
        sample::shrunk(at(1), 1, "head \0 tail"),
        Edition {
            change: Change::Followed(Text::from("head \0 tail")),
            ..sample::appended(at(1), "")
        },
        sample::appended(at(2), "not asked for"),
    ];
    let again = Edition {
        at: sample::moment(99),
        ..sample::shrunk(at(1), 0, "head \0 tail")
    };
    write(engine, ONE, |store| {
        store.record(&said)?;
        let all = added.iter().chain([&again]);
        all.into_iter()
            .try_for_each(|edition| store.add_edition(edition))
    })?;
    let nowhere = TurnId::from_bytes([5; 16]);
    let found = read(engine, ONE, |store| {
        store.editions(&[at(1), nowhere, at(0), at(1)])
    })?;
    let expected: Vec<Edition> = added
        .into_iter()
        .filter(|edition| edition.turn != at(2))
        .collect();
    same("the editions", &found, &expected)
}

fn placed(engine: &dyn Engine) -> Result<(), Broken> {
    let nowhere = TurnId::from_bytes([5; 16]);
    let answers = write(engine, ONE, |store| {
        Ok([
            store.add_edition(&sample::appended(nowhere, "x")),
            store.add_edition(&sample::appended(TurnId::ROOT, "x")),
            store.keep_original(nowhere, b"x"),
        ])
    })?;
    let unknown = |turn| Err(HistoryError::UnknownNode(turn));
    let expected = [unknown(nowhere), unknown(TurnId::ROOT), unknown(nowhere)];
    same("the answers", &answers, &expected)
}

fn originals(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b"]);
    let at = sample::head(&said);
    let message = b"{\"role\":\"user\"}\0\xff".to_vec();
    write(engine, ONE, |store| {
        store.record(&said)?;
        store.keep_original(at, &message)?;
        store.keep_original(at, b"another")
    })?;
    let (kept, none, stored) = read(engine, ONE, |store| {
        let first = said.first().map_or(TurnId::ROOT, Turn::id);
        Ok((store.original(at)?, store.original(first)?, store.stored()?))
    })?;
    same("the message", &kept, &Some(message.clone()))?;
    same("a turn without one", &none, &None)?;
    same("how much is held", &stored.beside, &(message.len() as u64))
}

fn chunks(engine: &dyn Engine) -> Result<(), Broken> {
    let summary = Text::from("what was said");
    write(engine, ONE, |store| {
        store.keep_chunk([1; 16], &summary)?;
        store.keep_chunk([1; 16], &Text::from("another"))
    })?;
    let found = read(engine, ONE, |store| {
        Ok((store.chunk([1; 16])?, store.chunk([2; 16])?))
    })?;
    same("the summaries", &found, &(Some(summary), None))
}
