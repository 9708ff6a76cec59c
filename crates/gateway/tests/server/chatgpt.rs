//! Clients that are signed in with a ChatGPT plan, as Codex can be. No test asks a real service.

use std::sync::{Arc, Mutex};

use gateway::Running;
use gateway::config::{Config, Upstreams};
use http::{HeaderValue, Method, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;

use crate::harness::{Made, Upstream, ask, gateway, openai, upstream, whole};

/// The requests: line, account and credentials.
type Asked = Arc<Mutex<Vec<[String; 3]>>>;

/// A server that answers every request and records its line and headers.
async fn server() -> (Upstream, Asked) {
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let upstream = upstream(move |request: Request<Incoming>| {
        let seen = Arc::clone(&seen);
        async move {
            let (parts, body) = request.into_parts();
            body.collect().await.expect("a body");
            let header = |name| {
                let value = parts.headers.get(name);
                value.map_or("", |value: &HeaderValue| value.to_str().expect("text"))
            };
            let line = format!("{} {}", parts.method, parts.uri);
            let headers = [header("chatgpt-account-id"), header("authorization")];
            let headers = headers.map(str::to_owned);
            let [account, key] = headers;
            seen.lock().expect("a list").push([line, account, key]);
            let answer = json!({"id": "r", "object": "response", "status": "completed",
                "model": "gpt-5.5", "output": [],
                "usage": {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}});
            Response::builder()
                .header("content-type", "application/json")
                .body(whole(answer.to_string()))
                .expect("an answer")
        }
    })
    .await;
    (upstream, asked)
}

/// A request as Codex sends it.
fn signed_in(url: &str, (method, path): (Method, &str)) -> Request<Made> {
    let body = json!({"model": "gpt-5.5", "input": [{"role": "user", "content": "hello"}],
        "store": false});
    let body = match method {
        Method::POST => body.to_string(),
        _ => String::new(),
    };
    let mut request = openai(url, path, body);
    *request.method_mut() = method;
    let account = HeaderValue::from_static("account-1");
    request.headers_mut().insert("chatgpt-account-id", account);
    request
}

/// A gateway whose OpenAI upstream is the usual one, and `chatgpt` the server.
async fn before(server: &Upstream, change: impl FnOnce(&mut Config)) -> Running {
    let base = format!("{}/backend-api/codex", server.url);
    gateway(&server.url, |config| {
        config.upstream.openai = Upstreams::default().openai;
        config.upstream.chatgpt = Some(base);
        change(config);
    })
    .await
}

#[tokio::test]
async fn every_request_with_an_account_goes_to_chatgpt_without_a_version() {
    let (server, asked) = server().await;
    let gateway = before(&server, |_| {}).await;
    let (post, get) = (Method::POST, Method::GET);
    for (method, path, arrives) in [
        (&post, "/v1/responses", "/responses"),
        (&post, "/responses", "/responses"),
        (&post, "/v1/responses/compact", "/responses/compact"),
        (
            &get,
            "/v1/models?client_version=1",
            "/models?client_version=1",
        ),
        (&post, "/v1/alpha/search", "/alpha/search"),
        (&get, "/v1beta/x", "/v1beta/x"),
    ] {
        let came = ask(signed_in(&gateway.url(), (method.clone(), path))).await;
        assert_eq!(came.status, 200, "{path}: {came:?}");
        let newest = asked.lock().expect("a list").pop();
        let line = format!("{method} /backend-api/codex{arrives}");
        let headers = ["account-1", "Bearer key-of-a-test"].map(str::to_owned);
        let [account, key] = headers;
        assert_eq!(newest, Some([line, account, key]), "{path}");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn another_upstream_or_dialect_takes_them_as_they_come() {
    let (server, asked) = server().await;
    let url = server.url.clone();
    let changes: [&dyn Fn(&mut Config); 2] =
        [&|config| config.upstream.openai = url.clone(), &|config| {
            config.upstream.openai = url.clone();
            config.upstream.chatgpt = None;
        }];
    for change in changes {
        let gateway = before(&server, change).await;
        let post = (Method::POST, "/v1/responses");
        let came = ask(signed_in(&gateway.url(), post)).await;
        assert_eq!(came.status, 200, "{came:?}");
        let newest = asked.lock().expect("a list").pop().expect("a request");
        assert_eq!(newest[0], "POST /v1/responses");
        gateway.shutdown().await;
    }
}
