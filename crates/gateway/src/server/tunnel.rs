//! WebSockets to endpoints that are not inspected: bytes pass in both directions.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use crate::server::exchange::Exchange;
use crate::server::refusal::{Reason, whole};
use crate::server::{Body, headers, proxy, relay};
use conversation::words::Did;

/// Returns true if a request asks for a WebSocket. Answering as if it had not declines any other protocol that
/// a client offers, such as `h2c` (RFC 9110, section 7.8).
pub(super) fn is_asked_for(parts: &Parts) -> bool {
    let offers = parts.headers.get_all(header::UPGRADE).iter();
    let mut offers = offers
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    parts.method == Method::GET
        && offers.any(|offer| offer.trim().eq_ignore_ascii_case("websocket"))
}

/// Forwards the request for a WebSocket, and joins both connections if the provider agrees.
pub(super) async fn open(mut exchange: Exchange, parts: Parts) -> Response<Body> {
    exchange.did(&[Did::Passed]);
    match ask(&mut exchange, &parts).await {
        Ok(answer) => join(exchange, parts, answer).await,
        Err(reason) => proxy::refuse(&mut exchange, reason),
    }
}

type Answer = Response<Incoming>;

async fn ask(exchange: &mut Exchange, parts: &Parts) -> Result<Answer, Reason> {
    exchange.places.request = Some(exchange.state.gate.request()?);
    let protocol = parts.headers.get(header::UPGRADE).cloned();
    let mut sent = parts.headers.clone();
    headers::for_upstream(&mut sent);
    if let Some(protocol) = protocol {
        sent.insert(header::UPGRADE, protocol);
        sent.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    proxy::dispatch(exchange, parts, sent, whole(Bytes::new())).await
}

/// Joins the connections if the provider agreed; otherwise returns its refusal.
async fn join(mut exchange: Exchange, mut parts: Parts, mut answer: Answer) -> Response<Body> {
    let client = parts.extensions.remove::<OnUpgrade>();
    let (StatusCode::SWITCHING_PROTOCOLS, Some(client)) = (answer.status(), client) else {
        return relay::relay(relay::Answer::of(answer), exchange).await;
    };
    let provider = hyper::upgrade::on(&mut answer);
    let (mut head, _) = answer.into_parts();
    headers::remove_ours(&mut head.headers);
    exchange.answered(head.status.as_u16(), &mut head.headers);
    let state = Arc::clone(&exchange.state);
    let stop = state.stop.clone();
    state.tunnels.spawn(async move {
        let (Ok(client), Ok(provider)) = tokio::join!(client, provider) else {
            return;
        };
        let (mut client, mut provider) = (TokioIo::new(client), TokioIo::new(provider));
        tokio::select! {
                    copied = copy_bidirectional(&mut client, &mut provider) => {
                        if let Ok((up, down)) = copied {
                            exchange.received(usize::try_from(up).unwrap_or(usize::MAX));
                            exchange.sent(usize::try_from(down).unwrap_or(usize::MAX));
        exchange.complete();
                        }
                    }
                    () = stop.cancelled() => {}
                }
    });
    Response::from_parts(head, whole(Bytes::new()))
}
