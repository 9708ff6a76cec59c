//! Where an id leads, who may name it, and what is forgotten.

use context::Text;
use history::{ConversationId, Engine, Limits, MemoryEngine, Tenant};
use jiff::{SignedDuration, Timestamp};

use super::{Asked, LIFE, Lineage, Lineages, MOST_BYTES, stored};

const ONE: Tenant = Tenant::from_bytes([1; 16]);
const OF: ConversationId = ConversationId::from_bytes([1; 16]);
const OTHER: Tenant = Tenant::from_bytes([2; 16]);
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn asked(of: u8, before: Option<&str>, messages: &str) -> (ConversationId, Asked) {
    let asked = Asked {
        before: before.map(Text::from),
        messages: messages.into(),
    };
    (ConversationId::from_bytes([of; 16]), asked)
}

/// Three answers, each behind the one before.
fn three() -> Lineages {
    let known = Lineages::default();
    known.add(ONE, asked(1, None, "1"), ("a", "2", true), NOW);
    known.add(ONE, asked(1, Some("a"), "3"), ("b", "4", true), NOW);
    known.add(ONE, asked(1, Some("b"), ""), ("c", "5,6", false), NOW);
    known
}

/// The messages up to an answer of the first tenant; empty if the answer is unknown.
fn said(known: &Lineages, id: &str) -> String {
    known
        .find(ONE, &id.into(), NOW)
        .map_or_else(|_| String::new(), |found| found.messages)
}

#[test]
fn an_answer_leads_to_all_that_was_said() {
    let known = three();
    assert_eq!(said(&known, "a"), "1,2");
    assert_eq!(said(&known, "b"), "1,2,3,4");
    let all = Lineage {
        messages: "1,2,3,4,5,6".to_owned(),
        is_whole: false,
    };
    assert_eq!(known.find(ONE, &"c".into(), NOW), Ok(all));
    // A branch from the first answer.
    known.add(ONE, asked(1, Some("a"), "7"), ("d", "8", true), NOW);
    assert_eq!(said(&known, "d"), "1,2,7,8");
}

#[test]
fn a_tenant_does_not_see_anothers() {
    let known = three();
    for id in ["a", "b", "c"] {
        assert_eq!(known.find(OTHER, &id.into(), NOW), Err(id.into()));
    }
    known.add(OTHER, asked(1, None, "x"), ("a", "y", true), NOW);
    assert_eq!(said(&known, "a"), "1,2");
    let theirs = known.find(OTHER, &"a".into(), NOW).unwrap();
    assert_eq!(theirs.messages, "x,y");
}

#[test]
fn what_is_missing_is_named() {
    let known = Lineages::default();
    known.add(ONE, asked(1, Some("lost"), "1"), ("a", "2", true), NOW);
    assert_eq!(known.find(ONE, &"a".into(), NOW), Err("lost".into()));
}

#[test]
fn an_id_that_comes_twice_or_is_no_id_names_nothing() {
    let known = three();
    known.add(ONE, asked(1, Some("c"), "7"), ("a", "8", true), NOW);
    for id in ["a", "b", "c"] {
        assert_eq!(said(&known, id), "");
    }
    // A circle, of an answer that came back under its own id.
    known.add(ONE, asked(1, Some("c"), "7"), ("a", "8", true), NOW);
    assert_eq!(said(&known, "c"), "");
    for id in ["", "two words", "a\nb", &"x".repeat(300)] {
        known.add(ONE, asked(2, None, "1"), (id, "2", true), NOW);
        assert_eq!(said(&known, id), "");
    }
}

#[test]
fn a_client_that_sends_everything_each_time_holds_it_once() {
    let known = Lineages::default();
    known.add(ONE, asked(1, None, "1"), ("a", "2", true), NOW);
    known.add(ONE, asked(1, None, "1,2,3"), ("b", "4", true), NOW);
    assert_eq!((&*said(&known, "a"), &*said(&known, "b")), ("", "1,2,3,4"));
    // Another answer to the same request, of which the client may choose one.
    known.add(ONE, asked(1, None, "1,2,3"), ("c", "5", true), NOW);
    assert_eq!(said(&known, "b"), "1,2,3,4");
    // One that was named stays.
    known.add(ONE, asked(1, Some("c"), "6"), ("d", "7", true), NOW);
    known.add(ONE, asked(1, None, "1,2,3,5,6"), ("e", "8", true), NOW);
    assert_eq!(said(&known, "d"), "1,2,3,5,6,7");
    assert_eq!(said(&known, "e"), "1,2,3,5,6,8");
}

#[test]
fn the_tenant_with_the_most_bytes_makes_room() {
    let known = three();
    let large = "x".repeat(MOST_BYTES / 4);
    for n in 0..9_u8 {
        let id = format!("large-{n}");
        known.add(OTHER, asked(n, None, &large), (&id, "1", true), NOW);
        assert!(known.lock().bytes <= MOST_BYTES);
    }
    assert_eq!(said(&known, "c"), "1,2,3,4,5,6");
    assert!(known.find(OTHER, &"large-0".into(), NOW).is_err());
    assert!(known.find(OTHER, &"large-8".into(), NOW).is_ok());
}

#[test]
fn what_is_used_stays_and_the_end_of_a_conversation_goes_first() {
    let known = Lineages::default();
    let part = "x".repeat(MOST_BYTES / 8);
    known.add(ONE, asked(1, None, &part), ("a", "1", true), NOW);
    known.add(ONE, asked(1, Some("a"), &part), ("b", "1", true), NOW);
    for n in 0..7_u8 {
        assert!(known.find(ONE, &"a".into(), NOW).is_ok(), "{n}");
        let id = format!("other-{n}");
        known.add(ONE, asked(9 + n, None, &part), (&id, "1", true), NOW);
    }
    assert!(known.find(ONE, &"a".into(), NOW).is_ok());
    assert_eq!(known.find(ONE, &"b".into(), NOW), Err("b".into()));
}

#[test]
fn what_is_not_used_is_forgotten() {
    let known = three();
    let idle = SignedDuration::from_mins(10);
    let later = |by: SignedDuration| NOW.checked_add(by).unwrap();
    known.sweep(later(LIFE), idle);
    assert_eq!(said(&known, "c"), "1,2,3,4,5,6");
    assert_eq!(known.to_store(ONE, &"b".into()).len(), 2);
    known.sweep(later(idle + SignedDuration::from_secs(1)), idle);
    assert_eq!(known.find(ONE, &"c".into(), NOW), Err("b".into()));
    known.sweep(later(LIFE + LIFE), idle);
    assert_eq!(known.lock().bytes, 0);
    assert!(known.lock().tenants.is_empty());
}

#[test]
fn links_come_back_from_the_store() {
    let engine = MemoryEngine::new([7; 32], Limits::default());
    let known = three();
    assert_eq!(known.to_store(ONE, &"a".into()), []);
    let links = known.to_store(ONE, &"c".into());
    assert_eq!(links.len(), 3);
    assert_eq!(known.to_store(ONE, &"c".into()), []);
    let write = |tenant, links: &[(Text, super::Link)]| {
        engine.write(tenant, &mut |store| {
            links
                .iter()
                .try_for_each(|(id, link)| link.store(id, OF, store))
        })
    };
    write(ONE, &links).unwrap();
    let read = |tenant| {
        let mut found = Vec::new();
        let mut work = |store: &dyn history::Store| {
            found = stored(store, &"c".into())?;
            Ok(())
        };
        engine.read(tenant, &mut work).unwrap();
        found
    };
    assert_eq!(read(OTHER), []);
    assert_eq!(read(ONE), links);
    // Of a part nothing can be made.
    write(OTHER, &links[..1]).unwrap();
    assert_eq!(read(OTHER), []);
    let again = Lineages::default();
    again.take_stored(ONE, read(ONE), NOW);
    assert_eq!(said(&again, "c"), "1,2,3,4,5,6");
    assert_eq!(said(&again, "b"), "1,2,3,4");
    let before = known.find(ONE, &"c".into(), NOW);
    assert_eq!(again.find(ONE, &"c".into(), NOW), before);
    known.were_not_stored(ONE, &["c".into()]);
    assert_eq!(known.to_store(ONE, &"c".into()).len(), 1);
}
