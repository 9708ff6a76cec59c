//! A conversation that is purged while the gateway has it in memory.

use context::{Heuristic, TurnId};
use history::{ConversationId, Purge, Tenant};
use jiff::Timestamp;
use serde_json::json;
use wire::api::{Dialect, Request};

use crate::house::{Agent, House, words};

/// The contents of the store for a conversation.
struct Stored {
    /// The number of its messages that are there, from the first one on.
    turns: usize,
    /// True if the summary that stands is there.
    is_summary: bool,
    /// The number of changes of its messages.
    editions: usize,
    /// Its pins that were set from outside.
    pins: Vec<String>,
}

fn tenant(house: &House) -> Tenant {
    Tenant::of(&house.engine.secret().expect("a secret"), b"key-one")
}

fn stored(house: &House, agent: &Agent, id: &str) -> Option<Stored> {
    let id = ConversationId::parse(id).expect("an id");
    let body = json!({"messages": agent.messages}).to_string();
    let request = Request::parse(Dialect::Anthropic, body.as_bytes()).expect("a request");
    let turns = request.turns(&Heuristic);
    let ids: Vec<TurnId> = turns.iter().map(context::Turn::id).collect();
    let mut stored = None;
    let mut look = |store: &dyn history::Store| {
        let Some(record) = store.conversation(id)? else {
            return Ok(());
        };
        let mark = match record.standing.mark {
            Some(mark) => store.mark(mark)?,
            None => None,
        };
        let pins = store.pins(id)?;
        stored = Some(Stored {
            turns: store.known(&turns)?,
            is_summary: mark.is_some(),
            editions: store.editions(&ids)?.len(),
            pins: pins.iter().map(|it| it.pin.text.to_string()).collect(),
        });
        Ok(())
    };
    house.engine.read(tenant(house), &mut look).expect("a look");
    stored
}

/// A conversation that was swapped, has a pin from outside, and goes on.
async fn grown(house: &House) -> (Agent, String) {
    let mut agent = Agent::new("key-one");
    let mut swapped = None;
    let mut n = 0;
    while swapped.is_none_or(|at| n < at + 3) {
        assert!(n < 40, "no swap");
        let came = agent.say(house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{came:?}");
        if n == 0 {
            let pins = format!("/ebbtide/api/conversations/{}/pins", came.conversation());
            let pin = json!({"text": "Answer in French."});
            let pinned = agent.post(house, &pins, &pin).await;
            assert!(pinned.status < 300, "{pinned:?}");
        }
        if came.did().contains("swapped") {
            swapped = Some(n);
        }
        n += 1;
    }
    let came = agent.say(house, "And now?").await;
    let id = came.conversation().to_owned();
    (agent, id)
}

fn purge(house: &House, id: &str) {
    let what = Purge {
        tenant: None,
        conversation: ConversationId::parse(id),
        before: None,
    };
    let purged = house.engine.purge(what).expect("a purge");
    assert_eq!(purged.conversations, 1);
    assert!(purged.turns > 10, "{purged:?}");
}

#[tokio::test]
async fn it_is_kept_again_with_its_next_request_and_goes_on_over_a_restart() {
    let mut house = House::new(|_| {}).await;
    let (mut agent, id) = grown(&house).await;
    let before = stored(&house, &agent, &id).expect("a conversation");
    assert_eq!(before.turns, agent.messages.len());
    assert!(before.is_summary && before.editions > 0);
    purge(&house, &id);
    assert!(stored(&house, &agent, &id).is_none());

    let came = agent.say(&house, "Go on.").await;
    assert_eq!(came.status, 200, "{came:?}");
    assert_eq!(came.conversation(), id);
    assert!(came.did().contains("compacted"), "{came:?}");
    let after = stored(&house, &agent, &id).expect("it is kept again");
    assert_eq!(after.turns, agent.messages.len(), "the answer included");
    assert!(after.is_summary);
    assert_eq!(after.pins, ["Answer in French."]);

    let main = agent.clone().say(&house, "And now?").await;
    house.restart().await;
    let again = agent.say(&house, "And now?").await;
    assert_eq!(again.conversation(), main.conversation());
    let sent = house.sent();
    let [one, other] = &sent[sent.len() - 2..] else {
        panic!("two requests");
    };
    assert_eq!(one, other, "the same bytes after a restart");
    for n in 60..80 {
        let came = agent.say(&house, &words(n, 700)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        assert_eq!(came.conversation(), id);
    }
    let after = stored(&house, &agent, &id).expect("a conversation");
    assert_eq!(after.turns, agent.messages.len());
    house.close().await;
}

#[tokio::test]
async fn everything_may_go_and_everybody_goes_on() {
    let house = House::new(|_| {}).await;
    let (mut one, first) = grown(&house).await;
    let (mut other, second) = {
        let mut other = Agent::new("key-two");
        let came = other.say(&house, "Hello.").await;
        (other, came.conversation().to_owned())
    };
    let all = Purge {
        tenant: None,
        conversation: None,
        before: Some(Timestamp::MAX),
    };
    assert_eq!(house.engine.purge(all).expect("a purge").conversations, 2);
    for n in 0..20 {
        let came = one.say(&house, &words(n, 700)).await;
        assert_eq!((came.status, came.conversation()), (200, first.as_str()));
        let came = other.say(&house, &words(n, 700)).await;
        assert_eq!((came.status, came.conversation()), (200, second.as_str()));
    }
    let kept = stored(&house, &one, &first).expect("a conversation");
    assert_eq!(kept.turns, one.messages.len());
    house.close().await;
}

#[tokio::test]
async fn a_deleted_conversation_takes_nothing_from_the_others() {
    let mut house = House::new(|_| {}).await;
    let (mut agent, id) = grown(&house).await;
    let mut other = Agent::new("key-one");
    let mut came = None;
    for n in 100..112 {
        came = Some(other.say(&house, &words(n, 700)).await);
    }
    let gone = came.expect("an answer").conversation().to_owned();
    assert_ne!(gone, id);
    agent.clone().say(&house, "Go on.").await;
    purge(&house, &gone);
    // The texts are read from the store.
    house.restart().await;
    let again = agent.say(&house, "Go on.").await;
    assert_eq!(again.conversation(), id);
    let sent = house.sent();
    let [one, after] = &sent[sent.len() - 2..] else {
        panic!("two requests");
    };
    assert_eq!(one, after, "the same bytes as before");
    house.close().await;
}
