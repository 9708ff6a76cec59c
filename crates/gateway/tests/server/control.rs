//! Tests of the routes under `/ebbtide/`.

use std::sync::Arc;

use gateway::config::Secret;
use history::conformance::sample;
use history::{
    Engine, HistoryError, Limits, MemoryEngine, Purge, Purged, ReadWork, Tenant, WriteWork,
};
use history_sqlite::Sqlite;
use http::{Method, Request};

use crate::harness::{Came, anthropic, ask, gateway, keeping, sim, whole};

const NO_ONE: &str = "/ebbtide/api/conversations/00000000000000000000000000000001";

async fn call(url: &str, line: &str, headers: &[(&str, &str)], body: &'static str) -> Came {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let mut request = Request::builder()
        .method(method.parse::<Method>().expect("a method"))
        .uri(format!("{url}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    ask(request.body(whole(body)).expect("a request")).await
}

#[track_caller]
fn check(came: &Came, status: u16, code: &str) {
    assert_eq!(came.status, status, "{came:?}");
    assert_eq!(came.json()["error"]["code"], code, "{came:?}");
    assert_ne!(came.json()["error"]["hint"], serde_json::Value::Null);
}

#[tokio::test]
async fn health_metrics_and_reports_as_json() {
    let gateway = gateway("http://127.0.0.1:9", |_| {}).await;
    let url = gateway.url();
    let health = call(&url, "GET /ebbtide/health", &[], "").await;
    assert_eq!(health.status, 200);
    assert_eq!(health.json()["status"], "ok");
    assert_eq!(health.json()["store"], "ok");
    assert_eq!(health.json()["upstreams"]["openai"], "http://127.0.0.1:9");
    assert_eq!(health.header("cache-control"), "no-store");
    let metrics = call(&url, "GET /ebbtide/metrics", &[], "").await;
    assert!(metrics.body.ends_with(b"# EOF\n"), "{metrics:?}");
    let overview = call(&url, "GET /ebbtide/api/overview", &[], "").await;
    assert_eq!(overview.status, 200);
    assert!(overview.json()["conversations"].is_array(), "{overview:?}");
    for (path, status) in [
        ("/ebbtide/", 200),
        ("/ebbtide", 303),
        ("/ebbtide/login", 200),
    ] {
        let page = call(&url, &format!("GET {path}"), &[], "").await;
        assert_eq!(page.status, status, "{path}");
        assert!(
            page.header("content-security-policy")
                .contains("frame-ancestors 'none'")
        );
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn health_writes_to_the_store_and_leaves_nothing_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("history.sqlite");
    let engine = Arc::new(Sqlite::open(&file, Limits::NONE).expect("a store"));
    let kept: Arc<dyn Engine> = Arc::<Sqlite>::clone(&engine);
    let gateway = keeping(kept, "http://127.0.0.1:9", |_| {}).await;
    let log =
        || std::fs::metadata(folder.path().join("history.sqlite-wal")).map_or(0, |it| it.len());
    let before = log();
    let health = call(&gateway.url(), "GET /ebbtide/health", &[], "").await;
    assert_eq!(health.json()["store"], "ok");
    assert!(log() > before, "nothing was written");
    assert_eq!(engine.tenants().expect("tenants"), []);
    gateway.shutdown().await;
}

#[tokio::test]
async fn health_tells_that_records_are_damaged_and_that_nothing_outlasts_the_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("history.sqlite");
    let tenant = Tenant::from_bytes([1; 16]);
    let said = sample::line(&["a question", "words that stand in one place"]);
    let engine = Sqlite::open(&file, Limits::NONE).expect("a store");
    let kept = engine.write(tenant, &mut |store| store.record(&said).map(drop));
    kept.expect("it is kept");
    engine.settle().expect("one file");
    drop(engine);
    let mut bytes = std::fs::read(&file).expect("a file");
    let words = b"words that stand in one place";
    let mut places = bytes.windows(words.len());
    let at = places.position(|it| it == words).expect("the words");
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("it is written");

    let engine = Arc::new(Sqlite::open(&file, Limits::NONE).expect("it opens"));
    let read = engine.read(tenant, &mut |store| {
        let path = store.path(sample::head(&said))?;
        assert!(path[1].is_gap(), "{path:?}");
        Ok(())
    });
    read.expect("the other turn is read");
    let gateway = keeping(engine, "http://127.0.0.1:9", |_| {}).await;
    let health = call(&gateway.url(), "GET /ebbtide/health", &[], "").await;
    assert_eq!(health.json()["status"], "degraded");
    assert_eq!(health.json()["damaged"], serde_json::json!({"turns": 1}));
    gateway.shutdown().await;

    let engine = MemoryEngine::instead_of_file([7; 32], "no space left".to_owned());
    let gateway = keeping(Arc::new(engine), "http://127.0.0.1:9", |_| {}).await;
    let health = call(&gateway.url(), "GET /ebbtide/health", &[], "").await;
    assert_eq!(health.json()["status"], "degraded");
    assert_eq!(health.json()["instead_of_file"], "no space left");
    gateway.shutdown().await;
}

/// A read-only store.
struct Full(MemoryEngine);

impl Engine for Full {
    fn secret(&self) -> Result<[u8; 32], HistoryError> {
        self.0.secret()
    }

    fn tenants(&self) -> Result<Vec<Tenant>, HistoryError> {
        self.0.tenants()
    }

    fn write(&self, _: Tenant, _: &mut WriteWork<'_>) -> Result<(), HistoryError> {
        let what = "the disk is full".to_owned();
        Err(HistoryError::Engine { what })
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

#[tokio::test]
async fn a_store_that_can_not_be_written_is_told_and_requests_go_through() {
    let sim = sim().await;
    let full = Arc::new(Full(MemoryEngine::new([7; 32], Limits::default())));
    let gateway = keeping(full, &sim.url(), |_| {}).await;
    let health = call(&gateway.url(), "GET /ebbtide/health", &[], "").await;
    assert_eq!(health.status, 200);
    assert_eq!(health.json()["status"], "degraded");
    assert_eq!(health.json()["store"], "failing");
    let body = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"hello"}]}"#;
    let came = ask(anthropic(&gateway.url(), "/v1/messages", body)).await;
    assert_eq!(came.status, 200, "{came:?}");
    gateway.shutdown().await;
    sim.shutdown().await;
}

#[tokio::test]
async fn what_is_not_there_or_not_understood() {
    let gateway = gateway("http://127.0.0.1:9", |_| {}).await;
    let url = gateway.url();
    let on = |path: &str| format!("{NO_ONE}{path}");
    for line in [
        format!("GET {NO_ONE}"),
        format!("POST {}", on("/prepare")),
        format!("POST {}", on("/swap")),
        format!("DELETE {}", on("/pins/0123abcd")),
        "GET /ebbtide/api/conversations/zz".to_owned(),
    ] {
        check(&call(&url, &line, &[], "").await, 404, "E0820");
    }
    let pins = format!("POST {}", on("/pins"));
    check(
        &call(&url, &pins, &[], r#"{"text":"x"}"#).await,
        404,
        "E0820",
    );
    check(
        &call(&url, &pins, &[], r#"{"txt":"x"}"#).await,
        400,
        "E0825",
    );
    check(
        &call(&url, &format!("DELETE {}", on("/pins/x")), &[], "").await,
        400,
        "E0825",
    );
    for query in ["from=-1", "count=x"] {
        let line = format!("GET {}?{query}", on("/marks/0123abcd"));
        check(&call(&url, &line, &[], "").await, 400, "E0825");
    }
    check(
        &call(&url, "GET /ebbtide/api/nothing", &[], "").await,
        404,
        "E0826",
    );
    for (line, allowed) in [
        ("PUT /ebbtide/api/overview", "GET,HEAD"),
        ("GET /ebbtide/api/conversations/x/pins", "POST"),
        ("POST /ebbtide/health", "GET,HEAD"),
    ] {
        let came = call(&url, line, &[], "").await;
        check(&came, 405, "E0830");
        assert_eq!(came.header("allow"), allowed, "{line}");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_browser_at_the_root_gets_the_dashboard() {
    let gateway = gateway("http://127.0.0.1:9", |_| {}).await;
    let accept = [("accept", "text/html,application/xhtml+xml")];
    let came = call(&gateway.url(), "GET /", &accept, "").await;
    assert_eq!(came.status, 303);
    assert_eq!(came.header("location"), "/ebbtide/");
    // All else is the provider's.
    assert_eq!(call(&gateway.url(), "GET /", &[], "").await.status, 502);
    gateway.shutdown().await;
}

#[tokio::test]
async fn who_may_ask() {
    let gateway = gateway("http://127.0.0.1:9", |config| {
        config.admin_token = Some(Secret::new("the-token"));
    })
    .await;
    let url = gateway.url();
    let bearer = ("authorization", "Bearer the-token");
    let overview = "GET /ebbtide/api/overview";
    check(&call(&url, overview, &[], "").await, 401, "E0823");
    assert_eq!(call(&url, overview, &[bearer], "").await.status, 200);
    assert_eq!(
        call(&url, overview, &[("x-api-key", "k")], "").await.status,
        200
    );
    let metrics = "GET /ebbtide/metrics";
    check(
        &call(&url, metrics, &[("x-api-key", "k")], "").await,
        401,
        "E0823",
    );
    assert_eq!(call(&url, metrics, &[bearer], "").await.status, 200);
    assert_eq!(call(&url, "GET /ebbtide/health", &[], "").await.status, 200);
    let foreign = [bearer, ("origin", "https://elsewhere.example")];
    let swap = format!("POST {NO_ONE}/swap");
    check(&call(&url, &swap, &foreign, "").await, 403, "E0824");
    gateway.shutdown().await;
}
