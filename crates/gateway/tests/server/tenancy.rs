//! Tests of the tenant of a request, and of the servers that see its key.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use context::Tokens;
use gateway::Running;
use gateway::config::{Config, Secret, Summariser, Tenancy};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::harness::{Came, Made, Upstream, ask, gateway, upstream, whole};

const LONG: Duration = Duration::from_secs(20);

/// A request to a provider: the target, and the key in `api-key` or `authorization`.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

/// A provider that answers every request with a word and records the requests.
async fn provider() -> (Upstream, Asked) {
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let upstream = upstream(move |request: Request<Incoming>| {
        let seen = Arc::clone(&seen);
        async move {
            let (parts, body) = request.into_parts();
            let key = parts.headers.get("api-key");
            let key = key.or(parts.headers.get("authorization"));
            let key = key.map_or("", |key| key.to_str().expect("text")).to_owned();
            let bytes = body.collect().await.expect("a body").to_bytes().len();
            seen.lock()
                .expect("a list")
                .push((parts.uri.to_string(), key));
            Response::builder()
                .header("content-type", "application/json")
                .body(whole(word(bytes / 4)))
                .expect("an answer")
        }
    })
    .await;
    (upstream, asked)
}

fn word(prompt: usize) -> Bytes {
    let answer = json!({
        "id": "c", "object": "chat.completion", "model": "gpt-5",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "ok"},
        }],
        "usage": {"prompt_tokens": prompt, "completion_tokens": 1, "total_tokens": prompt + 1},
    });
    answer.to_string().into()
}

const DEPLOYED: &str = "/openai/deployments/gpt-5/chat/completions?api-version=2025-01-01";

fn chat(url: &str, messages: &[Value], headers: &[(&str, &str)]) -> Request<Made> {
    let body = json!({"model": "gpt-5", "messages": messages}).to_string();
    let mut request = Request::post(format!("{url}{DEPLOYED}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(whole(body)).expect("a request")
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[tokio::test]
async fn a_conversation_is_its_tenants_whatever_header_the_key_stands_in() {
    let (upstream, _asked) = provider().await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    let ok = json!({"role": "assistant", "content": "ok"});
    let conversation = async |messages: &[Value], headers: &[(&str, &str)]| {
        let came = ask(chat(&gateway.url(), messages, headers)).await;
        assert_eq!(came.status, 200, "{came:?}");
        came.header("x-ebbtide-conversation").to_owned()
    };
    for name in ["api-key", "x-goog-api-key", "ocp-apim-subscription-key"] {
        let first = [user(name)];
        let more = [user(name), ok.clone(), user("who am I?")];
        let one = conversation(&first, &[(name, "of-one")]).await;
        assert_eq!(
            conversation(&more, &[(name, "of-one")]).await,
            one,
            "{name}"
        );
        let other = conversation(&more, &[(name, "of-another")]).await;
        assert_ne!(other, one, "{name}");
        let both = [(name, "of-one"), ("authorization", "Bearer of-another")];
        assert_ne!(conversation(&more, &both).await, one, "{name}");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn what_nobody_sent_is_not_read_from_elsewhere() {
    let (upstream, _asked) = provider().await;
    let gateway = gateway(&upstream.url, |config| {
        config.tenant_header = Some("x-ebbtide-tenant".parse().expect("a name"));
    })
    .await;
    let said = async |headers: &[(&str, &str)]| -> Came {
        let came = ask(chat(&gateway.url(), &[user("hello")], headers)).await;
        assert_eq!(came.status, 200, "{came:?}");
        came
    };
    let here = said(&[]).await;
    assert_ne!(here.header("x-ebbtide-conversation"), "");
    let elsewhere = ("x-forwarded-for", "192.0.2.7");
    for unknown in [vec![elsewhere], vec![elsewhere, ("x-secret", "k")]] {
        let came = said(&unknown).await;
        assert_eq!(came.header("x-ebbtide-did"), "passed");
        assert_eq!(came.header("x-ebbtide-conversation"), "");
    }
    // A tenant name keeps a conversation together while the key changes.
    let named = |key| {
        [
            elsewhere,
            ("x-ebbtide-tenant", "alice"),
            ("authorization", key),
        ]
    };
    let first = said(&named("Bearer one")).await;
    let second = said(&named("Bearer two")).await;
    let id = "x-ebbtide-conversation";
    assert_eq!(first.header(id), second.header(id));
    assert_ne!(first.header(id), here.header(id));
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_renewed_login_on_ones_own_machine_keeps_the_conversation() {
    let (upstream, _asked) = provider().await;
    let gateway = gateway(&upstream.url, |config| config.tenants = Tenancy::Auto).await;
    let said = async |messages: &[Value], headers: &[(&str, &str)]| {
        let came = ask(chat(&gateway.url(), messages, headers)).await;
        assert_eq!(came.status, 200, "{came:?}");
        came.header("x-ebbtide-conversation").to_owned()
    };
    let ok = json!({"role": "assistant", "content": "ok"});
    let first = said(&[user("hello")], &[("authorization", "Bearer one")]).await;
    let more = [user("hello"), ok, user("and now?")];
    assert_eq!(said(&more, &[("authorization", "Bearer two")]).await, first);
    // What a proxy forwards is not this machine's user.
    let forwarded = [
        ("authorization", "Bearer one"),
        ("x-forwarded-for", "192.0.2.7"),
    ];
    assert_ne!(said(&more, &forwarded).await, first);
    gateway.shutdown().await;
}

#[tokio::test]
async fn an_admin_token_separates_the_keys() {
    let (upstream, _asked) = provider().await;
    let gateway = gateway(&upstream.url, |config| {
        config.tenants = Tenancy::Auto;
        config.admin_token = Some(Secret::new("0123456789abcdef"));
    })
    .await;
    let mut ids = Vec::new();
    for key in ["Bearer one", "Bearer two"] {
        let came = ask(chat(
            &gateway.url(),
            &[user("hello")],
            &[("authorization", key)],
        ))
        .await;
        ids.push(came.header("x-ebbtide-conversation").to_owned());
    }
    assert_ne!(ids[0], ids[1]);
    gateway.shutdown().await;
}

/// Talks through the gateway until a preparation ended. Returns the number of requests.
async fn talk(gateway: &Running) -> usize {
    let mut messages = Vec::new();
    let prepared = async {
        for turn in 0.. {
            let text = format!("turn {turn}: {}", "a word and another one, ".repeat(60));
            messages.push(user(&text));
            let key = ("api-key", "of-the-agent");
            let came = ask(chat(&gateway.url(), &messages, &[key])).await;
            assert_eq!(came.status, 200, "{came:?}");
            messages.push(json!({"role": "assistant", "content": "ok"}));
            let metrics = gateway.metrics().render();
            if metrics.contains("ebbtide_preparations_total{") {
                return turn + 1;
            }
            sleep(Duration::from_millis(20)).await;
        }
        0
    };
    timeout(LONG, prepared).await.expect("a preparation ends")
}

fn small(config: &mut Config) {
    config.policy.window = Some(Tokens::new(8_000));
}

#[tokio::test]
async fn a_summary_is_asked_for_where_the_agent_asks() {
    let (upstream, asked) = provider().await;
    let gateway = gateway(&upstream.url, small).await;
    let requests = talk(&gateway).await;
    gateway.shutdown().await;
    let asked = asked.lock().expect("a list");
    assert!(asked.len() > requests, "no summary was asked for");
    let own = (DEPLOYED.to_owned(), "of-the-agent".to_owned());
    assert!(asked.iter().all(|one| *one == own), "{asked:?}");
}

#[tokio::test]
async fn an_agents_key_goes_to_no_other_server() {
    for (key, expected) in [(None, None), (Some("its-own"), Some("Bearer its-own"))] {
        let (agents, _asked) = provider().await;
        let (writers, asked) = provider().await;
        let url = writers.url.clone();
        let gateway = gateway(&agents.url, |config| {
            small(config);
            config.policy.summariser = Some(Summariser {
                model: "gpt-5-mini".to_owned(),
                url: Some(url),
                dialect: None,
                key: key.map(Secret::new),
            });
        })
        .await;
        talk(&gateway).await;
        gateway.shutdown().await;
        let asked = asked.lock().expect("a list");
        assert_eq!(asked.is_empty(), expected.is_none(), "{asked:?}");
        for (target, sent) in asked.iter() {
            assert_eq!(target, "/v1/chat/completions");
            assert_eq!(Some(sent.as_str()), expected);
        }
    }
}
