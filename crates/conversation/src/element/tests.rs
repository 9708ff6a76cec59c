//! Reading with what is known is as reading without, whatever changed in between.

use std::sync::Arc;

use history::Tenant;
use proptest::prelude::*;
use wire::api::{Dialect, Limits, Recall, Request};

use super::{Element, Head, Keyed, KnownElements, Reader, Role};

fn keyed() -> Keyed {
    Keyed::new(&[7; 32])
}

const HEAD: Head = Head {
    tenant: Tenant::ANONYMOUS,
    dialect: Dialect::Anthropic,
};

/// Counts the elements that were known.
struct Watched<'k> {
    reader: Reader<'k>,
    known: usize,
}

impl Recall for Watched<'_> {
    fn known(&mut self, index: usize, rest: &[u8]) -> Option<(usize, Role)> {
        let known = self.reader.known(index, rest);
        self.known += usize::from(known.is_some());
        known
    }

    fn was_read(&mut self, index: usize, raw: &str, role: Role) {
        self.reader.was_read(index, raw, role);
    }
}

/// Reads a body as all others are read, and says how many elements did not have to be read.
fn read(heads: &KnownElements, head: Head, body: &str) -> (Arc<[Element]>, usize) {
    let mut watched = Watched {
        reader: Reader::new(keyed(), heads, head),
        known: 0,
    };
    let bytes = body.as_bytes();
    let ours = Request::parse_recalling(head.dialect, bytes, Limits::default(), &mut watched);
    let plain = Request::parse(head.dialect, bytes);
    assert_eq!(ours.is_ok(), plain.is_ok(), "{body}");
    let known = watched.known;
    let elements: Arc<[Element]> = watched.reader.elements().into();
    if let (Ok(ours), Ok(plain)) = (ours, plain) {
        assert_eq!(ours.list_span(), plain.list_span());
        let places = |it: &Request<'_>| -> Vec<_> {
            let messages = it.messages();
            messages
                .map(|message| (message.span(), message.role()))
                .collect()
        };
        assert_eq!(places(&ours), places(&plain), "{body}");
        let last = places(&plain).len().checked_sub(1);
        let count = last.map_or(0, |last| plain.elements_of(last).end);
        assert_eq!(elements.len(), count, "{body}");
    }
    (elements, known)
}

fn body(messages: &[&str]) -> String {
    let messages = messages.join(",");
    format!(r#"{{"model":"m","messages":[{messages}],"stream":true}}"#)
}

const ASK: &str = r#"{"role":"user","content":"hi"}"#;
const SAY: &str = r#"{"role":"assistant","content":[{"type":"text","text":"a ] } \" b"}]}"#;
const GO: &str = r#"{"content":"go on","role":"user"}"#;

fn check(first: &[&str], then: &str, head: Head, known: usize) {
    let heads = KnownElements::default();
    let (elements, _) = read(&heads, HEAD, &body(first));
    heads.remember(keyed(), HEAD, &elements);
    assert_eq!(read(&heads, head, then).1, known, "{then}");
}

#[test]
fn what_was_read_is_not_read_again() {
    check(&[ASK, SAY], &body(&[ASK, SAY, GO]), HEAD, 1);
    check(
        &[ASK, SAY, GO, SAY],
        &body(&[ASK, SAY, GO, SAY, GO]),
        HEAD,
        3,
    );
    check(&[ASK, SAY, GO, SAY], &body(&[ASK, GO, GO, SAY]), HEAD, 2);
    check(&[ASK, SAY], &body(&[GO, SAY]), HEAD, 0);
    check(&[ASK, SAY], &body(&[ASK]), HEAD, 0);
    // A body that ends, or breaks, behind what is known.
    check(
        &[ASK, SAY],
        &format!(r#"{{"messages":[{ASK},{SAY}"#),
        HEAD,
        1,
    );
    check(
        &[ASK, SAY],
        &format!(r#"{{"messages":[{ASK},{SAY} x]}}"#),
        HEAD,
        1,
    );
    // Of two lists the later one counts, as without.
    let twice = format!(r#"{{"messages":[{ASK},{SAY}],"messages":[{ASK},{GO}]}}"#);
    check(&[ASK, SAY], &twice, HEAD, 1);
}

#[test]
fn nobody_else_is_told() {
    let then = body(&[ASK, SAY, GO]);
    let tenant = Tenant::from_bytes([1; 16]);
    check(&[ASK, SAY], &then, Head { tenant, ..HEAD }, 0);
    let dialect = Dialect::Chat;
    check(&[ASK, SAY], &then, Head { dialect, ..HEAD }, 0);
}

#[test]
fn what_left_memory_is_forgotten() {
    let heads = KnownElements::default();
    let (elements, _) = read(&heads, HEAD, &body(&[ASK, SAY]));
    heads.remember(keyed(), HEAD, &elements);
    heads.sweep();
    assert_eq!(read(&heads, HEAD, &body(&[ASK, SAY])).1, 1);
    drop(elements);
    assert_eq!(read(&heads, HEAD, &body(&[ASK, SAY])).1, 0);
    heads.sweep();
    assert!(heads.0.lock().unwrap().is_empty());
}

const PIECES: [&str; 6] = [
    ASK,
    SAY,
    GO,
    r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#,
    r#"{"type":"function_call_output","call_id":"c","output":"\u00e9é"}"#,
    "null",
];

/// A body of these pieces, in a dialect.
fn pieces(which: &[usize], separator: &str, dialect: Dialect) -> String {
    let list = match dialect {
        Dialect::Responses => "input",
        Dialect::Anthropic | Dialect::Chat => "messages",
    };
    let pieces: Vec<&str> = which.iter().map(|&at| PIECES[at]).collect();
    let pieces = pieces.join(separator);
    format!(r#"{{"model":"m","{list}":[{pieces}],"n":1}}"#)
}

proptest! {
    #[test]
    fn any_change_is_read_as_it_is(
        first in prop::collection::vec(0..6_usize, 0..12),
        then in prop::collection::vec(0..6_usize, 0..12),
        broken in prop::option::of((any::<prop::sample::Index>(), any::<char>())),
        spaced in any::<bool>(),
        dialect in prop::sample::select(vec![Dialect::Anthropic, Dialect::Chat, Dialect::Responses]),
    ) {
        let head = Head { dialect, ..HEAD };
        let heads = KnownElements::default();
        let (elements, _) = read(&heads, head, &pieces(&first, ",", dialect));
        heads.remember(keyed(), head, &elements);
        let mut next = pieces(&then, if spaced { ", " } else { "," }, dialect);
        if let Some((at, character)) = broken {
            let places: Vec<usize> = next.char_indices().map(|(at, _)| at).collect();
            next.insert(places[at.index(places.len())], character);
        }
        read(&heads, head, &next);
    }
}
