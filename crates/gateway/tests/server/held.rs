//! Tests of a store that another process holds.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use gateway::metrics::Failure;
use history::{Engine, HistoryError, Limits, Tenant};
use history_sqlite::Sqlite;
use http::Request;
use serde_json::json;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};
use wire::api::{self, Dialect};

use crate::harness::{anthropic, ask, keeping, sim, whole};

/// The number of conversations.
const MANY: usize = 6;

/// The longest that an answer takes, though the store is waited for.
const ANSWER: Duration = Duration::from_secs(1);

/// The longest that a shutdown waits for a store: once for what is under way, and once for what is left.
const SHUTDOWN: Duration = Duration::from_secs(11);

/// Another process that has begun to write, and does not end.
struct Other {
    release: mpsc::Sender<()>,
    holds: JoinHandle<Result<(), HistoryError>>,
}

impl Other {
    fn holding(file: &Path) -> Self {
        let (begun, begins) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let other = Sqlite::open(file, Limits::NONE).expect("the same store");
        let holds = spawn_blocking(move || {
            other.write(Tenant::ANONYMOUS, &mut |_| {
                let _ = begun.send(());
                let _ = released.recv();
                Ok(())
            })
        });
        begins.recv().expect("it has begun");
        Self { release, holds }
    }

    /// Ends it, which had not ended before.
    async fn ends(self) {
        assert!(!self.holds.is_finished());
        self.release.send(()).expect("it waits");
        self.holds.await.expect("it ends").expect("it writes");
    }
}

fn body(messages: &[serde_json::Value]) -> String {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_waits_for_it_and_nothing_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("history.db");
    let engine = Arc::new(Sqlite::open(&file, Limits::NONE).expect("a store"));
    let secret = engine.secret().expect("a secret");
    let sim = sim().await;
    let gateway = keeping(engine, &sim.url(), |_| {}).await;
    let url = gateway.url();
    // The first request of a process waits for the vocabulary, too.
    let first = body(&[json!({"role": "user", "content": "hello"})]);
    ask(anthropic(&url, "/v1/messages", first)).await;
    let other = Other::holding(&file);
    let mut said = vec![Vec::new(); MANY];
    for round in 0..3 {
        for (number, messages) in said.iter_mut().enumerate() {
            let words = format!("conversation {number}, round {round}");
            messages.push(json!({"role": "user", "content": words}));
            let begun = Instant::now();
            let came = ask(anthropic(&url, "/v1/messages", body(messages))).await;
            assert_eq!(came.status, 200, "{came:?}");
            let took = begun.elapsed();
            assert!(
                took < ANSWER,
                "round {round}, conversation {number}: {took:?}"
            );
            let answer = came.json()["content"].clone();
            messages.push(json!({"role": "assistant", "content": answer}));
        }
    }
    // All of these answers have ended while the store was held, and are kept later.
    assert!(gateway.metrics().failures(Failure::StoringInTime) > 0);
    let health = Request::get(format!("{url}/ebbtide/health")).body(whole(""));
    let health = ask(health.expect("a request")).await;
    assert_eq!(health.json()["status"], "degraded", "{health:?}");
    assert_eq!(health.json()["store"], "failing", "{health:?}");
    other.ends().await;
    gateway.shutdown().await;

    let engine = Sqlite::open(&file, Limits::NONE).expect("a store");
    let tenant = Tenant::of(&secret, b"key-of-a-test");
    for messages in &said {
        let body = body(messages);
        let request = api::Request::parse(Dialect::Anthropic, body.as_bytes()).expect("a request");
        let turns = request.turns(&context::Heuristic);
        let mut known = 0;
        let read = engine.read(tenant, &mut |store| {
            known = store.known(&turns)?;
            Ok(())
        });
        read.expect("it reads");
        assert_eq!(known, turns.len(), "{body}");
    }
    sim.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_waits_for_it_some_seconds_and_no_longer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("history.db");
    let engine = Arc::new(Sqlite::open(&file, Limits::NONE).expect("a store"));
    let sim = sim().await;
    let gateway = keeping(engine, &sim.url(), |_| {}).await;
    let other = Other::holding(&file);
    for number in 0..MANY {
        let said = json!({"role": "user", "content": format!("conversation {number}")});
        let came = ask(anthropic(&gateway.url(), "/v1/messages", body(&[said]))).await;
        assert_eq!(came.status, 200, "{came:?}");
    }
    let ended = timeout(SHUTDOWN, gateway.shutdown()).await;
    assert!(ended.is_ok(), "it waits for longer");
    other.ends().await;
    sim.shutdown().await;
}
