//! The provider's own summaries, and what comes after them where they fail.

use std::time::Duration;

use bytes::Bytes;
use context::Tokens;
use context::coded::Coded;
use history::Route;
use model::{Client, Made, ModelError, Restart, Routes, native, summarise};
use serde_json::{Value, json};
use sim::{Config, Fault, Running, When};
use wire::api::Dialect;

use crate::stage::{agent, agent_by_items, client, messages, provider, routes, sent, waiting};

#[tokio::test]
async fn a_signed_block_comes_back_so_that_the_provider_takes_it() {
    let running = provider(Config::default()).await;
    let body = agent(messages(6));
    let (sent, order) = sent(Dialect::Anthropic, &running.url(), &body, 0);
    let made = native(&client(), &order, &sent).await.unwrap();
    assert_eq!(made.route, Route::Native);
    assert!(!made.text.is_empty() && made.tokens > Tokens::ZERO);
    assert!(made.course.quality.is_some());
    assert_eq!(made.spent[0].requests, 1);
    assert!(made.spent[0].used.output > Tokens::ZERO && made.cost().get() > 0.0);

    // The block first, byte for byte, then only what came after the request.
    let mut next = body;
    let block: Value = serde_json::from_str(made.message.as_ref().unwrap()).unwrap();
    next["messages"] = json!([block, {"role": "user", "content": "go on"}]);
    let endpoint = sent.endpoint.with_beta(wire::api::beta::COMPACT);
    let body = Bytes::from(next.to_string());
    let answer = client().reply(&endpoint, body, Restart::Never).await;
    answer.unwrap();
}

#[tokio::test]
async fn a_sealed_item_comes_back_so_that_the_provider_takes_it() {
    let running = provider(Config::default()).await;
    let body = agent_by_items(6);
    let (sent, order) = sent(Dialect::Responses, &running.url(), &body, 0);
    let made = native(&client(), &order, &sent).await.unwrap();
    assert!(made.text.is_empty(), "it is sealed");
    assert!(made.tokens > Tokens::ZERO);
    assert!(!made.ledger.is_empty());

    let mut next = body;
    let item: Value = serde_json::from_str(made.message.as_ref().unwrap()).unwrap();
    next["input"] = json!([item, {"role": "user", "content": "go on"}]);
    let body = Bytes::from(next.to_string());
    let answer = client().reply(&sent.endpoint, body, Restart::Never).await;
    answer.unwrap();
}

#[tokio::test]
async fn what_a_compaction_forbids_is_taken_out() {
    let running = provider(Config::default()).await;
    let mut body = agent(messages(4));
    body["stop_sequences"] = json!(["STOP"]);
    body["tool_choice"] = json!({"type": "any"});
    body["output_config"] = json!({"effort": "high", "format": {"type": "json_schema"}});
    body["context_management"] = json!({"edits": [{"type": "clear_tool_uses_20250919"}]});
    let (sent, order) = sent(Dialect::Anthropic, &running.url(), &body, 0);
    let made = native(&client(), &order, &sent).await.unwrap();
    assert!(made.message.is_some());
}

/// The outcome of the chain when a fault strikes the first `times` requests for a summary.
async fn struck(running: &Running, fault: Fault, times: usize, by: &Client) -> Made {
    for _ in 0..times {
        running.provider().inject(When::Summary, fault.clone());
    }
    let body = agent(messages(6));
    let (sent, order) = sent(Dialect::Anthropic, &running.url(), &body, 0);
    let routes = Routes {
        native: Some(sent.clone()),
        alongside: Some(sent),
        ..routes(Route::Native)
    };
    summarise(by, &order, &routes).await.unwrap()
}

/// The route in the end, and the codes of the failures before it.
fn course(made: &Made) -> (Route, Vec<(Route, &'static str)>) {
    let fallen = made.fallen.iter();
    let codes = fallen.map(|fallen| (fallen.route, fallen.error.code().as_str()));
    (made.route, codes.collect())
}

#[tokio::test]
async fn every_fault_of_a_native_summary_has_its_consequence() {
    let check = async |fault: Fault, times, route, code: &'static str| {
        let running = provider(Config::default()).await;
        let made = struck(&running, fault.clone(), times, &client()).await;
        let fallen = match route {
            Route::Native => Vec::new(),
            _ => vec![(Route::Native, code)],
        };
        assert_eq!(course(&made), (route, fallen), "{fault:?}");
        assert!(made.tokens > Tokens::ZERO);
    };
    // Answered, but without a summary: the next route at once.
    check(Fault::SummaryEmpty, 1, Route::Readable, "E0712").await;
    check(Fault::SummaryGarbage, 1, Route::Readable, "E0714").await;
    // What passes is waited out, and after three attempts it is the next route's turn.
    for fault in [
        Fault::SummaryUnavailable,
        Fault::Internal,
        Fault::Overloaded,
        Fault::RateLimited(0),
        Fault::Reset,
        Fault::Cut(2),
    ] {
        check(fault, 2, Route::Native, "").await;
    }
    check(Fault::SummaryUnavailable, 3, Route::Readable, "E0708").await;
    check(Fault::Reset, 3, Route::Readable, "E0705").await;
    check(Fault::Cut(1), 3, Route::Readable, "E0705").await;
    check(
        Fault::SummaryLate(Duration::from_millis(50)),
        1,
        Route::Native,
        "",
    )
    .await;
}

#[tokio::test]
async fn a_summary_that_never_comes_is_not_waited_for_for_ever() {
    let running = provider(Config::default()).await;
    // The provider reads its vocabulary first; that is not to count as silence.
    struck(&running, Fault::SummaryLate(Duration::ZERO), 1, &client()).await;
    let impatient = waiting(Duration::from_millis(400));
    let made = struck(&running, Fault::SummaryNever, 9, &impatient).await;
    let fallen = vec![(Route::Native, "E0706"), (Route::Readable, "E0706")];
    assert_eq!(course(&made), (Route::Extractive, fallen));
}

#[tokio::test]
async fn requests_without_a_native_summary_are_not_sent() {
    let url = "http://127.0.0.1:1";
    let check = async |dialect, body: Value| {
        let (sent, order) = sent(dialect, url, &body, 0);
        let error = native(&client(), &order, &sent).await.unwrap_err();
        let route = Route::Native;
        assert!(
            matches!(error, ModelError::NotOpen { route: it, .. } if it == route),
            "{error}"
        );
    };
    let chat = json!({"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]});
    check(Dialect::Chat, chat).await;
    let mut own = agent(messages(1));
    own["compaction"] = json!({"type": "summarize"});
    check(Dialect::Anthropic, own).await;
    let mut held = agent_by_items(1);
    held["previous_response_id"] = json!("resp_1");
    check(Dialect::Responses, held).await;
}
