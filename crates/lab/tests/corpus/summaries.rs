//! Summaries of real sessions, written by the strict provider's models over a real socket.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use context::summary::{Defect, is_summary, parted, validate};
use context::{Heuristic, Text, Tokens, Turn};
use history::Route;
use model::{
    ChunksInMemory, Client, Endpoint, Made, Manner, ModelError, Order, Restart, Routes, Sent,
    Shows, Writer, native, readable,
};
use sim::{Config, Running, serve};
use tokio::net::TcpListener;
use wire::api::{Conversation, Dialect, Request};
use wire::session::load;

use crate::locate::corpus;

const MODEL: &str = "claude-opus-5-5";

async fn provider() -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let clock = Arc::new(|| jiff::Timestamp::UNIX_EPOCH);
    serve(listener, Config::default(), clock, None).unwrap()
}

fn endpoint(running: &Running) -> Endpoint {
    let endpoint = Endpoint::new(Dialect::Anthropic, &running.url()).unwrap();
    endpoint.with_key("key").unwrap()
}

fn session(folder: &Path, file: &str) -> Vec<Turn> {
    let bytes = std::fs::read(folder.join(file)).unwrap();
    let document = load(&bytes, "session", &Heuristic).unwrap();
    document.sessions[0].turns.clone()
}

/// The conversation as an agent's request, with a breakpoint on its newest block.
fn request(turns: &[Turn]) -> Bytes {
    let conversation = Conversation::from_turns(Dialect::Anthropic, turns);
    let body = conversation.body(MODEL, Some(4_000));
    let mut body: serde_json::Value = serde_json::from_str(&body).unwrap();
    let messages = body["messages"].as_array_mut().unwrap();
    // A request ends with what the agent answers to.
    while messages.last().unwrap()["role"] == "assistant" {
        messages.pop();
    }
    let last = messages.last_mut().unwrap();
    let block = last["content"].as_array_mut().unwrap().last_mut().unwrap();
    block["cache_control"] = serde_json::json!({"type": "ephemeral"});
    Bytes::from(body.to_string())
}

fn order(mut old: Vec<Turn>, tail: usize) -> Order {
    let tail = old.split_off(old.len() - tail);
    Order {
        old: old.into(),
        tail: tail.into(),
        pins: vec![Text::from("never push to main")],
        budget: Tokens::new(4_000),
        words: Tokens::new(2_000),
        standing: Tokens::new(4_000),
        instructions: None,
        counter: tokens::counter_for(MODEL),
        model: MODEL.to_owned(),
    }
}

#[track_caller]
fn check(made: &Made, order: &Order, manner: Manner) {
    assert_eq!(made.course.manner, manner);
    assert!(is_summary(&made.text));
    let mut defects = validate(&made.text, order.source_tokens(), &*order.counter);
    // A heading without entries is left out.
    defects.retain(|it| !matches!(it, Defect::MissingHeading(_)));
    assert_eq!(defects, []);
    assert!(order.counter.count(parted(&made.text).1) <= order.budget);
    assert!(made.course.ledger > 0);
    assert!(made.course.quality.unwrap().error() < 0.5);
}

#[tokio::test]
async fn a_session_larger_than_the_summarisers_window_is_read_in_chunks_once() {
    let Some(corpus) = corpus() else { return };
    let file = "entire-cli/2026-01-13-44df7d08-6bc4-4532-bef8-167ea3797cee.jsonl";
    let running = provider().await;
    let writer = Writer::new(endpoint(&running), "claude-haiku-4-5");
    let routes = Routes {
        first: Route::Readable,
        native: None,
        alongside: None,
        apart: Some(writer.with_window(Tokens::new(64_000))),
        chunks: Arc::new(ChunksInMemory::default()),
    };
    let order = order(session(&corpus, file), 0);
    let client = Client::default();
    let made = readable(&client, &order, &routes).await.unwrap();
    check(&made, &order, Manner::InChunks);
    assert!(made.course.chunks_made > 3);
    let again = readable(&client, &order, &routes).await.unwrap();
    assert_eq!(again.course.chunks_made, 0);
    assert_eq!(again.course.chunks_kept, made.course.chunks_made);
    assert_eq!(again.spent[0].requests, 1);
    let (first, second) = (&made.spent[0].used, &again.spent[0].used);
    assert!(second.input().get() * 3 < first.input().get());
}

#[tokio::test]
async fn a_session_is_summed_up_behind_its_own_request_from_the_cache() {
    let Some(corpus) = corpus() else { return };
    let file = "entire-cli/2026-01-06-f6833005-7be4-4178-bb37-a0e9feadc36b.jsonl";
    let running = provider().await;
    let body = request(&session(&corpus, file));
    let parsed = Request::parse(Dialect::Anthropic, &body).unwrap();
    let turns = parsed.turns(&*tokens::counter_for(MODEL));
    let sent = Sent {
        endpoint: endpoint(&running),
        tokens: turns.iter().map(Turn::tokens).sum(),
        shows: Shows::Originals,
        window: Tokens::new(200_000),
        body: body.clone(),
    };
    let client = Client::default();
    let answer = client.reply(&sent.endpoint, body, Restart::Never).await;
    let answer = answer.unwrap_or_else(|error| match error {
        ModelError::Refused(refused) => panic!("{}", refused.failure.unwrap().message),
        other => panic!("{other}"),
    });
    let wrote = answer.reply.usage.counts.cache_write;
    let routes = Routes {
        first: Route::Readable,
        native: None,
        alongside: Some(sent.clone()),
        apart: None,
        chunks: Arc::new(ChunksInMemory::default()),
    };
    let order = order(turns, 2);
    let made = readable(&client, &order, &routes).await.unwrap();
    check(&made, &order, Manner::Alongside);
    assert_eq!(made.spent[0].used.cache_read, wrote);

    let whole = Order {
        old: order.old.iter().chain(&*order.tail).cloned().collect(),
        tail: Arc::new([]),
        ..order
    };
    let made = native(&client, &whole, &sent).await.unwrap();
    assert!(made.message.is_some() && !made.ledger.is_empty());
    assert_eq!(made.spent[0].used.cache_read, wrote);
}
