//! The life of one request.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, stream};
use history::Tenant;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

use crate::conversations::{Arrival, Endpoint, Outgoing, Remedy, Ticket, Verdict};
use crate::metrics::Failure;
use crate::server::access::is_here;
use crate::server::control::Peer;
use crate::server::credentials::{self, Credentials};
use crate::server::exchange::Exchange;
use crate::server::opening::{self, Opening};
use crate::server::refusal::{Reason, whole};
use crate::server::relay::{Answer, relay};
use crate::server::route::{self, Route};
use crate::server::{Body, Broken, Moment, State, duration, headers, tunnel};
use conversation::rewrite::Direct;
use conversation::words::Did;

/// How much of a refusal is read to see whether it can be helped.
const LONGEST_REFUSAL: usize = 1 << 20;

/// What a request leads to.
enum Outcome {
    /// What the provider answers.
    Provider(Box<Answer>),
    /// What is answered here.
    Here(Direct),
}

/// Answers a request.
pub(super) async fn handle(
    state: Arc<State>,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    parts.extensions.insert(Peer(peer));
    let route = Route::of(&parts);
    let mut exchange = Exchange::begin(state, route, &parts);
    if tunnel::is_asked_for(&parts) && !route::is_read(parts.uri.path()) {
        return tunnel::open(exchange, parts).await;
    }
    match answer(&mut exchange, parts, body).await {
        Ok(Outcome::Provider(answer)) => relay(*answer, exchange),
        Ok(Outcome::Here(direct)) => direct_answer(direct, &mut exchange),
        Err(reason) => {
            let response = reason.respond(route.provider);
            exchange.refused(reason, response.status().as_u16());
            response
        }
    }
}

async fn answer(exchange: &mut Exchange, parts: Parts, body: Incoming) -> Result<Outcome, Reason> {
    exchange.place = Some(exchange.state.gate.request()?);
    if tunnel::is_asked_for(&parts) {
        return Err(Reason::NoUpgrade);
    }
    if exchange.route.endpoint == Endpoint::Other || is_encoded(&parts.headers) {
        return pass(exchange, parts, body).await;
    }
    let Some(tenant) = tenant(&exchange.state, &parts) else {
        return pass(exchange, parts, body).await;
    };
    let body = exchange.state.gate.read(body).await?;
    exchange.was_read(body.len());
    match decide(exchange, &parts, tenant, body).await {
        Verdict::Answer(direct) => Ok(Outcome::Here(direct)),
        Verdict::Send(outgoing, ticket) => send(exchange, parts, outgoing, ticket).await,
    }
}

/// Whether a body is compressed: such a body is not read.
fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_ENCODING)
        .is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Whose a request is. `None`: nothing says so, and it does not come from this machine.
fn tenant(state: &State, parts: &Parts) -> Option<Tenant> {
    let named = state.config.tenant_header.as_ref();
    let named = named.and_then(|name| credentials::named(&parts.headers, name, &state.secret));
    let known = || Credentials::of(&parts.headers, &parts.uri).tenant(&state.secret);
    if let Some(tenant) = named.or_else(known) {
        return Some(tenant);
    }
    if parts
        .extensions
        .get()
        .is_some_and(|Peer(peer)| is_here(*peer, &parts.headers))
    {
        return Some(Tenant::ANONYMOUS);
    }
    if !state.nobody_was_told.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "a request from elsewhere carries no key in a place that is known; such requests are \
             passed on unread"
        );
    }
    None
}

/// Asks the inner half; where it fails, the client's own bytes are sent.
async fn decide(exchange: &Exchange, parts: &Parts, tenant: Tenant, body: Bytes) -> Verdict {
    let state = &exchange.state;
    let url = state.upstream.url(exchange.route.provider, target(parts));
    let arrival = Arrival {
        endpoint: exchange.route.endpoint,
        target: target(parts).to_owned(),
        url: url.map(|url| url.to_string()).unwrap_or_default(),
        headers: parts.headers.clone(),
        body: body.clone(),
        tenant,
    };
    let now = (state.clock)();
    let deciding = AssertUnwindSafe(async {
        state.sabotage_point(Moment::Arrived);
        state.core.arrive(arrival, now).await
    });
    deciding.catch_unwind().await.unwrap_or_else(|_| {
        state.metrics.failed(Failure::Deciding);
        tracing::error!("deciding about a request failed; it is sent as it was received");
        let outgoing = Outgoing::as_it_came(body, vec![Did::Failed]);
        Verdict::Send(outgoing, Ticket::default())
    })
}

fn target(parts: &Parts) -> &str {
    parts
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str())
}

/// Sends a request that was decided about, once more where the refusal can be helped.
async fn send(
    exchange: &mut Exchange,
    parts: Parts,
    outgoing: Outgoing,
    mut ticket: Ticket,
) -> Result<Outcome, Reason> {
    exchange.decided(&outgoing);
    let mut first = send_once(exchange, &parts, &outgoing).await?;
    let (ahead, refusal) = if is_refusal(first.status()) {
        let (ahead, complete) = read_refusal(exchange, first.body_mut()).await?;
        if !complete {
            return Ok(provider(first, ahead, None));
        }
        (ahead.clone(), ahead)
    } else {
        let mut opening = Opening::default();
        if let (Endpoint::Generate(dialect), true) =
            (exchange.route.endpoint, ticket.may_overflow())
        {
            opening = opening::read(exchange, &mut first, dialect).await?;
        }
        let Some(refusal) = opening.overflow else {
            return Ok(provider(first, opening.ahead, Some(ticket)));
        };
        (opening.ahead, refusal)
    };
    let status = match first.status() {
        status if is_refusal(status) => status,
        // What the stream should have begun with.
        _ => StatusCode::BAD_REQUEST,
    };
    let original = unwatched(first, ahead);
    match refused(exchange, &mut ticket, status, &refusal).await {
        Remedy::PassOn => Ok(Outcome::Provider(Box::new(original))),
        Remedy::SendAgain(smaller) => {
            Ok(send_again(exchange, &parts, (smaller, ticket), original).await)
        }
    }
}

/// Sends a request that was refused once more, smaller. Where that is refused too, the client gets the
/// first refusal.
async fn send_again(
    exchange: &mut Exchange,
    parts: &Parts,
    (smaller, mut ticket): (Outgoing, Ticket),
    original: Answer,
) -> Outcome {
    let second = send_once(exchange, parts, &smaller).await;
    let status = second
        .as_ref()
        .map_or(502, |answer| answer.status().as_u16());
    exchange.state.metrics.rescued(status);
    match second {
        // The client's own request was refused for what the first refusal says; what is wrong with ours
        // does not concern the client.
        Ok(second) if matches!(status, 400 | 413) => {
            let (refusal, mut body) = second.into_parts();
            if let Ok((body, true)) = read_refusal(exchange, &mut body).await {
                // What it says of the window is worth knowing; it is not sent a third time.
                let _ = refused(exchange, &mut ticket, refusal.status, &body).await;
            }
            Outcome::Provider(Box::new(original))
        }
        Err(_) => Outcome::Provider(Box::new(original)),
        Ok(second) => {
            exchange.decided(&smaller);
            let ticket = (!is_refusal(second.status())).then_some(ticket);
            provider(second, Bytes::new(), ticket)
        }
    }
}

fn provider(response: Response<Incoming>, ahead: Bytes, ticket: Option<Ticket>) -> Outcome {
    Outcome::Provider(Box::new(Answer {
        response,
        ahead,
        ticket,
    }))
}

/// An answer of which nothing more is to be known.
const fn unwatched(response: Response<Incoming>, ahead: Bytes) -> Answer {
    Answer {
        response,
        ahead,
        ticket: None,
    }
}

fn is_refusal(status: StatusCode) -> bool {
    status.as_u16() >= 400
}

async fn send_once(
    exchange: &mut Exchange,
    parts: &Parts,
    outgoing: &Outgoing,
) -> Result<Response<Incoming>, Reason> {
    let mut sent = parts.headers.clone();
    headers::for_upstream(&mut sent);
    headers::add_betas(&mut sent, &outgoing.betas);
    if matches!(exchange.route.endpoint, Endpoint::Generate(_)) {
        // The answer is read on its way.
        let identity = HeaderValue::from_static("identity");
        sent.insert(header::ACCEPT_ENCODING, identity);
    }
    dispatch(exchange, parts, sent, whole(outgoing.body.clone())).await
}

async fn dispatch(
    exchange: &mut Exchange,
    parts: &Parts,
    headers: HeaderMap,
    body: Body,
) -> Result<Response<Incoming>, Reason> {
    let mut request = Request::new(body);
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = parts.uri.clone();
    *request.headers_mut() = headers;
    exchange.is_sent();
    let state = &exchange.state;
    let silence = duration(state.config.limits.silence);
    timeout(
        silence,
        state.upstream.send(exchange.route.provider, request),
    )
    .await
    .unwrap_or(Err(Reason::Silent))
}

/// Reads a refusal; `false` where it is longer than is read.
async fn read_refusal(exchange: &Exchange, body: &mut Incoming) -> Result<(Bytes, bool), Reason> {
    let silence = duration(exchange.state.config.limits.silence);
    let mut read = BytesMut::new();
    while read.len() <= LONGEST_REFUSAL {
        match timeout(silence, body.frame()).await {
            Err(_) => return Err(Reason::Silent),
            Ok(Some(Err(_))) => return Err(Reason::BrokenAnswer),
            Ok(None) => return Ok((read.freeze(), true)),
            Ok(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    read.extend_from_slice(data);
                }
            }
        }
    }
    Ok((read.freeze(), false))
}

/// Tells the ticket of a refusal.
async fn refused(
    exchange: &Exchange,
    ticket: &mut Ticket,
    status: StatusCode,
    body: &Bytes,
) -> Remedy {
    let state = &exchange.state;
    let now = (state.clock)();
    let telling = AssertUnwindSafe(async {
        state.sabotage_point(Moment::Refused);
        ticket.refused(status, body, now).await
    });
    telling.catch_unwind().await.unwrap_or_else(|_| {
        state.metrics.failed(Failure::Deciding);
        tracing::error!("deciding about a refusal failed; it is passed on");
        Remedy::PassOn
    })
}

/// Passes on a request that is not looked into, its body piece by piece.
async fn pass(exchange: &mut Exchange, parts: Parts, body: Incoming) -> Result<Outcome, Reason> {
    exchange.did(&[Did::Passed]);
    let mut sent = parts.headers.clone();
    headers::for_upstream(&mut sent);
    let body = if body.is_end_stream() {
        whole(Bytes::new())
    } else {
        if let Some(length) = parts.headers.get(header::CONTENT_LENGTH) {
            sent.insert(header::CONTENT_LENGTH, length.clone());
        }
        piecewise(body, Arc::clone(&exchange.state))
    };
    let response = dispatch(exchange, &parts, sent, body).await?;
    Ok(provider(response, Bytes::new(), None))
}

/// A client's body as it comes; one that stops coming is broken off.
fn piecewise(body: Incoming, state: Arc<State>) -> Body {
    let patience = duration(state.config.limits.read);
    let pieces = stream::unfold((body, state), move |(mut body, state)| async move {
        let piece = match timeout(patience, body.frame()).await {
            Ok(None) => return None,
            Ok(Some(Ok(frame))) => {
                state
                    .metrics
                    .received(frame.data_ref().map_or(0, Bytes::len));
                Ok(frame)
            }
            Ok(Some(Err(error))) => Err(Broken::from(error)),
            Err(late) => Err(Broken::from(late)),
        };
        Some((piece, (body, state)))
    });
    StreamBody::new(pieces).boxed_unsync()
}

/// An answer that the inner half made.
fn direct_answer(direct: Direct, exchange: &mut Exchange) -> Response<Body> {
    exchange.did(&direct.did);
    exchange.belongs_to(direct.conversation);
    exchange.sent(direct.body.len());
    exchange.whole();
    let mut response = Response::new(whole(direct.body));
    *response.status_mut() = StatusCode::from_u16(direct.status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(direct.content_type),
    );
    exchange.answered(direct.status, headers);
    response
}
