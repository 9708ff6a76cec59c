//! Tests of what is recorded, and of the log when the store fails.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use history::{
    Engine, HistoryError, Limits, MemoryEngine, Purge, Purged, ReadWork, Store, Tenant, WriteWork,
};
use http::{Request, Response};

use crate::harness::{Came, anthropic, ask, gateway, keeping, sim, upstream, whole};

async fn get(url: &str, path: &str) -> Came {
    let request = Request::get(format!("{url}{path}")).body(whole(""));
    ask(request.expect("a request")).await
}

/// A store that is full for one tenant until its flag is set.
struct Short(MemoryEngine, AtomicBool);

impl Engine for Short {
    fn secret(&self) -> Result<[u8; 32], HistoryError> {
        self.0.secret()
    }

    fn tenants(&self) -> Result<Vec<Tenant>, HistoryError> {
        self.0.tenants()
    }

    fn write(&self, of: Tenant, work: &mut WriteWork<'_>) -> Result<(), HistoryError> {
        match of == owner() && !self.1.load(Ordering::Relaxed) {
            true => Err(HistoryError::NoSpace),
            false => self.0.write(of, work),
        }
    }

    fn read(&self, of: Tenant, work: &mut ReadWork<'_>) -> Result<(), HistoryError> {
        self.0.read(of, work)
    }

    fn purge(&self, what: Purge) -> Result<Purged, HistoryError> {
        self.0.purge(what)
    }

    fn preview(&self, what: Purge) -> Result<Purged, HistoryError> {
        self.0.preview(what)
    }
}

/// The tenant of these tests' requests.
fn owner() -> Tenant {
    Tenant::of(&[7; 32], b"key-of-a-test")
}

const SAID: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"hello"}]}"#;

#[tokio::test]
async fn health_knows_that_the_newest_turns_were_not_kept() {
    let sim = sim().await;
    let memory = MemoryEngine::new([7; 32], Limits::NONE);
    let store = Arc::new(Short(memory, AtomicBool::new(false)));
    let kept: Arc<dyn Engine> = Arc::<Short>::clone(&store);
    let gateway = keeping(kept, &sim.url(), |_| {}).await;
    let url = gateway.url();
    for (has_room, expected) in [(false, "degraded"), (true, "ok")] {
        store.1.store(has_room, Ordering::Relaxed);
        let came = ask(anthropic(&url, "/v1/messages", SAID)).await;
        assert_eq!(came.status, 200, "{came:?}");
        let health = get(&url, "/ebbtide/health").await;
        assert_eq!(health.json()["status"], expected, "{health:?}");
    }
    gateway.shutdown().await;
    sim.shutdown().await;
}

const ANSWER: &str = r#"{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":1}}"#;

#[tokio::test]
async fn what_is_refused_is_not_kept() {
    let engine = Arc::new(MemoryEngine::new([7; 32], Limits::NONE));
    let refuses = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&refuses);
    let upstream = upstream(move |_| {
        let status = match asked.load(Ordering::Relaxed) {
            true => 401,
            false => 200,
        };
        async move {
            Response::builder()
                .status(status)
                .header("content-type", "application/json")
                .body(whole(ANSWER))
                .expect("an answer")
        }
    })
    .await;
    let kept: Arc<dyn Engine> = Arc::<MemoryEngine>::clone(&engine);
    let gateway = keeping(kept, &upstream.url, |_| {}).await;
    let url = gateway.url();
    let told = async || {
        let overview = get(&url, "/ebbtide/api/overview").await;
        let list = overview.json()["conversations"].as_array().map(Vec::len);
        list.expect("a list")
    };
    let status = async |body: &str| {
        let came = ask(anthropic(&url, "/v1/messages", body.to_owned())).await;
        came.status.as_u16()
    };
    assert_eq!(status(SAID).await, 401);
    assert_eq!(told().await, 0);
    assert_eq!(engine.tenants().expect("tenants"), []);
    refuses.store(false, Ordering::Relaxed);
    assert_eq!(status(SAID).await, 200, "the same again, and answered");
    assert_eq!(told().await, 1);
    refuses.store(true, Ordering::Relaxed);
    assert_eq!(status(&SAID.replace("hello", "goodbye")).await, 401);
    gateway.shutdown().await;
    let mut turns = Vec::new();
    let mut look = |store: &dyn Store| {
        for record in store.conversations(jiff::Timestamp::MAX, 9)? {
            turns.push(store.path(record.head)?.len());
        }
        Ok(())
    };
    engine.read(owner(), &mut look).expect("a store");
    assert_eq!(turns, [1], "what was answered, and nothing else");
}

/// The captured log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("a log").clone()).expect("text")
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("a log").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_says_of_an_answer_that_it_came_whole_and_once_that_the_store_fails() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // The writing thread logs too.
    tracing::subscriber::set_global_default(subscriber).expect("no other");
    let sim = sim().await;
    let memory = MemoryEngine::new([7; 32], Limits::NONE);
    let store = Arc::new(Short(memory, AtomicBool::new(false)));
    let kept: Arc<dyn Engine> = Arc::<Short>::clone(&store);
    let gateway = keeping(kept, &sim.url(), |_| {}).await;
    let url = gateway.url();
    let streamed = SAID.replacen('{', r#"{"stream":true,"#, 1);
    for body in [SAID, &streamed, SAID] {
        let came = ask(anthropic(&url, "/v1/messages", body.to_owned())).await;
        assert_eq!(came.status, 200, "{came:?}");
    }
    gateway.shutdown().await;
    sim.shutdown().await;
    let text = log.text();
    let count = |what: &str| text.matches(what).count();
    assert_eq!(
        (count("whole=true"), count("whole=false")),
        (3, 0),
        "{text}"
    );
    assert_eq!(count("the store fails"), 1, "{text}");
    assert!(!text.contains("hello") && !text.contains("key-of-a-test"));
}

#[tokio::test]
async fn a_thread_is_refused_where_it_is_counted_as_where_it_goes_on() {
    let gateway = gateway("http://127.0.0.1:9", |_| {}).await;
    let threaded = SAID.replacen('{', r#"{"thread":{"id":"t"},"#, 1);
    for path in ["/v1/messages", "/v1/messages/count_tokens"] {
        let came = ask(anthropic(&gateway.url(), path, threaded.clone())).await;
        assert_eq!(came.status, 400, "{path} {came:?}");
        assert_eq!(came.header("x-ebbtide-did"), "refused");
    }
    gateway.shutdown().await;
}
