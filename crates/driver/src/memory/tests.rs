//! What commands do to a memory.

use std::collections::BTreeSet;

use context::{Part, Role, Tokens, TurnDraft};
use plumb::value::Value;
use proptest::prelude::*;

use super::{Memory, Replaced, Stays};

const WINDOW: Tokens = Tokens::new(200_000);

fn said(texts: &[&str]) -> Memory {
    let mut memory = Memory::new(WINDOW);
    memory.remember(texts.iter().enumerate().map(|(at, text)| {
        let role = [Role::User, Role::Assistant][at % 2];
        TurnDraft::text(role, *text)
    }));
    memory
}

fn texts(memory: &Memory) -> Vec<String> {
    let view = memory.view();
    let text = |draft: &TurnDraft| match draft.parts.as_slice() {
        [Part::Text(text)] => text.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    view.iter().map(text).collect()
}

fn parse(text: &str) -> Value {
    Value::parse(text).unwrap()
}

#[test]
fn what_was_said_after_the_mark_stays() {
    let mut memory = said(&["a", "b"]);
    let dump = memory.dump(Stays::Nothing);
    assert_eq!(dump.get("mark"), Some(&Value::from("2")));
    assert_eq!(dump.get("turns").unwrap().items().unwrap().len(), 2);
    memory.remember([TurnDraft::text(Role::User, "c")]);
    let new = r#"{"mark":"2","turns":[],"pinned":["keep"],"summary":"a and b"}"#;
    let replaced = memory.replace(&parse(new)).unwrap();
    assert_eq!(
        replaced,
        Replaced {
            before: 3,
            after: 1
        }
    );
    assert_eq!(memory.compactions(), 1);
    const PINNED: &str =
        "[Pinned by the assistant for itself, in full; nobody else said it:]\n- keep";
    let summary = "[summary of the conversation so far]\na and b\n[end of the summary]";
    assert_eq!(texts(&memory), [PINNED, summary, "c"]);
}

#[test]
fn a_dump_that_is_put_back_changes_nothing() {
    let mut memory = said(&["a", "b", "c"]);
    let before = texts(&memory);
    let dump = memory.dump(Stays::Nothing);
    memory.replace(&dump).unwrap();
    assert_eq!(texts(&memory), before);
    assert_eq!(memory.compactions(), 0);
}

#[test]
fn a_mark_that_was_never_given_is_the_last_one_that_was() {
    let mut memory = said(&["a", "b"]);
    memory.dump(Stays::Nothing);
    memory.remember([TurnDraft::text(Role::User, "c")]);
    let new = r#"{"mark":"somewhere","turns":[],"pinned":[],"summary":"s"}"#;
    memory.replace(&parse(new)).unwrap();
    assert_eq!(texts(&memory).len(), 2);
}

#[test]
fn only_what_is_prepared_can_be_swapped_in_and_once() {
    let mut memory = said(&["a", "b"]);
    assert!(memory.swap().is_err());
    memory.dump(Stays::Nothing);
    memory.prepare(parse(
        r#"{"mark":"2","turns":[],"pinned":[],"summary":"s"}"#,
    ));
    assert_eq!(memory.swap().unwrap().after, 0);
    assert!(memory.swap().is_err());
}

#[track_caller]
fn check_stays(stays: Stays, mark: &str, after: &[&str]) {
    let mut memory = said(&["a", "b", "c", "d", "e", "f"]);
    let dump = memory.dump(stays);
    assert_eq!(dump.get("mark"), Some(&Value::from(mark)), "{stays:?}");
    let new = format!(r#"{{"mark":"{mark}","turns":[],"pinned":[],"summary":""}}"#);
    memory.replace(&parse(&new)).unwrap();
    assert_eq!(texts(&memory), after, "{stays:?}");
    // A second mark is as good as the first one, also between turns that were put back.
    memory.replace(&dump).unwrap();
    assert_eq!(texts(&memory), ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(memory.dump(stays).get("mark"), Some(&Value::from(mark)));
}

#[test]
fn whole_exchanges_stay() {
    check_stays(Stays::Nothing, "6", &[]);
    check_stays(Stays::Turns(1), "6", &[]);
    check_stays(Stays::Turns(3), "4", &["e", "f"]);
    check_stays(Stays::Turns(9), "0", &["a", "b", "c", "d", "e", "f"]);
    // A turn of one word has 5 tokens.
    check_stays(Stays::Tokens(Tokens::new(20)), "2", &["c", "d", "e", "f"]);
    check_stays(Stays::Tokens(Tokens::new(19)), "4", &["e", "f"]);
}

#[test]
fn whole_exchanges_are_forgotten() {
    let mut memory = said(&["a", "b", "c", "d", "e", "f"]);
    memory.keep(3);
    assert_eq!(texts(&memory), ["e", "f"]);
}

/// One thing that happens to a memory.
#[derive(Clone, Debug)]
enum Happens {
    Said(u8),
    Dumped,
    Compacted,
    Pinned(u8),
    Unpinned(u8),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => any::<u8>().prop_map(Happens::Said),
        1 => Just(Happens::Dumped),
        1 => Just(Happens::Compacted),
        1 => (0..4_u8).prop_map(Happens::Pinned),
        1 => (0..4_u8).prop_map(Happens::Unpinned),
    ]
}

proptest! {
    /// Whatever happens, the turns after the mark of the last compaction and the pins are there.
    #[test]
    fn the_tail_and_the_pins_survive(course in prop::collection::vec(happens(), 0..60)) {
        let mut memory = Memory::new(WINDOW);
        let (mut tail, mut since_dump) = (Vec::new(), Vec::new());
        let mut pins = BTreeSet::new();
        for it in course {
            match it {
                Happens::Said(word) => {
                    let word = format!("word {word}");
                    memory.remember([TurnDraft::text(Role::User, word.as_str())]);
                    tail.push(word.clone());
                    since_dump.push(word);
                }
                Happens::Dumped => {
                    memory.dump(Stays::Nothing);
                    since_dump.clear();
                }
                Happens::Compacted => {
                    memory.replace(&parse(
                        r#"{"mark":"?","turns":[],"pinned":[],"summary":"s"}"#,
                    )).unwrap();
                    // What stood before the mark is in the summary.
                    let kept = since_dump.len().min(tail.len());
                    tail.drain(..tail.len() - kept);
                }
                Happens::Pinned(word) => {
                    memory.pin(&Value::from(format!("pin {word}"))).unwrap();
                    pins.insert(format!("pin {word}"));
                }
                Happens::Unpinned(word) => {
                    let word = format!("pin {word}");
                    prop_assert_eq!(memory.unpin(&Value::from(word.as_str())).is_ok(), pins.remove(&word));
                }
            }
            let shown = texts(&memory);
            let words = shown.iter().filter(|text| text.starts_with("word"));
            prop_assert_eq!(words.cloned().collect::<Vec<_>>(), tail.clone());
            let pinned: BTreeSet<String> = memory.pins().map(str::to_owned).collect();
            prop_assert_eq!(pinned, pins.clone());
        }
    }
}

#[test]
fn a_text_is_pinned_once() {
    let mut memory = said(&[]);
    memory.pin(&Value::from("x")).unwrap();
    memory.pin(&Value::from("x")).unwrap();
    assert_eq!(memory.pins().collect::<Vec<_>>(), ["x"]);
    assert_eq!(memory.unpin(&Value::from("x")), Ok(()));
    assert!(memory.unpin(&Value::from("x")).is_err());
}
