//! Random operations against a reference map, and the rules of the tree one by one.

use std::collections::HashMap;

use context::{Heuristic, Role, Text, Tokens, Turn, TurnDraft, TurnId};
use jiff::Timestamp;
use proptest::prelude::*;

use super::Memory;
use crate::error::HistoryError;
use crate::limits::Limits;
use crate::mark::{Mark, Route};
use crate::store::{MarkStore, NodeStore};

fn turn(parent: TurnId, word: u8) -> Turn {
    let role = if word.is_multiple_of(2) {
        Role::User
    } else {
        Role::Assistant
    };
    TurnDraft::text(role, format!("word {word}")).after(parent, &Heuristic)
}

fn line(words: &[u8]) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    words
        .iter()
        .map(|&word| {
            let turn = turn(parent, word);
            parent = turn.id();
            turn
        })
        .collect()
}

fn mark(node: TurnId, summary: &str) -> Mark {
    Mark {
        node,
        made_from: node,
        summary: Text::from(summary),
        tokens: Tokens::new(1),
        route: Route::Readable,
        at: Timestamp::UNIX_EPOCH,
    }
}

/// The reference: each node with its whole path.
#[derive(Default)]
struct Reference {
    paths: HashMap<TurnId, Vec<Turn>>,
    marks: HashMap<TurnId, Vec<Mark>>,
}

#[derive(Clone, Debug)]
enum Operation {
    /// Appends a word to the n-th known node (or to the root).
    Append(usize, u8),
    /// Records a whole conversation.
    Record(Vec<u8>),
    /// Marks the n-th known node.
    Mark(usize, u8),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (any::<usize>(), 0..6_u8).prop_map(|(node, word)| Operation::Append(node, word)),
        prop::collection::vec(0..3_u8, 0..8).prop_map(Operation::Record),
        (any::<usize>(), 0..4_u8).prop_map(|(node, word)| Operation::Mark(node, word)),
    ]
}

fn apply(tree: &mut Memory, reference: &mut Reference, known: &mut Vec<TurnId>, op: &Operation) {
    let pick = |n: usize, known: &[TurnId]| {
        let slot = n % (known.len() + 1);
        known.get(slot).copied().unwrap_or(TurnId::ROOT)
    };
    let mut learn = |path: Vec<Turn>, known: &mut Vec<TurnId>| {
        let id = path.last().unwrap().id();
        if reference.paths.insert(id, path).is_none() {
            known.push(id);
        }
    };
    match op {
        Operation::Append(n, word) => {
            let parent = pick(*n, known);
            let new = turn(parent, *word);
            let fresh = !known.contains(&new.id());
            assert_eq!(tree.append(parent, &new), Ok(fresh));
            let mut path = tree.path(parent).unwrap();
            path.push(new);
            learn(path, known);
        }
        Operation::Record(words) => {
            let said = line(words);
            let there = said
                .iter()
                .take_while(|turn| known.contains(&turn.id()))
                .count();
            let recorded = tree.record(&said).unwrap();
            assert_eq!(recorded.known, there);
            assert_eq!(recorded.added, said.len() - there);
            for end in 1..=said.len() {
                learn(said[..end].to_vec(), known);
            }
        }
        Operation::Mark(n, word) => {
            let node = pick(*n, known);
            if node == TurnId::ROOT {
                return;
            }
            let mark = mark(node, &format!("summary {word}"));
            let marks = reference.marks.entry(node).or_default();
            let fresh = !marks.contains(&mark);
            assert_eq!(tree.add_mark(mark.clone()), Ok(fresh));
            if fresh {
                marks.push(mark);
            }
        }
    }
}

proptest! {
    #[test]
    fn it_answers_as_the_reference(operations in prop::collection::vec(operation(), 0..60)) {
        let mut tree = Memory::default();
        let mut reference = Reference::default();
        let mut known = Vec::new();
        for operation in &operations {
            apply(&mut tree, &mut reference, &mut known, operation);
        }
        for (id, path) in &reference.paths {
            prop_assert_eq!(&tree.path(*id).unwrap(), path);
            prop_assert_eq!(tree.known(path).unwrap(), path.len());
            let marks: Vec<Mark> = path
                .iter()
                .flat_map(|turn| reference.marks.get(&turn.id()).cloned().unwrap_or_default())
                .collect();
            prop_assert_eq!(tree.marks_on(*id).unwrap(), marks);
        }
        prop_assert_eq!(tree.stored().unwrap().turns, reference.paths.len() as u64);
    }
}

#[test]
fn storage_is_linear_in_what_was_said() {
    let said = line(&[1; 300]);
    let mut tree = Memory::default();
    for end in 1..=said.len() {
        tree.record(&said[..end]).unwrap();
    }
    let stored = tree.stored().unwrap();
    assert_eq!(stored.turns, 300, "each turn once, though sent 300 times");
    assert_eq!(stored.bytes, 300 * "word 1".len() as u64);
}

#[test]
fn branches_share_their_beginning_and_its_marks() {
    let mut tree = Memory::default();
    let left = line(&[0, 1, 2]);
    let right = line(&[0, 1, 4]);
    tree.record(&left).unwrap();
    assert_eq!(tree.record(&right).unwrap().known, 2);
    assert_eq!(tree.stored().unwrap().turns, 4);
    let shared = mark(left[1].id(), "agreed");
    tree.add_mark(shared.clone()).unwrap();
    assert_eq!(tree.marks_on(right[2].id()), Ok(vec![shared.clone()]));
    assert_eq!(tree.mark(shared.id()), Ok(Some(shared)));
}

#[test]
fn what_does_not_belong_is_refused_and_not_stored() {
    let mut tree = Memory::default();
    let said = line(&[0, 1]);
    assert_eq!(
        tree.append(said[0].id(), &said[1]),
        Err(HistoryError::UnknownNode(said[0].id()))
    );
    assert_eq!(
        tree.append(TurnId::ROOT, &said[1]),
        Err(HistoryError::NotItsChild {
            turn: said[1].id(),
            parent: TurnId::ROOT
        })
    );
    assert_eq!(
        tree.add_mark(mark(said[0].id(), "s")),
        Err(HistoryError::UnknownNode(said[0].id()))
    );
    assert_eq!(tree.stored().unwrap(), crate::Stored::default());
}

#[test]
fn limits_hold() {
    let limits = Limits {
        turns: 2,
        bytes: 100,
        marks: 1,
        conversations: 1,
    };
    let mut tree = Memory::new(limits);
    let said = line(&[0, 1, 2]);
    assert_eq!(
        tree.record(&said),
        Err(HistoryError::Full {
            limit: 2,
            what: "turns"
        })
    );
    tree.add_mark(mark(said[0].id(), "a")).unwrap();
    assert_eq!(
        tree.add_mark(mark(said[0].id(), "b")),
        Err(HistoryError::Full {
            limit: 1,
            what: "marks"
        })
    );
    let long = TurnDraft::text(Role::User, "x".repeat(101)).after(TurnId::ROOT, &Heuristic);
    let mut roomy = Memory::new(Limits { turns: 9, ..limits });
    assert_eq!(
        roomy.append(TurnId::ROOT, &long),
        Err(HistoryError::Full {
            limit: 100,
            what: "bytes"
        })
    );
}
