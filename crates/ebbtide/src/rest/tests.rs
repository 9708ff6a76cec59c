//! Conversations leave memory without a call of `rest`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use history::{
    ConversationId, HistoryError, Limits, MemoryEngine, Purge, Purged, ReadWork, Tenant, WriteWork,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::AT_ONCE;
use crate::{Client, Engine, Next};

/// A store that can be told to refuse writes.
#[derive(Debug)]
struct Moody {
    inner: MemoryEngine,
    refuses: AtomicBool,
}

impl history::Engine for Moody {
    fn secret(&self) -> Result<[u8; 32], HistoryError> {
        self.inner.secret()
    }

    fn read(&self, tenant: Tenant, work: &mut ReadWork<'_>) -> Result<(), HistoryError> {
        self.inner.read(tenant, work)
    }

    fn write(&self, tenant: Tenant, work: &mut WriteWork<'_>) -> Result<(), HistoryError> {
        match self.refuses.load(Ordering::Relaxed) {
            true => Err(HistoryError::Busy),
            false => self.inner.write(tenant, work),
        }
    }

    fn tenants(&self) -> Result<Vec<Tenant>, HistoryError> {
        self.inner.tenants()
    }

    fn purge(&self, what: Purge) -> Result<Purged, HistoryError> {
        self.inner.purge(what)
    }

    fn preview(&self, what: Purge) -> Result<Purged, HistoryError> {
        self.inner.preview(what)
    }
}

fn moody() -> Arc<Moody> {
    Arc::new(Moody {
        inner: MemoryEngine::new([0; 32], Limits::default()),
        refuses: AtomicBool::new(false),
    })
}

fn engine(store: &Arc<Moody>, most: usize) -> (Engine, Client) {
    let store: Arc<dyn history::Engine> = Arc::<Moody>::clone(store);
    let builder = Engine::builder().store(store);
    let engine = builder.room(most, SignedDuration::from_mins(10));
    let engine = engine.open().unwrap();
    let client = engine.client("key-one");
    (engine, client)
}

/// Says something in a conversation of its own, and hears the answer.
fn say((engine, client): &(Engine, Client), text: &str, milliseconds: i64) -> ConversationId {
    let now = Timestamp::from_millisecond(milliseconds).unwrap();
    let messages = [json!({"role": "user", "content": text})];
    let body = json!({"model": "claude-opus-4-5", "max_tokens": 99, "messages": messages});
    let Ok(Next::Send(out)) = engine.request(client, body.to_string(), now) else {
        panic!("nothing is held")
    };
    let of = out.ticket.conversation().unwrap();
    let answer = br#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi!"}],
        "stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":3}}"#;
    // A store that refuses says so here.
    let _ = engine.observe(out.ticket, answer, now);
    of
}

fn in_memory((engine, _): &(Engine, Client)) -> usize {
    engine.directory.registry.count()
}

fn has_journal((engine, client): &(Engine, Client), of: ConversationId) -> bool {
    let found = engine.read(client.tenant, |store| store.journal(of));
    found.unwrap().is_some()
}

#[test]
fn requests_let_idle_conversations_leave_memory_a_few_at_a_time() {
    let house = engine(&moody(), 10_000);
    let of: Vec<ConversationId> = (0..200)
        .map(|number| say(&house, &format!("number {number}"), 0))
        .collect();
    assert_eq!(in_memory(&house), 200);
    let mut before = 200;
    for second in 0..8 {
        say(
            &house,
            "the only one that is used",
            1_200_000 + second * 1_000,
        );
        let now = in_memory(&house);
        assert!(before <= now + AT_ONCE, "{before} {now}");
        before = now;
    }
    assert_eq!(in_memory(&house), 1);
    assert!(of.iter().all(|&of| has_journal(&house, of)));
}

#[test]
fn those_that_find_no_room_keep_their_journals() {
    let house = engine(&moody(), 16);
    // All in one second, so that no round is due.
    let of: Vec<ConversationId> = (0..200)
        .map(|number| say(&house, &format!("number {number}"), number))
        .collect();
    assert!(in_memory(&house) <= 17);
    let kept = of.iter().filter(|&&of| has_journal(&house, of)).count();
    assert_eq!(kept, 200 - in_memory(&house));
    assert!(house.0.directory.registry.take_left(1).is_empty());
    // One comes back and tells what happened before.
    let first = say(&house, "number 0", 200);
    assert_eq!(Some(&first), of.first());
    let told = house.0.explain(&house.1, first).unwrap().journal;
    let told: Vec<&str> = told.iter().map(|(_, text)| text.as_str()).collect();
    assert!(told.ends_with(&["began"]), "{told:?}");
}

#[test]
fn a_journal_that_the_store_refuses_is_written_later() {
    let store = moody();
    let house = engine(&store, 10_000);
    let of = say(&house, "the first one", 0);
    store.refuses.store(true, Ordering::Relaxed);
    say(&house, "the second one", 1_200_000);
    assert_eq!(in_memory(&house), 1);
    store.refuses.store(false, Ordering::Relaxed);
    // Not with every request: each try may wait for the store.
    say(&house, "the second one", 1_201_000);
    assert!(!has_journal(&house, of));
    say(&house, "the second one", 1_216_000);
    assert!(has_journal(&house, of));
}

#[test]
fn a_clock_that_is_set_back_stops_no_rounds() {
    let house = engine(&moody(), 10_000);
    say(&house, "the first one", 90_000_000);
    say(&house, "the second one", 1_000_000);
    say(&house, "the third one", 1_001_000);
    assert_eq!(in_memory(&house), 3);
    say(&house, "the third one", 2_000_000);
    assert_eq!(in_memory(&house), 2, "the second one left");
}
