//! Tests of the hosts that requests may name, and of the pages that may send them, on paths that are forwarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gateway::config::Config;
use http::Response;

use crate::harness::{Came, Upstream, anthropic, ask, gateway, openai, upstream, whole};

/// A model server on this machine, which counts what reaches it.
async fn local_model() -> (Upstream, Arc<AtomicUsize>) {
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    let upstream = upstream(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Response::new(whole("{}")) }
    })
    .await;
    (upstream, reached)
}

/// Sends requests with these headers to paths of each kind. The answers.
async fn send_all(
    change: impl FnOnce(&mut Config),
    headers: &[(&str, &str)],
) -> (Vec<Came>, usize) {
    let (model, reached) = local_model().await;
    let gateway = gateway(&model.url, change).await;
    let url = gateway.url();
    let mut answers = Vec::new();
    for mut request in [
        anthropic(&url, "/v1/messages", "{}"),
        openai(&url, "/v1/chat/completions", "{}"),
        openai(&url, "/v1/files", "x"),
        http::Request::get(format!("{url}/v1/models"))
            .body(whole(""))
            .expect("a request"),
    ] {
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().expect("a name");
            let value = value.parse().expect("a value");
            request.headers_mut().insert(name, value);
        }
        answers.push(ask(request).await);
    }
    gateway.shutdown().await;
    (answers, reached.load(Ordering::Relaxed))
}

async fn check_refused(headers: &[(&str, &str)]) {
    let (answers, reached) = send_all(|_| {}, headers).await;
    assert_eq!(reached, 0, "{headers:?}");
    for came in answers {
        assert_eq!(came.status, 403, "{headers:?} {came:?}");
        assert_eq!(came.header("x-ebbtide-error"), "E0824");
        let message = came.json()["error"]["message"].to_string();
        assert!(
            message.contains("`hosts`") && message.contains("`origins`"),
            "{message}"
        );
    }
}

async fn check_admitted(change: impl FnOnce(&mut Config), headers: &[(&str, &str)]) {
    let (answers, reached) = send_all(change, headers).await;
    assert_eq!((answers.len(), reached), (4, 4), "{headers:?} {answers:?}");
}

#[tokio::test]
async fn a_name_that_somebody_else_points_here_is_refused() {
    check_refused(&[("host", "evil.example:4000")]).await;
    check_refused(&[("host", "evil.example"), ("origin", "http://evil.example")]).await;
    check_admitted(|_| {}, &[("host", "localhost:4000")]).await;
    let box_lan = |config: &mut Config| config.sites.hosts = vec!["box.lan".to_owned()];
    check_admitted(box_lan, &[("host", "box.lan:4000")]).await;
}

#[tokio::test]
async fn a_page_of_another_site_is_refused() {
    check_refused(&[("origin", "https://elsewhere.example")]).await;
    check_refused(&[("sec-fetch-site", "cross-site")]).await;
    let page = ("origin", "http://localhost:3000");
    check_refused(&[page, ("sec-fetch-site", "same-site")]).await;
    let own = [
        ("host", "localhost:4000"),
        ("origin", "http://localhost:4000"),
    ];
    check_admitted(|_| {}, &own).await;
    let origins = |config: &mut Config| config.sites.origins = vec![page.1.to_owned()];
    check_admitted(origins, &[page, ("sec-fetch-site", "same-site")]).await;
}
