//! Checks of the tree.

use context::TurnId;

use super::{Broken, Check, ONE, read, same, sample, write};
use crate::engine::Engine;
use crate::error::HistoryError;
use crate::store::{Recorded, Stored};

pub(super) const CHECKS: &[Check] = &[
    Check("an appended turn reads back equal, with its parent", whole),
    Check("appending a stored turn changes nothing", once),
    Check(
        "a turn with an unknown or wrong parent is refused and not stored",
        refused,
    ),
    Check(
        "recording finds the known turns and adds the rest",
        recorded,
    ),
    Check("branches share their prefix", branches),
    Check("an unknown node is no error, but a path to it is", absent),
];

fn whole(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::everything();
    write(engine, ONE, |store| {
        let mut parent = TurnId::ROOT;
        for turn in &said {
            store.append(parent, turn)?;
            parent = turn.id();
        }
        Ok(())
    })?;
    read(engine, ONE, |store| {
        let mut nodes = Vec::new();
        for turn in &said {
            nodes.push(store.node(turn.id())?);
        }
        Ok((nodes, store.path(sample::head(&said))?))
    })
    .and_then(|(nodes, path)| {
        let mut parent = TurnId::ROOT;
        for (node, turn) in nodes.iter().zip(&said) {
            same("the node", node, &Some((turn.clone(), parent)))?;
            parent = turn.id();
        }
        same("the path", &path, &said)
    })
}

fn once(engine: &dyn Engine) -> Result<(), Broken> {
    let first = sample::turn(TurnId::ROOT, "said");
    let later = first.draft().at(sample::moment(5));
    let later = later.after(TurnId::ROOT, &context::Heuristic);
    let fresh = write(engine, ONE, |store| store.append(TurnId::ROOT, &first))?;
    same("the first time", &fresh, &true)?;
    let again = write(engine, ONE, |store| store.append(TurnId::ROOT, &later))?;
    same("the second time, at another moment", &again, &false)?;
    let path = read(engine, ONE, |store| store.path(first.id()))?;
    same("what is kept", &path, &vec![first])?;
    let stored = read(engine, ONE, |store| store.stored())?;
    let expected = Stored {
        turns: 1,
        bytes: 4,
        ..Stored::default()
    };
    same("how much is held", &stored, &expected)
}

fn refused(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b"]);
    let [first, second] = said.as_slice() else {
        return Ok(());
    };
    let answers = write(engine, ONE, |store| {
        Ok([
            store.append(first.id(), second),
            store.append(TurnId::ROOT, second),
        ])
    })?;
    let expected = [
        Err(HistoryError::UnknownNode(first.id())),
        Err(HistoryError::NotItsChild {
            turn: second.id(),
            parent: TurnId::ROOT,
        }),
    ];
    same("the answers", &answers, &expected)?;
    let stored = read(engine, ONE, |store| store.stored())?;
    same("how much is held", &stored, &Stored::default())
}

fn recorded(engine: &dyn Engine) -> Result<(), Broken> {
    let said = sample::line(&["a", "b", "c", "d", "e"]);
    for (end, known) in [(0, 0), (2, 0), (2, 2), (5, 2), (5, 5)] {
        let turns = said.get(..end).unwrap_or_default();
        let before = read(engine, ONE, |store| store.known(&said))?;
        same("known before", &before, &known)?;
        let recorded = write(engine, ONE, |store| store.record(turns))?;
        let expected = Recorded {
            known,
            added: end - known,
            head: sample::head(turns),
        };
        same("recorded", &recorded, &expected)?;
    }
    let empty = read(engine, ONE, |store| store.known(&[]))?;
    same("known of nothing", &empty, &0)
}

fn branches(engine: &dyn Engine) -> Result<(), Broken> {
    let left = sample::line(&["a", "b", "left", "more"]);
    let right = sample::line(&["a", "b", "right"]);
    let found = write(engine, ONE, |store| {
        store.record(&left)?;
        store.record(&right)
    })?;
    same("known of the other branch", &found.known, &2)?;
    let (paths, stored) = read(engine, ONE, |store| {
        let left = store.path(sample::head(&left))?;
        let right = store.path(sample::head(&right))?;
        Ok(((left, right), store.stored()?))
    })?;
    same("the paths", &paths, &(left, right))?;
    same("turns held", &stored.turns, &5)
}

fn absent(engine: &dyn Engine) -> Result<(), Broken> {
    let nowhere = TurnId::from_bytes([5; 16]);
    let look = |what: &str| {
        let (nodes, root, path) = read(engine, ONE, |store| {
            let nodes = (store.node(nowhere)?, store.node(TurnId::ROOT)?);
            Ok((nodes, store.path(TurnId::ROOT)?, store.path(nowhere)))
        })?;
        same(what, &nodes, &(None, None))?;
        same(what, &root, &Vec::new())?;
        same(what, &path, &Err(HistoryError::UnknownNode(nowhere)))
    };
    look("before anything is written")?;
    write(engine, ONE, |store| store.record(&sample::line(&["a"])))?;
    look("beside something else")
}
