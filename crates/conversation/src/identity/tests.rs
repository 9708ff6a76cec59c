//! Differences that count for identity, and differences that do not.

use context::{Heuristic, TurnId};
use history::Tenant;
use wire::api::{Dialect, Limits, Request};

use proptest::prelude::*;

use super::{Keyed, Keys, Known, compare, placed};
use crate::element::{Head, KnownElements, Reader};

fn keyed() -> Keyed {
    Keyed::new(&[7; 32])
}

fn body(messages: &[&str]) -> String {
    format!(
        r#"{{"model":"m","max_tokens":1,"messages":[{}]}}"#,
        messages.join(",")
    )
}

fn keys_of(request: &Request<'_>) -> Keys {
    keys_by(keyed(), request)
}

fn keys_by(keyed: Keyed, request: &Request<'_>) -> Keys {
    let heads = KnownElements::default();
    let head = Head {
        tenant: Tenant::ANONYMOUS,
        dialect: request.dialect(),
    };
    let mut reader = Reader::new(keyed, &heads, head);
    Request::parse_recalling(
        request.dialect(),
        request.body(),
        Limits::default(),
        &mut reader,
    )
    .unwrap();
    Keys::of(keyed, request, &reader.elements())
}

/// Checks how many of `then`'s messages are known, and how many are new, where `first` was sent before.
fn check(first: &[&str], then: &[&str], common: usize) {
    let (first, then) = (body(first), body(then));
    let first = Request::parse(Dialect::Anthropic, first.as_bytes()).unwrap();
    let keys = keys_of(&first);
    let turns = placed(&first, 0, TurnId::ROOT, &Heuristic);
    let ids: Vec<TurnId> = turns.iter().map(context::Turn::id).collect();
    let then = Request::parse(Dialect::Anthropic, then.as_bytes()).unwrap();
    let known = Known {
        keys: keys.as_slice(),
        ids: &ids,
    };
    let compared = compare(&then, &keys_of(&then), known, &Heuristic);
    assert_eq!(compared.common, common);
    assert_eq!(compared.new.len(), then.len() - common);
    let all = placed(&then, 0, TurnId::ROOT, &Heuristic);
    assert_eq!(
        compared.new.as_slice(),
        &all[common..],
        "as if all were read"
    );
}

const ASK: &str = r#"{"role":"user","content":"hi"}"#;
const ASK_MARKED: &str = r#"{"content":[{"cache_control":{"type":"ephemeral"},"text":"hi","type":"text"}],"role":"user"}"#;
const SAY: &str = r#"{"role":"assistant","content":"hello"}"#;
const GO: &str = r#"{"role":"user","content":"go on"}"#;
const STOP: &str = r#"{"role":"user","content":"stop"}"#;

#[test]
fn only_what_was_said_counts() {
    check(&[ASK], &[ASK, SAY, GO], 1);
    check(&[ASK_MARKED], &[ASK, SAY, GO], 1);
    check(&[ASK, SAY, GO], &[ASK_MARKED, SAY, GO], 3);
    check(&[ASK, SAY, GO], &[ASK, SAY, STOP], 2);
    check(&[ASK, SAY, GO], &[ASK], 1);
    check(&[ASK], &[GO], 0);
}

#[test]
fn keys_depend_on_the_secret_and_links_on_all_before() {
    let request = body(&[ASK, SAY, ASK]);
    let request = Request::parse(Dialect::Anthropic, request.as_bytes()).unwrap();
    let keys = keys_of(&request);
    let [first, _, third] = *keys.as_slice() else {
        panic!("three keys");
    };
    assert_eq!(first, third);
    assert_ne!(keys.hints()[0], keys.hints()[2]);
    assert_ne!(keys_by(Keyed::new(&[8; 32]), &request).as_slice()[0], first);
    let links: Vec<u64> = keys.links().collect();
    assert_eq!(links.first(), keys.hints().last());
}

proptest! {
    #[test]
    fn any_other_byte_is_another_key(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let key = keyed().of(0, &bytes);
        let mut longer = bytes.clone();
        longer.push(0);
        prop_assert_ne!(keyed().of(0, &longer), key);
        prop_assert_ne!(keyed().of(1, &bytes), key);
        if !bytes.is_empty() {
            let mut other = bytes.clone();
            other[at.index(bytes.len())] ^= flip;
            prop_assert_ne!(keyed().of(0, &other), key);
        }
    }
}
