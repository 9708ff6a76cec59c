//! A session through the gateway to the strict provider, over HTTP.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use context::{Tokens, TurnId};
use gateway::Gateway;
use gateway::config::{Config, Upstreams};
use history::{Engine, Limits, MemoryEngine};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use lab::Options;
use lab::replay::Client;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use wire::api::{Dialect, Response};
use wire::session::Format;

use crate::{Held, Sent};

/// A model that the client of a format can ask, with neither compaction of its own nor a channel of its
/// own for notes.
pub const fn model(format: Format) -> &'static str {
    match format {
        Format::ClaudeCode | Format::Anthropic | Format::Pi => "claude-opus-4-5",
        Format::Codex | Format::OpenAiChat | Format::LangChain | Format::Copilot => "gpt-4o",
    }
}

/// A phrase of every prompt of ours for a summary.
const ASKS_FOR_A_RECORD: &str = "reads your record and nothing of what it replaces";

/// The header that numbers a request by the turn that answers it.
const TURN: &str = "x-test-turn";

/// The provider's log, in memory.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    headers: HashMap<String, serde_json::Value>,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// Sends the client's requests at these times.
pub fn held(client: &Client, times: &[Sent], options: &Options) -> Held {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(talk(client, times, options))
}

async fn talk(client: &Client, times: &[Sent], options: &Options) -> Held {
    let clock = Arc::new(AtomicI64::new(0));
    let ticks = Arc::clone(&clock);
    let now = move || Timestamp::from_nanosecond(ticks.load(Ordering::SeqCst).into()).unwrap();
    let now: gateway::conversations::Clock = Arc::new(now);
    let kept = Kept::default();
    let provider = sim::Config {
        window: Some(Tokens::new(1_000_000)),
        signatures: sim::Signatures::ForeignTrusted,
        ..sim::Config::default()
    };
    let log = Some(sim::Log::new(Box::new(kept.clone())));
    let listener = || TcpListener::bind("127.0.0.1:0");
    let provider = sim::serve(listener().await.unwrap(), provider, Arc::clone(&now), log).unwrap();
    let engine = Arc::new(MemoryEngine::new([7; 32], Limits::default()));
    let gateway = Gateway {
        config: config(&provider.url(), options),
        engine: Arc::clone(&engine) as Arc<dyn Engine>,
        clock: now,
    };
    let gateway = gateway::serve(listener().await.unwrap(), gateway).unwrap();
    let http: Http<HttpConnector, Full<Bytes>> = Http::builder(TokioExecutor::new()).build_http();
    let mut held = Held::default();
    let mut ordered = 0;
    for Sent { turn, at, .. } in times {
        let nanoseconds = i64::try_from(at.as_nanosecond()).unwrap();
        clock.store(nanoseconds, Ordering::SeqCst);
        let request = http::Request::post(format!("{}{}", gateway.url(), path(client.dialect())))
            .header("content-type", "application/json")
            .header("anthropic-version", "2023-06-01")
            .header("x-api-key", "sk-test")
            .header("authorization", "Bearer sk-test")
            .header(TURN, turn.to_string())
            .body(Full::from(client.body(*turn)))
            .unwrap();
        let response = http.request(request).await.unwrap();
        let status = response.status();
        let did = response.headers().get("x-ebbtide-did").cloned();
        let did = did
            .map(|did| did.to_str().unwrap().to_owned())
            .unwrap_or_default();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&body);
        assert!(status.is_success(), "turn {turn}: {status}: {text}");
        let reply = Response::parse(client.dialect(), &body).unwrap().reply();
        held.counts.insert(*turn, reply.usage.counts);
        ordered += usize::from(did.split(',').any(|word| word.trim() == "preparing"));
        settled(&gateway, ordered).await;
    }
    read_summaries(&*engine, &mut held);
    gateway.shutdown().await;
    held.sent = received(&kept, times);
    held
}

fn config(url: &str, options: &Options) -> Config {
    let mut config = Config {
        upstream: Upstreams {
            anthropic: url.to_owned(),
            openai: url.to_owned(),
            ..Upstreams::default()
        },
        ..Config::default()
    };
    config.policy.window = options.window;
    config.policy.route = options.route;
    config.policy.strategy = options.strategies.first().unwrap().clone().into();
    config
}

const fn path(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => "/v1/messages",
        Dialect::Chat => "/v1/chat/completions",
        Dialect::Responses => "/v1/responses",
    }
}

/// Returns when at least so many preparations have ended: in the lab, those of a request have ended when
/// the next one is sent.
async fn settled(gateway: &gateway::Running, preparations: usize) {
    let ended = async {
        let count = || {
            let text = gateway.metrics().render();
            let lines = text.lines();
            let lines = lines.filter_map(|line| line.strip_prefix("ebbtide_preparations_total{"));
            let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
            counts.sum::<usize>()
        };
        while count() < preparations {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(30), ended).await;
    ended.expect("a preparation ends");
}

/// The bodies that the provider received, one for each request of the client.
fn received(kept: &Kept, times: &[Sent]) -> Vec<Sent> {
    let log = kept.0.lock().unwrap();
    let log = std::str::from_utf8(&log).unwrap();
    let mut bodies: HashMap<usize, Vec<u8>> = HashMap::new();
    for line in log.lines() {
        let line: Line<'_> = serde_json::from_str(line).unwrap();
        let body = line.body.get();
        let Some(turn) = line.headers.get(TURN).and_then(|turn| turn.as_str()) else {
            continue;
        };
        if !body.contains(ASKS_FOR_A_RECORD) {
            let turn = turn.parse().unwrap();
            bodies.insert(turn, body.as_bytes().to_vec());
        }
    }
    let sent = times.iter().map(|Sent { turn, at, .. }| Sent {
        turn: *turn,
        at: *at,
        body: bodies.remove(turn).expect("it was received"),
    });
    sent.collect()
}

fn read_summaries(engine: &dyn Engine, held: &mut Held) {
    for tenant in engine.tenants().unwrap() {
        engine
            .read(tenant, &mut |store| {
                for record in store.conversations(Timestamp::MAX, 10)? {
                    let path = store.path(record.head)?;
                    let nodes: Vec<TurnId> = path.iter().map(context::Turn::id).collect();
                    for node in nodes {
                        let texts = store.marks_at(node)?;
                        let texts = texts.into_iter().map(|mark| mark.summary);
                        held.summaries.entry(node).or_default().extend(texts);
                    }
                }
                Ok(())
            })
            .unwrap();
    }
    held.summaries.retain(|_, texts| !texts.is_empty());
}
