//! The dashboard beside requests: turns, requests, edited summaries, removals.

use context::Tokens;
use gateway::report::{Order, ReportError, Reports, TurnsWanted, Viewer};
use history::{ConversationId, MarkId, Tenant};
use serde_json::Value;

use crate::house::{Agent, House};

fn id(text: &str) -> ConversationId {
    ConversationId::parse(text).expect("an id")
}

fn viewer(house: &House, key: &str) -> Viewer {
    let secret = house.engine.secret().expect("a secret");
    Viewer::Tenant(Tenant::of(&secret, key.as_bytes()))
}

/// Says things, orders a summary and waits for it. The conversation, and the summary's mark.
async fn prepared(house: &House, agent: &mut Agent) -> (ConversationId, MarkId) {
    let mut of = String::new();
    for n in 0..9 {
        of = agent.tell(house, n, 600).await.conversation().to_owned();
    }
    let (id, core) = (id(&of), house.gateway.core());
    core.order(Viewer::All, id, Order::Prepare)
        .await
        .expect("an order");
    agent.tell(house, 9, 100).await;
    let mut looks = 0;
    loop {
        let detail = core.detail(Viewer::All, id).await.expect("a report");
        if let Some(mark) = detail.marks.iter().find(|mark| mark.state == "ready") {
            return (id, MarkId::parse(&mark.id).expect("a mark"));
        }
        assert!(looks < 200, "no summary was made");
        looks += 1;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

const EDITED: &str = "The user goes on with the files in src.\nNothing was decided.";

#[tokio::test]
async fn an_edited_summary_is_what_the_model_sees() {
    for restarts in [false, true] {
        let mut house = House::new(|_| {}).await;
        let mut agent = Agent::new("key-one");
        let (id, mark) = prepared(&house, &mut agent).await;
        let core = house.gateway.core();
        let long = "word ".repeat(30_000);
        let refused = core.reword(Viewer::All, id, (mark, long)).await;
        assert!(
            matches!(refused, Err(ReportError::Refused { .. })),
            "{refused:?}"
        );
        let stranger = viewer(&house, "key-two");
        let refused = core.reword(stranger, id, (mark, EDITED.to_owned())).await;
        assert!(matches!(refused, Err(ReportError::NoConversation)));
        let done = core
            .reword(Viewer::All, id, (mark, EDITED.to_owned()))
            .await;
        done.expect("it is edited");
        let again = core
            .reword(Viewer::All, id, (mark, EDITED.to_owned()))
            .await;
        assert!(again.is_err(), "the old one is ready no more");
        if restarts {
            house.restart().await;
            agent.tell(&house, 10, 100).await;
        }
        let core = house.gateway.core();
        let detail = core.detail(Viewer::All, id).await.expect("a report");
        let ready = detail.marks.iter().find(|mark| mark.state == "ready");
        let ready = ready.expect("the edited one is ready");
        assert_eq!(ready.text, EDITED);
        assert!(ready.tokens < 60, "{}", ready.tokens);
        assert_eq!(detail.marks.len(), 2, "the one that was made is kept");
        core.order(Viewer::All, id, Order::Swap)
            .await
            .expect("an order");
        let came = agent.tell(&house, 11, 100).await;
        assert!(came.did().contains("swapped"), "{restarts}: {came:?}");
        let sent = Value::from(house.newest()).to_string();
        assert!(sent.contains("Nothing was decided."), "{sent}");
        house.close().await;
    }
}

#[tokio::test]
async fn a_removed_conversation_is_gone_and_others_stay() {
    let house = House::new(|_| {}).await;
    let (mut one, mut other) = (Agent::new("key-one"), Agent::new("key-two"));
    let first = id(one.tell(&house, 0, 100).await.conversation());
    let second = id(other.tell(&house, 0, 100).await.conversation());
    let core = house.gateway.core();
    let stranger = core.remove(viewer(&house, "key-two"), first).await;
    assert!(matches!(stranger, Err(ReportError::NoConversation)));
    let purged = core.remove(viewer(&house, "key-one"), first).await;
    assert_eq!(purged.expect("it is removed").conversations, 1);
    let list = core.overview(Viewer::All).await.expect("a list");
    let left: Vec<&str> = list.conversations.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(left, [second.to_string()]);
    assert!(matches!(
        core.detail(Viewer::All, first).await,
        Err(ReportError::NoConversation)
    ));
    // Its client notices nothing.
    let came = one.tell(&house, 1, 100).await;
    assert_ne!(id(came.conversation()), first);
    assert_eq!(
        other.tell(&house, 1, 100).await.conversation(),
        second.to_string()
    );
    house.close().await;
}

#[tokio::test]
async fn requests_are_noted_and_stay_over_a_restart() {
    let mut house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let of = id(agent.tell(&house, 0, 100).await.conversation());
    agent.tell(&house, 1, 100).await;
    for restarts in [false, true] {
        if restarts {
            house.restart().await;
        }
        let core = house.gateway.core();
        let detail = core.detail(Viewer::All, of).await.expect("a report");
        let noted = detail.requests.iter();
        let noted: Vec<(u16, &str)> = noted.map(|it| (it.status, it.error.as_str())).collect();
        assert_eq!(noted, [(200, ""), (200, "")], "{restarts}");
        let newest = &detail.requests[0];
        assert!(newest.tokens > Some(100) && newest.began <= Some(newest.ended));
        assert!(
            !newest.did.is_empty() && newest.at.starts_with("2026-"),
            "{newest:?}"
        );
    }
    let list = house.gateway.core().overview(Viewer::All).await;
    let days = list.expect("a list").days;
    let day = days.iter().find(|it| it.requests > 0).expect("a day");
    assert_eq!(days.len(), 1, "{days:?}");
    assert!(day.requests == 2 && day.cost > 0.0, "{day:?}");
    house.close().await;
}

#[tokio::test]
async fn all_turns_can_be_read_and_say_what_the_model_sees() {
    let house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let said = agent.until_swapped(&house, 1, 100).await;
    let list = house
        .gateway
        .core()
        .overview(Viewer::All)
        .await
        .expect("a list");
    let of = id(&list.conversations[0].id);
    assert_eq!(
        list.days.iter().map(|day| day.requests).sum::<u64>(),
        said as u64
    );
    let turns = |find: &str| {
        let wanted = TurnsWanted {
            find: find.to_owned(),
            from: 0,
            most: 1_000,
        };
        house.gateway.core().turns(Viewer::All, of, wanted)
    };
    // The newest answer is among them once the next request brings it.
    let all = turns("").await.expect("the turns");
    assert_eq!((all.all, all.turns.len()), (2 * said - 1, 2 * said - 1));
    assert_eq!(
        (all.turns[0].seen, all.turns[2 * said - 2].seen),
        ("summarized", "shown")
    );
    let sizes: u64 = all.turns.iter().map(|turn| turn.tokens).sum();
    assert!(Tokens::new(sizes) > Tokens::new(10_000));
    let found = turns("SRC/module_3.RS").await.expect("the turns");
    let places = found.found.expect("a search");
    assert!(places.turns >= 1 && places.places >= places.turns);
    assert!(
        found.turns.iter().any(|turn| turn.index == 6),
        "the seventh turn"
    );
    let stranger = viewer(&house, "key-two");
    let none = house
        .gateway
        .core()
        .turns(stranger, of, TurnsWanted::default());
    assert!(matches!(none.await, Err(ReportError::NoConversation)));
    house.close().await;
}
