//! Checks of pins.

use context::pin::PinId;

use super::{Broken, Check, ONE, read, same, sample, write};
use crate::engine::{Engine, Pinned};

pub(super) const CHECKS: &[Check] = &[
    Check(
        "pins read back equal, oldest first, separately for each conversation",
        ordered,
    ),
    Check("a text is pinned once, and a removed pin is gone", removed),
];

fn ordered(engine: &dyn Engine) -> Result<(), Broken> {
    let (of, other) = (sample::conversation_id(1), sample::conversation_id(2));
    let plain = sample::pin("zebra");
    let plain = Pinned {
        pin: context::pin::Pin {
            origin: context::pin::Origin::Api,
            at: None,
            ..plain.pin
        },
        said_in: None,
    };
    let pins = vec![plain, sample::pin("apple \0 \u{1F30A}"), sample::pin("m")];
    write(engine, ONE, |store| {
        pins.iter()
            .try_for_each(|pin| store.set_pin(of, pin).map(|_| ()))
    })?;
    let kept = read(engine, ONE, |store| store.pins(of))?;
    same("the pins", &kept, &pins)?;
    let others = read(engine, ONE, |store| store.pins(other))?;
    same("another conversation's", &others, &Vec::new())
}

fn removed(engine: &dyn Engine) -> Result<(), Broken> {
    let (of, other) = (sample::conversation_id(1), sample::conversation_id(2));
    let pin = sample::pin("never delete");
    let again = Pinned {
        said_in: None,
        ..pin.clone()
    };
    let id = pin.pin.id;
    let set = write(engine, ONE, |store| {
        Ok([
            store.set_pin(of, &pin)?,
            store.set_pin(of, &again)?,
            store.set_pin(other, &again)?,
        ])
    })?;
    same("whether it is new", &set, &[true, false, true])?;
    let kept = read(engine, ONE, |store| store.pins(of))?;
    same("the first stays", &kept, &vec![pin])?;
    let gone = write(engine, ONE, |store| {
        Ok([
            store.remove_pin(of, PinId::of("another"))?,
            store.remove_pin(of, id)?,
            store.remove_pin(of, id)?,
        ])
    })?;
    same("whether it was there", &gone, &[false, true, false])?;
    let (left, others, stored) = read(engine, ONE, |store| {
        Ok((store.pins(of)?, store.pins(other)?, store.stored()?))
    })?;
    same("what is left", &left, &Vec::new())?;
    same("the other conversation's", &others, &vec![again])?;
    let one = "never delete".len() as u64;
    same("how much is held", &stored.beside, &one)
}
