//! A damaged turn in the store: what is asked about the others is answered.

use std::path::Path;
use std::sync::Arc;

use gateway::Running;
use history::Limits;
use history_sqlite::Sqlite;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{Came, keeping, sim};
use crate::memory::{call, say, tool};

const TEXTS: [&str; 7] = [
    "Always answer in French.",
    "Oui.",
    "The port is 7341.",
    "Noted.",
    "And the host is db-7.",
    "Noted, too.",
    "Go on.",
];

async fn started(store: &Path, upstream: &str) -> Running {
    let engine = Sqlite::open(store, Limits::NONE).expect("a store");
    keeping(Arc::new(engine), upstream, |_| {}).await
}

/// Flips one bit in the text of the third turn.
fn damage(store: &Path) {
    let connection = Connection::open(store).expect("a store");
    let sql = "UPDATE node SET body = CAST(replace(CAST(body AS TEXT), '7341', '7340') AS BLOB) \
               WHERE instr(CAST(body AS TEXT), '7341')";
    assert_eq!(connection.execute(sql, []).expect("a change"), 1);
}

/// The answers about a conversation whose third turn is damaged or not.
async fn check(url: &str, id: &str, is_damaged: bool) {
    let ask = async |what: &str| -> Came {
        let line = format!("GET /ebbtide/api/conversations/{id}{what}");
        call(&line, url, &[], &Value::Null).await
    };
    for whole in ["", "/lost", "/recall?query=host%20db-7", "/window"] {
        let came = ask(whole).await;
        assert_eq!(came.status, 200, "{whole}: {came:?}");
    }
    for (turn, text) in [(1, TEXTS[0]), (2, TEXTS[1]), (5, TEXTS[4]), (7, TEXTS[6])] {
        let came = ask(&format!("/original?handle=turn:{turn}")).await;
        assert_eq!(came.json()["text"], text, "{came:?}");
    }
    let hits = ask("/recall?query=host%20db-7").await.json();
    assert_eq!(hits["hits"][0]["handle"], "turn:5.1");
    let around = ask("/original?handle=turns:2-4").await.json();
    let listed = if is_damaged { json!([3]) } else { json!([]) };
    assert_eq!(around["damaged"], listed, "{around}");
    let around = around["text"].as_str().expect("a text");
    let line = match is_damaged {
        true => "\n--- turn:3 is damaged, this is no original ---\n",
        false => "\n--- user, text (turn:3.1) ---\n",
    };
    assert!(around.contains(line), "{around}");
    check_tool(url, id, is_damaged).await;
    let line = format!("GET /ebbtide/conversations/{id}");
    let page = call(&line, url, &[], &Value::Null).await;
    assert_eq!(page.status, 200, "{page:?}");

    let third = ask("/original?handle=turn:3").await;
    if !is_damaged {
        assert_eq!(third.json()["text"], TEXTS[2]);
        return;
    }
    assert_eq!(third.status, 503, "{third:?}");
    let error = &third.json()["error"];
    assert_eq!(error["code"], "E0822");
    let says = |key: &str, words: &str| error[key].as_str().is_some_and(|it| it.contains(words));
    assert!(says("message", "turn 3 is damaged"), "{error}");
    assert!(says("hint", "ebbtide store repair"), "{error}");
    for what in [json!({"turn": 3}), json!({"turn": 4, "turns": 2})] {
        let line = format!("POST /ebbtide/api/conversations/{id}/pins");
        let pinned = call(&line, url, &[], &what).await;
        assert_eq!(pinned.status, 503, "{what}: {pinned:?}");
    }
}

/// The answers of the memory tool `expand` about that conversation.
async fn check_tool(url: &str, id: &str, is_damaged: bool) {
    let ask = async |handle: &str| {
        let arguments = json!({"handle": handle, "conversation": id});
        let came = tool(url, "expand", arguments, &[]).await.json();
        came["result"].clone()
    };
    let text = |result: &Value, block: usize| {
        let text = result["content"][block]["text"].as_str();
        text.unwrap_or_default().to_owned()
    };
    let around = ask("turns:2-4").await;
    let told = text(&around, 0).contains("The original of turn:3 is damaged.");
    assert_eq!(told, is_damaged, "{around}");
    let marked = text(&around, 1).contains("turn:3 is damaged, this is no original");
    assert_eq!(marked, is_damaged, "{around}");
    let listed = if is_damaged { json!([3]) } else { json!([]) };
    assert_eq!(around["structuredContent"]["damaged"], listed, "{around}");
    for handle in ["turn:3", "turn:3.1"] {
        let third = ask(handle).await;
        assert_eq!(third["isError"], is_damaged, "{handle}: {third}");
        match is_damaged {
            true => {
                let told = text(&third, 0);
                assert!(told.contains("E0822: turn 3 is damaged"), "{told}");
                assert_eq!(third["content"][1], Value::Null, "{handle}: {third}");
            }
            false => assert_eq!(text(&third, 1), TEXTS[2], "{handle}"),
        }
    }
}

#[tokio::test]
async fn a_damaged_turn_hides_no_other_and_comes_back_with_the_next_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.db");
    let provider = sim().await;
    let gateway = started(&store, &provider.url()).await;
    let id = say(&gateway.url(), &TEXTS).await;
    check(&gateway.url(), &id, false).await;

    // While the conversation is in memory, and after a restart.
    damage(&store);
    check(&gateway.url(), &id, true).await;
    gateway.shutdown().await;
    let gateway = started(&store, &provider.url()).await;
    check(&gateway.url(), &id, true).await;

    let mut more = TEXTS.to_vec();
    more.extend(["D'accord.", "One more."]);
    assert_eq!(say(&gateway.url(), &more).await, id);
    check(&gateway.url(), &id, false).await;

    // In memory again: the report that met the damage lets the next request mend it.
    damage(&store);
    check(&gateway.url(), &id, true).await;
    more.extend(["D'accord.", "And another one."]);
    assert_eq!(say(&gateway.url(), &more).await, id);
    check(&gateway.url(), &id, false).await;
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_repaired_store_leads_to_all_other_turns_and_fills_its_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store.db");
    let provider = sim().await;
    let gateway = started(&store, &provider.url()).await;
    let id = say(&gateway.url(), &TEXTS).await;
    gateway.shutdown().await;
    damage(&store);
    let repaired = history_sqlite::repair(&store).expect("a repair");
    assert_eq!(repaired.gaps, 1);

    let gateway = started(&store, &provider.url()).await;
    check(&gateway.url(), &id, true).await;
    gateway.shutdown().await;
    // Another start, after which nothing was asked: the list of gaps is in the file.
    let gateway = started(&store, &provider.url()).await;
    let mut more = TEXTS.to_vec();
    more.extend(["D'accord.", "One more."]);
    assert_eq!(say(&gateway.url(), &more).await, id);
    check(&gateway.url(), &id, false).await;
    gateway.shutdown().await;
}
