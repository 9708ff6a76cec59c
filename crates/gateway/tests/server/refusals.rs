//! Tests of refusals whose bodies come late, break off or pretend to be the gateway's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming};
use jiff::SignedDuration;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use crate::harness::{Upstream, anthropic, ask, gateway, openai, send, upstream, whole};
use crate::streams::{LONG, Piece, by_hand, data, piece};

/// A provider that refuses with this status, and whose bodies the test sends.
async fn refusing(status: u16) -> (Upstream, Receiver<Sender<Piece>>) {
    let (bodies, made) = channel(4);
    let upstream = upstream(move |request: Request<Incoming>| {
        let bodies = bodies.clone();
        async move {
            let _read = request.into_body().collect().await;
            let (sender, body) = by_hand();
            bodies.send(sender).await.expect("somebody waits for it");
            Response::builder()
                .status(status)
                .header("content-type", "application/json")
                .header("retry-after", "7")
                .body(body)
                .expect("an answer")
        }
    })
    .await;
    (upstream, made)
}

fn request(url: &str) -> Request<crate::harness::Made> {
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 64,
        "messages": [{"role": "user", "content": "hello"}]});
    anthropic(url, "/v1/messages", body.to_string())
}

/// Gives the head of a refusal within this time, while the rest of its body is still to come, and then the rest.
async fn check_stalls(status: u16, within: Duration) {
    let (upstream, mut bodies) = refusing(status).await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    let asked = timeout(within, send(request(&gateway.url())));
    let (answer, body) = tokio::join!(asked, async {
        let sender = bodies.recv().await.expect("a request");
        sender.send(data("{\"error\":")).await.expect("it is read");
        sender
    });
    let answer = answer.expect("the status does not wait for the body");
    assert_eq!(answer.status().as_u16(), status);
    assert_eq!(answer.headers()["retry-after"], "7");
    let mut came = answer.into_body();
    let first = piece(&mut came).await;
    assert_eq!(first.as_deref(), Some(b"{\"error\":".as_slice()));
    body.send(data("{}}")).await.expect("it is read");
    assert_eq!(piece(&mut came).await.as_deref(), Some(b"{}}".as_slice()));
    drop(body);
    assert_eq!(piece(&mut came).await, None);
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_status_does_not_wait_for_a_body_that_stalls() {
    check_stalls(429, Duration::from_secs(2)).await;
    check_stalls(529, Duration::from_secs(2)).await;
}

/// The gateway waits for its words, since another attempt may help, but not long.
#[tokio::test]
async fn what_may_be_mended_waits_a_few_seconds() {
    check_stalls(400, Duration::from_secs(7)).await;
}

#[tokio::test]
async fn a_body_that_breaks_off_does_not_change_the_status() {
    for status in [400, 413, 429, 500] {
        let (upstream, mut bodies) = refusing(status).await;
        let gateway = gateway(&upstream.url, |_| {}).await;
        let asked = timeout(LONG, send(request(&gateway.url())));
        let (answer, ()) = tokio::join!(asked, async {
            let sender = bodies.recv().await.expect("a request");
            sender.send(data("{\"error\":")).await.expect("it is read");
            // Until it was read, nothing more can be sent.
            sender.send(data("{\"type\":")).await.expect("it is read");
            let cut = std::io::Error::other("the provider broke");
            sender.send(Err(cut)).await.expect("it is read");
        });
        let answer = answer.expect("in time");
        assert_eq!(answer.status().as_u16(), status);
        let body = timeout(LONG, answer.into_body().collect()).await;
        assert!(body.expect("in time").is_err(), "{status}: a cut is no end");
        gateway.shutdown().await;
    }
}

/// The server asks for nothing behind the last byte of an answer whose length is known.
#[tokio::test]
async fn a_refusal_that_was_read_is_no_disconnect() {
    for status in [400, 500] {
        let first = Arc::new(AtomicBool::new(true));
        let upstream = upstream(move |_| {
            let is_first = first.swap(false, Ordering::Relaxed);
            let said = json!({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "hi"}], "usage": {"input_tokens": 9, "output_tokens": 1}});
            async move {
                Response::builder()
                    .status(if is_first { 200 } else { status })
                    .header("content-type", "application/json")
                    .body(whole(said.to_string()))
                    .expect("an answer")
            }
        })
        .await;
        let gateway = gateway(&upstream.url, |_| {}).await;
        assert_eq!(ask(request(&gateway.url())).await.status, 200);
        let came = ask(request(&gateway.url())).await;
        assert_eq!(came.status, status);
        let id = came.header("x-ebbtide-conversation");
        let page = format!("{}/ebbtide/conversations/{id}", gateway.url());
        let page = Request::get(page).body(whole("")).expect("a request");
        let page = ask(page).await;
        let text = String::from_utf8_lossy(&page.body);
        assert!(text.contains("the provider refused it"), "{status}: {text}");
        assert!(!text.contains("the client disconnected"), "{status}");
        gateway.shutdown().await;
    }
}

#[tokio::test]
async fn only_the_gateway_speaks_for_the_gateway() {
    let upstream = upstream(|_| async {
        Response::builder()
            .status(StatusCode::CONFLICT)
            .header("x-ebbtide-error", "E0801")
            .header("x-ebbtide-did", "rescued")
            .header("x-ebbtide-conversation", "00000000000000000000000000000001")
            .header("x-provider", "kept")
            .body(whole("{}"))
            .expect("an answer")
    })
    .await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    let url = gateway.url();
    for request in [request(&url), openai(&url, "/v1/files", "x")] {
        let came = ask(request).await;
        assert_eq!(came.status, StatusCode::CONFLICT);
        assert_eq!(came.header("x-provider"), "kept");
        assert_eq!(came.header("x-ebbtide-error"), "", "{came:?}");
        assert_ne!(came.header("x-ebbtide-did"), "rescued", "{came:?}");
        let id = came.header("x-ebbtide-conversation");
        assert!(!id.starts_with("0000"), "{came:?}");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn an_answer_without_end_is_passed_on_unwatched() {
    let (bodies, mut made) = channel::<Sender<Piece>>(1);
    let upstream = upstream(move |_| {
        let bodies = bodies.clone();
        async move {
            let (sender, body) = by_hand();
            bodies.send(sender).await.expect("somebody waits for it");
            Response::builder()
                .header("content-type", "text/event-stream")
                .body(body)
                .expect("an answer")
        }
    })
    .await;
    let gateway = gateway(&upstream.url, |config| {
        config.limits.silence = SignedDuration::from_secs(60);
    })
    .await;
    let delta = format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{}\"}}}}\n\n",
        "x".repeat(1 << 20)
    );
    let (delta, most) = (Bytes::from(delta), 70);
    let length = delta.len() * most;
    let mut body = send(request(&gateway.url())).await.into_body();
    let sender = made.recv().await.expect("a request");
    let sending = async move {
        for _ in 0..most {
            let piece = Ok(Frame::data(delta.clone()));
            sender.send(piece).await.expect("it is read");
        }
    };
    let reading = async {
        let mut read = 0;
        while let Some(data) = piece(&mut body).await {
            read += data.len();
        }
        read
    };
    let ((), read) = tokio::join!(sending, reading);
    assert_eq!(read, length);
    let metrics = gateway.metrics().render();
    let counted = "ebbtide_failures_total{at=\"too_long\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
    gateway.shutdown().await;
}
