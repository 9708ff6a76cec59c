//! The life of one request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use history::Tenant;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

use crate::conversations::{Arrival, Endpoint, Outgoing, Remedy, Ticket, Verdict, drop_betas};
use crate::server::access::is_local;
use crate::server::bridge;
use crate::server::coding::Codings;
use crate::server::control::Peer;
use crate::server::credentials::{self, Credentials};
use crate::server::exchange::Exchange;
use crate::server::guard::Stage;
use crate::server::opening::{self, Opening};
use crate::server::refusal::{Reason, whole};
use crate::server::relay::{Answer, next_frame, relay};
use crate::server::route::{self, Route};
use crate::server::{Body, Broken, State, duration, headers, tunnel};
use conversation::rewrite::Direct;
use conversation::words::Did;

/// The longest refusal that is read to see if another attempt can help.
const LONGEST_REFUSAL: usize = 1 << 20;

/// The answer to a request.
enum Reply {
    /// From the provider.
    Upstream(Box<Answer>),
    /// From the gateway itself.
    Local(Direct),
}

/// Answers a request that is not for the gateway itself.
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
        Ok(Reply::Upstream(answer)) => relay(*answer, exchange).await,
        Ok(Reply::Local(direct)) => local_answer(direct, &mut exchange),
        Err(reason) => {
            let response = reason.respond(route.provider);
            exchange.refused(reason, response.status().as_u16());
            response
        }
    }
}

async fn answer(
    exchange: &mut Exchange,
    mut parts: Parts,
    body: Incoming,
) -> Result<Reply, Reason> {
    exchange.places.request = Some(exchange.state.gate.request()?);
    if tunnel::is_asked_for(&parts) {
        return Err(Reason::NoUpgrade);
    }
    if let Endpoint::Generate(_) = exchange.route.endpoint {
        // Before anything is decided: a summary under way gives way now.
        let url = exchange
            .state
            .upstream
            .url(exchange.route.provider, target(&parts));
        let core = &exchange.state.core;
        exchange.places.server = url.map(|url| core.occupy(&url.to_string()));
    }
    if exchange.route.endpoint == Endpoint::Other {
        return pass(exchange, parts, body).await;
    }
    let (Some(tenant), Some(codings)) =
        (tenant(&exchange.state, &parts), Codings::of(&parts.headers))
    else {
        return pass(exchange, parts, body).await;
    };
    let came = exchange.state.gate.read(body).await?;
    exchange.body_read(came.len());
    let encoding = match codings.is_empty() {
        true => None,
        false => take_encoding(&mut parts.headers),
    };
    let Some(body) = exchange.state.gate.decode(&came, &codings).await? else {
        let mut outgoing = Outgoing::as_it_came(came, vec![Did::Passed]);
        outgoing.encoding = encoding;
        return send(exchange, parts, outgoing, Ticket::default()).await;
    };
    let decoded = body.clone();
    match decide(exchange, &parts, tenant, body).await {
        Verdict::Answer(direct) => Ok(Reply::Local(direct)),
        Verdict::Send(mut outgoing, ticket) => {
            // Only what is still the client's own goes out as it was encoded.
            let is_own = outgoing.body.as_ptr() == decoded.as_ptr();
            let goes = is_own && !bridge::applies(exchange, &parts);
            if encoding.is_some() && goes && outgoing.is_passed_on() {
                (outgoing.body, outgoing.encoding) = (came, encoding);
            }
            send(exchange, parts, outgoing, ticket).await
        }
    }
}

/// Removes `content-encoding`, which does not hold for what is made of the body, and returns it as one line.
fn take_encoding(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let lines = headers.get_all(header::CONTENT_ENCODING).into_iter();
    let lines: Vec<&[u8]> = lines.map(HeaderValue::as_bytes).collect();
    let line = HeaderValue::from_bytes(&lines.join(&b", "[..])).ok();
    headers.remove(header::CONTENT_ENCODING);
    line
}

/// Returns the tenant of a request, or `None` if it carries no credentials and is not from this machine.
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
        .is_some_and(|Peer(peer)| is_local(*peer, &parts.headers))
    {
        return Some(Tenant::ANONYMOUS);
    }
    if !state.warned_unidentified.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "a remote request has no recognized credentials; such requests are forwarded without being read"
        );
    }
    None
}

/// Asks the inner half. If it panics, forwards the client's own bytes.
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
    let arriving = state.core.arrive(arrival, now);
    state
        .guarded(Stage::Arrived, arriving)
        .await
        .unwrap_or_else(|| {
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

/// Sends a request as decided, and once more if another attempt can help against a refusal.
async fn send(
    exchange: &mut Exchange,
    parts: Parts,
    outgoing: Outgoing,
    mut ticket: Ticket,
) -> Result<Reply, Reason> {
    exchange.decided(&outgoing);
    let mut first = send_once(exchange, &parts, &outgoing).await?;
    let (ahead, refusal) = if is_refusal(first.status()) {
        let (ahead, complete) = read_refusal(exchange, first.body_mut()).await?;
        if !complete {
            return Ok(upstream(first, ahead, None));
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
            return Ok(upstream(first, opening.ahead, Some(ticket)));
        };
        (opening.ahead, refusal)
    };
    let status = match first.status() {
        status if is_refusal(status) => status,
        // The status that this stream should have had.
        _ => StatusCode::BAD_REQUEST,
    };
    let original = upstream(first, ahead, None);
    match refused(exchange, &mut ticket, status, &refusal).await {
        Remedy::PassOn => Ok(original),
        Remedy::SendAgain(smaller) => {
            Ok(send_again(exchange, &parts, (smaller, ticket), original).await)
        }
        Remedy::Anew(verdict) => match *verdict {
            Verdict::Answer(direct) => Ok(Reply::Local(direct)),
            Verdict::Send(outgoing, ticket) => {
                Ok(send_again(exchange, &parts, (outgoing, ticket), original).await)
            }
        },
    }
}

/// Sends a smaller version of a refused request. If that is refused too, the client gets the first refusal.
async fn send_again(
    exchange: &mut Exchange,
    parts: &Parts,
    (smaller, mut ticket): (Outgoing, Ticket),
    original: Reply,
) -> Reply {
    let second = send_once(exchange, parts, &smaller).await;
    let status = second
        .as_ref()
        .map_or(502, |answer| answer.status().as_u16());
    exchange.state.metrics.rescued(status);
    match second {
        // The first refusal is about the client's own request; the second is about ours, which the
        // client does not know.
        Ok(second) if matches!(status, 400 | 413) => {
            let (refusal, mut body) = second.into_parts();
            if let Ok((body, true)) = read_refusal(exchange, &mut body).await {
                // It may reveal the size of the window. There is no third attempt.
                let _ = refused(exchange, &mut ticket, refusal.status, &body).await;
            }
            original
        }
        Err(_) => original,
        Ok(second) => {
            exchange.decided(&smaller);
            let ticket = (!is_refusal(second.status())).then_some(ticket);
            upstream(second, Bytes::new(), ticket)
        }
    }
}

fn upstream(response: Response<Incoming>, ahead: Bytes, ticket: Option<Ticket>) -> Reply {
    Reply::Upstream(Box::new(Answer {
        response,
        ahead,
        ticket,
    }))
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
    if !outgoing.drops.is_empty() {
        drop_betas(&mut sent, outgoing.drops);
    }
    headers::add_betas(&mut sent, &outgoing.betas);
    if let Some(encoding) = &outgoing.encoding {
        sent.insert(header::CONTENT_ENCODING, encoding.clone());
    }
    if matches!(exchange.route.endpoint, Endpoint::Generate(_)) {
        // The answer is parsed as it streams by.
        let identity = HeaderValue::from_static("identity");
        sent.insert(header::ACCEPT_ENCODING, identity);
    }
    match bridge::over(exchange, parts, &outgoing.body) {
        Some((parts, body)) => dispatch(exchange, &parts, sent, whole(body)).await,
        None => dispatch(exchange, parts, sent, whole(outgoing.body.clone())).await,
    }
}

/// Sends a request to the provider and waits for the head of the answer.
pub(super) async fn dispatch(
    exchange: &mut Exchange,
    parts: &Parts,
    headers: HeaderMap,
    body: Body,
) -> Result<Response<Incoming>, Reason> {
    let mut request = Request::new(body);
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = parts.uri.clone();
    *request.headers_mut() = headers;
    exchange.forwarding();
    let sent = exchange
        .state
        .upstream
        .send(exchange.route.provider, request);
    timeout(exchange.silence(), sent)
        .await
        .unwrap_or(Err(Reason::Silent))
}

/// Reads a refusal. Returns `false` if it is too long to read whole.
async fn read_refusal(exchange: &Exchange, body: &mut Incoming) -> Result<(Bytes, bool), Reason> {
    let silence = exchange.silence();
    let mut read = BytesMut::new();
    while read.len() <= LONGEST_REFUSAL {
        let Some(frame) = next_frame(body, silence).await? else {
            return Ok((read.freeze(), true));
        };
        if let Some(data) = frame.data_ref() {
            read.extend_from_slice(data);
        }
    }
    Ok((read.freeze(), false))
}

/// Asks the ticket about a refusal.
async fn refused(
    exchange: &Exchange,
    ticket: &mut Ticket,
    status: StatusCode,
    body: &Bytes,
) -> Remedy {
    let state = &exchange.state;
    let now = (state.clock)();
    let asking = ticket.refused(status, body, now);
    state
        .guarded(Stage::Refused, asking)
        .await
        .unwrap_or(Remedy::PassOn)
}

/// Forwards a request that is not inspected, streaming its body.
async fn pass(exchange: &mut Exchange, parts: Parts, body: Incoming) -> Result<Reply, Reason> {
    exchange.did(&[Did::Passed]);
    let mut sent = parts.headers.clone();
    headers::for_upstream(&mut sent);
    let body = if body.is_end_stream() {
        whole(Bytes::new())
    } else {
        if let Some(length) = parts.headers.get(header::CONTENT_LENGTH) {
            sent.insert(header::CONTENT_LENGTH, length.clone());
        }
        streamed(body, Arc::clone(&exchange.state))
    };
    let response = dispatch(exchange, &parts, sent, body).await?;
    Ok(upstream(response, Bytes::new(), None))
}

/// Streams a client's body and breaks it off if the client stalls.
fn streamed(body: Incoming, state: Arc<State>) -> Body {
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

/// Builds the answer that the inner half made.
fn local_answer(direct: Direct, exchange: &mut Exchange) -> Response<Body> {
    exchange.did(&direct.did);
    exchange.belongs_to(direct.conversation);
    exchange.sent(direct.body.len());
    exchange.complete();
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
