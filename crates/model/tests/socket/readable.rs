//! Summaries by our template: alongside, apart, in chunks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use context::summary::{Defect, Field, Summary, is_summary, parted, validate};
use context::{Text, Tokens};
use history::Route;
use model::{Client, Made, Manner, Order, Restart, Routes, Shows, Writer, readable, summarise};
use sim::{Config, Fault, Running, When};
use wire::api::Dialect;

use crate::stage::{
    KEY, agent, agent_by_items, client, endpoint, messages, provider, routes, sent,
};

/// A valid summary within its budget, with a ledger.
#[track_caller]
fn check(made: &Made, order: &Order, manner: Manner) {
    assert_eq!(made.route, Route::Readable, "{:?}", made.fallen);
    assert_eq!(made.course.manner, manner);
    assert!(is_summary(&made.text));
    let mut defects = validate(&made.text, order.source_tokens(), &*order.counter);
    // A heading without entries is left out.
    defects.retain(|it| !matches!(it, Defect::MissingHeading(_)));
    assert_eq!(defects, []);
    assert!(order.counter.count(parted(&made.text).1) <= order.budget);
    let summary = Summary::parse(&made.text).summary;
    assert_eq!(summary.replaced.turns, order.old.len());
    assert_eq!(summary.entries(Field::Ledger).len(), made.course.ledger);
}

/// The tokens that the provider read from its cache for this key.
fn cache_read(running: &Running) -> Tokens {
    let accounts = running.provider().accounts(KEY);
    accounts.iter().map(|(_, it)| it.used.cache_read).sum()
}

#[tokio::test]
async fn alongside_reads_what_the_sent_request_wrote() {
    let running = provider(Config::default()).await;
    let body = agent(messages(8));
    let (sent, mut order) = sent(Dialect::Anthropic, &running.url(), &body, 4);
    order.pins = vec![Text::from("Never touch src/generated.rs.")];
    let client = client();
    let first = client.reply(&sent.endpoint, sent.body.clone(), Restart::Never);
    let wrote = first.await.unwrap().reply.usage.counts.cache_write;
    assert!(wrote > Tokens::new(512));
    assert_eq!(cache_read(&running), Tokens::ZERO);

    let routes = Routes {
        alongside: Some(sent),
        ..routes(Route::Readable)
    };
    let made = readable(&client, &order, &routes).await.unwrap();
    check(&made, &order, Manner::Alongside);
    assert_eq!(made.course.asked, 1);
    assert!(made.course.ledger > 0);
    // All that the request wrote was read, and nothing else.
    assert_eq!(cache_read(&running), wrote);
    assert_eq!(made.spent[0].used.cache_read, wrote);
    assert!(made.spent[0].used.fresh < Tokens::new(2_000));
}

#[tokio::test]
async fn other_dialects_are_asked_alongside_too() {
    let running = provider(Config::default()).await;
    let by_items = agent_by_items(8);
    let turns = |list: &str, body: &serde_json::Value| {
        let mut chat = serde_json::json!({"model": "gpt-5", "stream": true});
        chat["tools"] = serde_json::json!([{"type": "function", "function": {"name": "read"}}]);
        chat["max_tokens"] = serde_json::json!(50);
        let bytes = Bytes::from(body.to_string());
        let request = wire::api::Request::parse(Dialect::Responses, &bytes).unwrap();
        let turns = request.turns(&context::Heuristic);
        let whole = wire::api::Conversation::from_turns(Dialect::Chat, &turns);
        chat[list] = serde_json::from_str(&whole.list()).unwrap();
        chat
    };
    let chat = turns("messages", &by_items);
    for (dialect, body) in [(Dialect::Responses, by_items), (Dialect::Chat, chat)] {
        let (sent, order) = sent(dialect, &running.url(), &body, 2);
        let routes = Routes {
            alongside: Some(sent),
            ..routes(Route::Readable)
        };
        let made = readable(&client(), &order, &routes).await.unwrap();
        check(&made, &order, Manner::Alongside);
    }
}

/// Routes to one writer, that is no party to the conversation.
fn apart(running: &Running, dialect: Dialect, model: &str, window: u64) -> Routes {
    let writer = Writer::new(endpoint(dialect, &running.url()), model);
    Routes {
        apart: Some(writer.with_window(Tokens::new(window))),
        ..routes(Route::Readable)
    }
}

#[tokio::test]
async fn another_model_writes_from_a_transcript() {
    let running = provider(Config::default()).await;
    let body = agent(messages(8));
    let (_, order) = sent(Dialect::Anthropic, &running.url(), &body, 4);
    for (dialect, model) in [
        (Dialect::Anthropic, "claude-haiku-4-5"),
        (Dialect::Chat, "gpt-5-mini"),
        (Dialect::Responses, "gpt-5-mini"),
    ] {
        let routes = apart(&running, dialect, model, 100_000);
        let made = readable(&client(), &order, &routes).await.unwrap();
        check(&made, &order, Manner::Apart);
        assert_eq!(made.spent[0].model, model);
    }
}

#[tokio::test]
async fn what_cannot_be_asked_alongside_is_asked_apart() {
    let running = provider(Config::default()).await;
    let body = agent(messages(8));
    let (sent, order) = sent(Dialect::Anthropic, &running.url(), &body, 4);
    let check_apart = async |sent| {
        let routes = Routes {
            alongside: Some(sent),
            ..apart(&running, Dialect::Anthropic, "claude-opus-5-5", 100_000)
        };
        let made = readable(&client(), &order, &routes).await.unwrap();
        check(&made, &order, Manner::Apart);
    };
    let mut part = sent.clone();
    part.shows = Shows::Part;
    check_apart(part).await;
    let mut full = sent.clone();
    full.window = full.tokens;
    check_apart(full).await;
    let mut unknown = sent;
    unknown.endpoint = endpoint(Dialect::Anthropic, "http://127.0.0.1:1");
    check_apart(unknown).await;
}

/// The outcome of a chain that begins with a readable summary, under these faults.
async fn struck(faults: &[Fault]) -> (Made, Order) {
    struck_in(faults, Tokens::new(1_500)).await
}

/// The same, with a summary of this size.
async fn struck_in(faults: &[Fault], budget: Tokens) -> (Made, Order) {
    let running = provider(Config::default()).await;
    for fault in faults {
        running.provider().inject(When::Summary, fault.clone());
    }
    let body = agent(messages(8));
    let (sent, mut order) = sent(Dialect::Anthropic, &running.url(), &body, 4);
    order.budget = budget;
    let routes = Routes {
        alongside: Some(sent),
        ..routes(Route::Readable)
    };
    (summarise(&client(), &order, &routes).await.unwrap(), order)
}

#[tokio::test]
async fn a_summary_with_defects_is_asked_for_once_more() {
    for fault in [Fault::SummaryGarbage, Fault::SummaryEmpty] {
        // The scripted summary quotes both questions, and has to say enough beside them.
        let (made, order) = struck_in(&[fault], Tokens::new(1_800)).await;
        check(&made, &order, Manner::Alongside);
        assert_eq!(made.course.asked, 2);
        assert_eq!(made.spent[0].requests, 2);
    }
}

#[tokio::test]
async fn a_summary_that_stays_useless_gives_way_to_the_extractive_one() {
    for fault in [Fault::SummaryGarbage, Fault::SummaryEmpty] {
        let (made, order) = struck(&[fault.clone(), fault]).await;
        assert_eq!(made.route, Route::Extractive);
        assert_eq!(made.fallen.len(), 1);
        assert!(matches!(
            made.fallen[0].error,
            model::ModelError::NoHeadings { .. }
        ));
        assert_eq!(made.spent[0].requests, 2, "what failed was paid too");
        assert!(order.counter.count(parted(&made.text).1) <= order.budget);
    }
}

#[tokio::test]
async fn what_passes_is_waited_out() {
    let late = Fault::SummaryLate(Duration::from_millis(50));
    for fault in [Fault::Cut(4), Fault::Reset, Fault::Internal, late] {
        let (made, order) = struck(&[fault]).await;
        check(&made, &order, Manner::Alongside);
        assert_eq!(made.course.asked, 1);
    }
}

#[tokio::test]
async fn a_long_source_is_summed_up_in_chunks_and_only_once() {
    let running = provider(Config::default()).await;
    let body = agent(messages(120));
    let (_, order) = sent(Dialect::Anthropic, &running.url(), &body, 0);
    let routes = apart(&running, Dialect::Anthropic, "claude-haiku-4-5", 16_000);
    let client = client();
    let made = readable(&client, &order, &routes).await.unwrap();
    check(&made, &order, Manner::InChunks);
    assert!(made.course.chunks_made > 3, "{:?}", made.course);
    assert_eq!(made.course.chunks_kept, 0);

    let again = readable(&client, &order, &routes).await.unwrap();
    assert_eq!(again.course.chunks_made, 0);
    assert_eq!(again.course.chunks_kept, made.course.chunks_made);
    assert_eq!(again.spent[0].requests, 1, "only the last step");
    assert_eq!(again.text, made.text);

    // A conversation that grew: only what is new is read.
    let body = agent(messages(130));
    let (_, longer) = sent(Dialect::Anthropic, &running.url(), &body, 0);
    let grown = readable(&client, &longer, &routes).await.unwrap();
    assert!(grown.course.chunks_kept >= made.course.chunks_made - 2);
    assert!(grown.course.chunks_made <= 3);
}

/// A provider whose window has 32,000 tokens, and a conversation about so many files.
async fn in_a_small_window(files: usize) -> (Running, model::Sent, Order) {
    let config = Config {
        window: Some(Tokens::new(32_000)),
        ..Config::default()
    };
    let running = provider(config).await;
    let body = agent(messages(files));
    let (mut sent, order) = sent(Dialect::Anthropic, &running.url(), &body, 2);
    sent.window = Tokens::new(32_000);
    (running, sent, order)
}

#[tokio::test]
async fn a_small_window_is_asked_alongside_with_the_room_that_is_left() {
    let (running, sent, order) = in_a_small_window(30).await;
    // More than the window without the room for reasoning that is asked for where it is there.
    assert!(sent.tokens > Tokens::new(32_000 - 8_000));
    let routes = Routes {
        alongside: Some(sent),
        ..apart(&running, Dialect::Anthropic, "claude-opus-5-5", 32_000)
    };
    let made = readable(&client(), &order, &routes).await.unwrap();
    check(&made, &order, Manner::Alongside);
    assert_eq!(running.provider().total().summaries, 1);
}

#[tokio::test]
async fn a_source_that_fits_a_smaller_reserve_takes_one_call() {
    let (running, _, order) = in_a_small_window(36).await;
    let routes = apart(&running, Dialect::Anthropic, "claude-opus-5-5", 32_000);
    let made = readable(&client(), &order, &routes).await.unwrap();
    check(&made, &order, Manner::Apart);
    assert_eq!(running.provider().total().summaries, 1);
}

#[tokio::test]
async fn a_source_is_divided_if_the_smaller_reserve_was_too_small() {
    let (running, _, order) = in_a_small_window(36).await;
    running
        .provider()
        .inject(When::Summary, Fault::SummaryGarbage);
    let routes = apart(&running, Dialect::Anthropic, "claude-opus-5-5", 32_000);
    let made = readable(&client(), &order, &routes).await.unwrap();
    check(&made, &order, Manner::InChunks);
    assert_eq!(running.provider().total().summaries, 1 + 3);
}

#[tokio::test]
async fn a_summary_that_is_broken_off_keeps_its_chunks() {
    let running = provider(Config::default()).await;
    let body = agent(messages(120));
    let (_, order) = sent(Dialect::Anthropic, &running.url(), &body, 0);
    let routes = apart(&running, Dialect::Anthropic, "claude-haiku-4-5", 16_000);
    let client = Client::default();
    let whole = summarise(&client, &order, &routes);
    let done = async {
        while running.provider().total().summaries < 4 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        made = whole => panic!("too fast: {made:?}"),
        () = done => {}
    }
    let made = readable(&client, &order, &routes).await.unwrap();
    assert!(made.course.chunks_kept > 0, "{:?}", made.course);
}

#[tokio::test]
async fn nothing_shows_keys_or_what_was_said() {
    let running = provider(Config::default()).await;
    let body = agent(messages(8));
    let (sent, order) = sent(Dialect::Anthropic, &running.url(), &body, 4);
    let routes = Routes {
        native: Some(sent.clone()),
        alongside: Some(sent),
        chunks: Arc::new(model::ChunksInMemory::default()),
        ..apart(&running, Dialect::Anthropic, "claude-haiku-4-5", 16_000)
    };
    let made = summarise(&client(), &order, &routes).await.unwrap();
    let shown = format!("{order:?} {routes:?} {made:?}");
    for secret in [KEY, "4711", "handler_0", "You repair"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}
