//! Tests of what is forwarded unchanged.

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::harness::{Came, Made, anthropic, ask, gateway, openai, sim, upstream, whole};

const MESSAGES: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"hello"}]}"#;
const STREAMED: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
const CHAT: &str = r#"{"model":"gpt-5","messages":[{"role":"user","content":"hello"}]}"#;
const RESPONSES: &str = r#"{"model":"gpt-5","input":"hello"}"#;

/// Removes what differs between answers.
fn steady(came: &Came) -> (u16, usize) {
    (came.status.as_u16(), came.body.len())
}

#[tokio::test]
async fn the_provider_answers_through_the_gateway_as_without_it() {
    let sim = sim().await;
    let gateway = gateway(&sim.url(), |_| {}).await;
    for (path, body) in [
        ("/v1/messages", MESSAGES),
        ("/v1/messages?beta=true", STREAMED),
        ("/v1/messages/count_tokens", MESSAGES),
        ("/v1/messages", "{"),
    ] {
        let through = ask(anthropic(&gateway.url(), path, body)).await;
        let direct = ask(anthropic(&sim.url(), path, body)).await;
        assert_eq!(steady(&through), steady(&direct), "{path} {through:?}");
        assert_eq!(
            through.header("content-type"),
            direct.header("content-type")
        );
        assert_ne!(through.header("x-ebbtide-did"), "");
    }
    for (path, body) in [("/v1/chat/completions", CHAT), ("/v1/responses", RESPONSES)] {
        let through = ask(openai(&gateway.url(), path, body)).await;
        assert_eq!(through.status, 200, "{path} {through:?}");
    }
    let metrics = gateway.metrics().render();
    assert!(
        metrics.contains(r#"ebbtide_requests_total{endpoint="messages",status="200"} 2"#),
        "{metrics}"
    );
    gateway.shutdown().await;
    sim.shutdown().await;
}

/// Answers with a description of the request.
async fn mirror(request: Request<Incoming>) -> Response<Made> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    let headers: serde_json::Map<String, serde_json::Value> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().expect("text").into()))
        .collect();
    let seen = serde_json::json!({
        "line": format!("{} {}", parts.method, parts.uri),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
    });
    Response::builder()
        .status(418)
        .header("x-of-the-provider", "kept")
        .header("connection", "x-hop")
        .header("x-hop", "of the connection")
        .body(whole(seen.to_string()))
        .expect("an answer")
}

#[tokio::test]
async fn headers_query_and_body_arrive_as_they_were_sent() {
    let upstream = upstream(mirror).await;
    let gateway = gateway(&format!("{}/base", upstream.url), |_| {}).await;
    let odd = "{\"model\" : \"unheard-of\",\r\n \"messages\":[ ], \"new\": 1e2}";
    for path in ["/v1/messages?beta=true&x=%2F", "/v1/files?purpose=a%20b"] {
        let mut request = anthropic(&gateway.url(), path, odd);
        let headers = request.headers_mut();
        headers.insert(
            "anthropic-beta",
            "never-seen-2031-01-01".parse().expect("a value"),
        );
        headers.insert("x-ebbtide-session", "mine".parse().expect("a value"));
        headers.insert("accept-encoding", "gzip".parse().expect("a value"));
        let came = ask(request).await;
        assert_eq!(came.status, 418);
        assert_eq!(came.header("x-of-the-provider"), "kept");
        assert_eq!(came.header("x-hop"), "");
        assert_eq!(came.header("x-ebbtide-did"), "passed");
        let seen = came.json();
        assert_eq!(seen["line"], format!("POST /base{path}"));
        assert_eq!(seen["body"], odd);
        let headers = &seen["headers"];
        assert_eq!(headers["anthropic-beta"], "never-seen-2031-01-01");
        assert_eq!(headers["x-api-key"], "key-of-a-test");
        assert_eq!(headers["content-length"], odd.len().to_string());
        assert_eq!(headers["host"], upstream.url.trim_start_matches("http://"));
        assert_eq!(headers["x-ebbtide-session"], serde_json::Value::Null);
        let read = path.starts_with("/v1/messages");
        assert_eq!(
            headers["accept-encoding"],
            if read { "identity" } else { "gzip" }
        );
    }
}

#[tokio::test]
async fn base_urls_may_end_with_a_slash() {
    let sim = sim().await;
    let gateway = gateway(&sim.url(), |_| {}).await;
    let url = gateway.url();
    for (base, path, body) in [
        ("/", "/v1/messages", MESSAGES),
        ("/v1/", "/v1/messages", MESSAGES),
        ("/", "/v1/messages/count_tokens", MESSAGES),
    ] {
        let came = ask(anthropic(&format!("{url}{base}"), path, body)).await;
        assert_eq!(came.status, 200, "{base}{path} {came:?}");
        assert_ne!(came.header("x-ebbtide-did"), "");
    }
    for (base, path, body) in [
        ("/v1/", "/chat/completions", CHAT),
        ("/v1//", "/responses", RESPONSES),
    ] {
        let came = ask(openai(&format!("{url}{base}"), path, body)).await;
        assert_eq!(came.status, 200, "{base}{path} {came:?}");
        assert_ne!(came.header("x-ebbtide-conversation"), "");
    }
    let health = Request::get(format!("{url}//ebbtide/health"));
    let health = ask(health.body(whole("")).expect("a request")).await;
    assert_eq!(health.status, 200, "{health:?}");
    gateway.shutdown().await;
    sim.shutdown().await;
}

#[tokio::test]
async fn the_base_url_itself_answers() {
    // Nothing listens there: the gateway answers by itself.
    let gateway = gateway("http://127.0.0.1:9", |_| {}).await;
    for path in ["", "/", "//", "/?x=1"] {
        let request = Request::head(format!("{}{path}", gateway.url()));
        let came = ask(request.body(whole("")).expect("a request")).await;
        assert_eq!(came.status, 200, "{path} {came:?}");
        assert!(came.body.is_empty());
    }
    gateway.shutdown().await;
}
