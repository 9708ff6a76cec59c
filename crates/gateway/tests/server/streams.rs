//! Tests of streamed bodies in both directions.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use crate::harness::{Made, Upstream, anthropic, ask, gateway, openai, send, upstream, whole};

pub const LONG: Duration = Duration::from_secs(20);

pub type Piece = Result<Frame<Bytes>, std::io::Error>;

pub fn data(text: &'static str) -> Piece {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

/// A body whose pieces the test sends.
pub fn by_hand() -> (Sender<Piece>, Made) {
    let (sender, receiver) = channel(1);
    let pieces =
        futures_util::stream::unfold(receiver, |mut receiver: Receiver<Piece>| async move {
            Some((receiver.recv().await?, receiver))
        });
    (sender, BodyExt::boxed(StreamBody::new(pieces)))
}

/// A provider that streams what the test sends; returns the sender of each body.
pub async fn streaming() -> (Upstream, Receiver<Sender<Piece>>) {
    let (bodies, made) = channel(4);
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
    (upstream, made)
}

pub async fn piece(body: &mut Incoming) -> Option<Bytes> {
    let frame = timeout(LONG, body.frame()).await.expect("in time")?;
    frame.ok()?.into_data().ok()
}

const STREAMED: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":64,"stream":true,"messages":[{"role":"user","content":"hello"}]}"#;

#[tokio::test]
async fn each_piece_of_an_answer_goes_on_as_it_comes() {
    let (upstream, mut bodies) = streaming().await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    for request in [
        anthropic(&gateway.url(), "/v1/messages", STREAMED),
        openai(&gateway.url(), "/v1/chat/completions", "not JSON"),
        openai(&gateway.url(), "/v1/anything", "x"),
    ] {
        let mut body = send(request).await.into_body();
        let sender = bodies.recv().await.expect("a request");
        for text in [
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            ": comment\n\n",
            "data: hal",
            "f\n\n",
        ] {
            sender.send(data(text)).await.expect("it is read");
            // Nothing else was sent, so the gateway cannot have waited for it.
            assert_eq!(piece(&mut body).await.as_deref(), Some(text.as_bytes()));
        }
        drop(sender);
        assert_eq!(piece(&mut body).await, None);
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_client_that_goes_away_ends_it_for_the_provider() {
    let (upstream, mut bodies) = streaming().await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    let mut body = send(anthropic(&gateway.url(), "/v1/messages", STREAMED))
        .await
        .into_body();
    let sender = bodies.recv().await.expect("a request");
    sender.send(data("data: 1\n\n")).await.expect("it is read");
    assert!(piece(&mut body).await.is_some());
    drop(body);
    timeout(LONG, sender.closed())
        .await
        .expect("nobody reads it any more");
    gateway.shutdown().await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_breaks_off_for_the_client() {
    let (upstream, mut bodies) = streaming().await;
    let gateway = gateway(&upstream.url, |config| {
        config.limits.silence = jiff::SignedDuration::from_millis(300);
    })
    .await;
    for fault in ["cut", "silence"] {
        let request = anthropic(&gateway.url(), "/v1/messages", STREAMED);
        let mut body = send(request).await.into_body();
        let sender = bodies.recv().await.expect("a request");
        sender.send(data("data: 1\n\n")).await.expect("it is read");
        assert!(piece(&mut body).await.is_some());
        if fault == "cut" {
            let cut = std::io::Error::other("the provider broke");
            sender.send(Err(cut)).await.expect("it is read");
        }
        let end = timeout(LONG, body.frame()).await.expect("in time");
        assert!(matches!(end, Some(Err(_))), "{fault}: a cut is no end");
    }
    gateway.shutdown().await;
}

#[tokio::test]
async fn what_is_not_looked_into_is_sent_on_as_it_comes() {
    let (seen, mut pieces) = channel::<Bytes>(1);
    let upstream = upstream(move |request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            let mut body = request.into_body();
            while let Some(data) = piece(&mut body).await {
                seen.send(data).await.expect("somebody waits for it");
            }
            Response::new(whole("done"))
        }
    })
    .await;
    let gateway = gateway(&upstream.url, |config| config.limits.body = 8).await;
    let (sender, body) = by_hand();
    let request = Request::post(format!("{}/v1/files", gateway.url()))
        .body(body)
        .expect("a request");
    let mut sending = tokio::task::JoinSet::new();
    sending.spawn(ask(request));
    for text in ["the first", "and the second, longer than what is read"] {
        sender.send(data(text)).await.expect("it is read");
        let came = timeout(LONG, pieces.recv()).await.expect("in time");
        assert_eq!(came.as_deref(), Some(text.as_bytes()));
    }
    drop(sender);
    let came = sending
        .join_next()
        .await
        .expect("it ends")
        .expect("it ends well");
    assert_eq!(came.body, "done");
    gateway.shutdown().await;
}

#[tokio::test]
async fn a_stream_that_is_open_ends_before_the_gateway_does() {
    let (upstream, mut bodies) = streaming().await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    let url = gateway.url();
    let mut body = send(anthropic(&url, "/v1/messages", STREAMED))
        .await
        .into_body();
    let sender = bodies.recv().await.expect("a request");
    sender.send(data("data: 1\n\n")).await.expect("it is read");
    assert!(piece(&mut body).await.is_some());
    let mut ending = tokio::task::JoinSet::new();
    ending.spawn(gateway.shutdown());
    sender.send(data("data: 2\n\n")).await.expect("it is read");
    assert_eq!(
        piece(&mut body).await.as_deref(),
        Some(b"data: 2\n\n".as_slice())
    );
    assert!(ending.try_join_next().is_none(), "it waits");
    drop(sender);
    assert_eq!(piece(&mut body).await, None);
    timeout(LONG, ending.join_next())
        .await
        .expect("then it ends");
}

#[tokio::test]
async fn http2_without_tls() {
    let upstream = upstream(|_| async { Response::new(whole("over one connection")) }).await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    let client: Client<_, Made> = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    for _ in 0..3 {
        let request = anthropic(&gateway.url(), "/v1/messages", STREAMED);
        let answer = client.request(request).await.expect("an answer");
        assert_eq!(answer.version(), http::Version::HTTP_2);
        let body = answer.into_body().collect().await.expect("a body");
        assert_eq!(body.to_bytes(), "over one connection");
    }
    drop(client);
    gateway.shutdown().await;
}

/// Agrees to an upgrade, and echoes in upper case.
async fn shouting(mut request: Request<Incoming>) -> Response<Made> {
    let agreed = request
        .headers()
        .get("upgrade")
        .is_some_and(|to| to == "websocket");
    let upgrade = hyper::upgrade::on(&mut request);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let mut stream = TokioIo::new(upgrade.await.expect("an upgrade"));
        let mut text = [0; 5];
        stream.read_exact(&mut text).await.expect("five bytes");
        text.make_ascii_uppercase();
        stream.write_all(&text).await.expect("it takes them");
    });
    tasks.detach_all();
    Response::builder()
        .status(if agreed {
            StatusCode::SWITCHING_PROTOCOLS
        } else {
            StatusCode::BAD_REQUEST
        })
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .body(whole(""))
        .expect("an answer")
}

#[tokio::test]
async fn a_websocket_goes_through_both_ways() {
    let upstream = upstream(shouting).await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    let request = Request::get(format!("{}/v1/realtime?model=m", gateway.url()))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .body(whole(""))
        .expect("a request");
    let mut answer = send(request).await;
    assert_eq!(answer.status(), 101);
    assert_eq!(answer.headers()["upgrade"], "websocket");
    let mut stream = TokioIo::new(hyper::upgrade::on(&mut answer).await.expect("an upgrade"));
    stream.write_all(b"hello").await.expect("it takes them");
    let mut text = [0; 5];
    timeout(LONG, stream.read_exact(&mut text))
        .await
        .expect("in time")
        .expect("five bytes");
    assert_eq!(&text, b"HELLO");
    drop(stream);
    gateway.shutdown().await;
}

/// Sends a request with an offer to upgrade to HTTP/2, as Java's client and `curl --http2` do.
fn offering_http2(url: &str, path: &str) -> Request<Made> {
    let mut request = anthropic(url, path, STREAMED);
    let headers = request.headers_mut();
    let offers = [
        ("connection", "Upgrade, HTTP2-Settings"),
        ("upgrade", "h2c"),
        ("http2-settings", "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA"),
    ];
    for (name, value) in offers {
        headers.insert(name, value.parse().expect("a value"));
    }
    request
}

#[tokio::test]
async fn an_offer_of_another_protocol_is_declined_and_the_request_answered() {
    let upstream = upstream(|request: Request<Incoming>| async move {
        let offered = ["upgrade", "http2-settings", "connection"]
            .iter()
            .any(|name| request.headers().contains_key(*name));
        let body = request.into_body().collect().await.expect("a body");
        let whole_body = body.to_bytes() == STREAMED;
        let said = format!("offered {offered}, whole {whole_body}");
        Response::new(whole(said))
    })
    .await;
    let gateway = gateway(&upstream.url, |_| {}).await;
    // At an inspected and at a forwarded endpoint.
    for path in ["/v1/messages", "/v1/embeddings"] {
        let came = ask(offering_http2(&gateway.url(), path)).await;
        assert_eq!(came.status, 200, "{path} {came:?}");
        assert_eq!(came.body, "offered false, whole true", "{path}");
    }
    gateway.shutdown().await;
}
