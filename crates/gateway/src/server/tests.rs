//! Tests of panics in the inner half, which a client must not notice.

use std::sync::Arc;

use bytes::Bytes;
use history::{Limits, MemoryEngine};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use tokio::net::TcpListener;

use super::guard::Stage;
use super::{Gateway, Running, State, start};
use crate::config::{Config, Upstreams};

fn now() -> Timestamp {
    Timestamp::from_second(1_790_000_000).unwrap()
}

async fn gateway(upstream: &str, fail_at: Option<Stage>) -> Running {
    let gateway = Gateway {
        config: Config {
            upstream: Upstreams {
                anthropic: upstream.to_owned(),
                openai: upstream.to_owned(),
                ..Upstreams::default()
            },
            ..Config::default()
        },
        engine: Arc::new(MemoryEngine::new([7; 32], Limits::default())),
        clock: Arc::new(now),
    };
    let mut state = State::new(gateway).unwrap();
    state.fail_at = fail_at;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    start(listener, state).unwrap()
}

/// The status, what was done, and the body.
async fn ask(url: &str, body: &'static str) -> (u16, String, Bytes) {
    let request = Request::post(format!("{url}/v1/messages"))
        .header("x-api-key", "k")
        .header("anthropic-version", "2023-06-01")
        .body(Full::new(Bytes::from_static(body.as_bytes())))
        .unwrap();
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let (head, answer) = client.request(request).await.unwrap().into_parts();
    let did = head.headers.get("x-ebbtide-did");
    let did = did.map_or("", |did| did.to_str().unwrap()).to_owned();
    let body = answer.collect().await.unwrap().to_bytes();
    (head.status.as_u16(), did, body)
}

const GOOD: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
const REFUSED: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[]}"#;

/// Removes the ids that differ between answers.
fn steady(body: &Bytes) -> String {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let words = text
        .split('"')
        .filter(|word| !word.starts_with("msg_") && !word.starts_with("req_"));
    words.collect()
}

async fn check(stage: Stage, body: &'static str, failure: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let sim = sim::serve(listener, sim::Config::default(), Arc::new(now), None).unwrap();
    let sound = gateway(&sim.url(), None).await;
    let broken = gateway(&sim.url(), Some(stage)).await;
    let direct = ask(&sim.url(), body).await;
    let through = ask(&sound.url(), body).await;
    let spite = ask(&broken.url(), body).await;
    assert_eq!(
        (direct.0, steady(&direct.2)),
        (through.0, steady(&through.2))
    );
    assert_eq!(
        (direct.0, steady(&direct.2)),
        (spite.0, steady(&spite.2)),
        "{stage:?}"
    );
    let metrics = broken.metrics().render();
    let counted = format!("ebbtide_failures_total{{at=\"{failure}\"}} 1\n");
    assert!(metrics.contains(&counted), "{stage:?}: {metrics}");
    assert!(!sound.metrics().render().contains("ebbtide_failures_total{"));
    if stage == Stage::Arrived {
        assert_eq!(spite.1, "failed");
    }
    sound.shutdown().await;
    broken.shutdown().await;
    sim.shutdown().await;
}

#[tokio::test]
async fn a_panic_changes_nothing_for_the_client() {
    check(Stage::Arrived, GOOD, "deciding").await;
    check(Stage::Refused, REFUSED, "deciding").await;
    check(Stage::Answered, GOOD, "watching").await;
    check(Stage::Piece, GOOD, "watching").await;
    check(Stage::Finished, GOOD, "keeping").await;
}
