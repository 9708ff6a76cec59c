//! The life of one request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::stream;
use history::Tenant;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::config::Tenancy;
use crate::conversations::{Arrival, Endpoint, Outgoing, Ticket, Verdict};
use crate::server::access::is_local;
use crate::server::bridge;
use crate::server::coding::Codings;
use crate::server::control::Peer;
use crate::server::credentials::{self, Credentials};
use crate::server::exchange::Exchange;
use crate::server::guard::Stage;
use crate::server::mending;
use crate::server::refusal::{Reason, whole};
use crate::server::relay::{Answer, relay};
use crate::server::route::{self, Route};
use crate::server::upload::Upload;
use crate::server::{Body, Broken, State, duration, headers, tunnel};
use conversation::rewrite::Direct;
use conversation::words::Did;

/// The answer to a request.
pub(super) enum Reply {
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
    let body = Upload::new(body, &parts.headers, Arc::clone(&state));
    let mut exchange = Exchange::begin(state, route, &parts);
    if let Err(reason) = exchange.state.sites.admit(&parts) {
        return refuse(&mut exchange, reason);
    }
    if tunnel::is_asked_for(&parts) && !route::is_read(parts.uri.path()) {
        return tunnel::open(exchange, parts).await;
    }
    match answer(&mut exchange, parts, body).await {
        Ok(Reply::Upstream(answer)) => relay(*answer, exchange).await,
        Ok(Reply::Local(direct)) => local_answer(direct, &mut exchange),
        Err(reason) => refuse(&mut exchange, reason),
    }
}

/// Refuses a request.
pub(super) fn refuse(exchange: &mut Exchange, reason: Reason) -> Response<Body> {
    let response = reason.respond(exchange.route.provider, exchange.tried());
    exchange.refused(reason, response.status().as_u16());
    response
}

async fn answer(exchange: &mut Exchange, mut parts: Parts, body: Upload) -> Result<Reply, Reason> {
    exchange.places.request = Some(exchange.state.gate.request()?);
    if tunnel::is_asked_for(&parts) {
        return Err(Reason::NoUpgrade);
    }
    if let Endpoint::Generate(_) = exchange.route.endpoint {
        // Before anything is read: a summary under way gives way now.
        let url = exchange.url(&parts);
        let core = &exchange.state.core;
        exchange.places.server = url.and_then(|url| core.occupy_any(&url.to_string()));
    }
    if exchange.route.endpoint == Endpoint::Other {
        return pass(exchange, parts, body).await;
    }
    let (Some(tenant), Some(codings)) =
        (tenant(&exchange.state, &parts), Codings::of(&parts.headers))
    else {
        return pass(exchange, parts, body).await;
    };
    exchange.is_of(tenant);
    let came = exchange.state.gate.read(body).await?;
    exchange.body_read(came.len());
    let encoding = match codings.is_empty() {
        true => None,
        false => take_encoding(&mut parts.headers),
    };
    let Some(body) = exchange.state.gate.decode(&came, &codings).await? else {
        let mut outgoing = Outgoing::as_it_came(came, vec![Did::Passed]);
        outgoing.encoding = encoding;
        return mending::send(exchange, parts, outgoing, Ticket::default()).await;
    };
    let decoded = body.clone();
    match decide(exchange, &parts, tenant, body).await {
        Verdict::Answer(direct) => Ok(Reply::Local(direct)),
        Verdict::Send(mut outgoing, ticket) => {
            if exchange.places.server.is_none() {
                exchange.places.server = exchange.state.core.occupy(&ticket);
            }
            // Only what is still the client's own goes out as it was encoded.
            let is_own = outgoing.body.as_ptr() == decoded.as_ptr();
            let goes = is_own && !bridge::applies(exchange, &parts);
            if encoding.is_some() && goes && outgoing.is_passed_on() {
                (outgoing.body, outgoing.encoding) = (came, encoding);
            }
            mending::send(exchange, parts, outgoing, ticket).await
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
    let peer = parts.extensions.get();
    let is_local = peer.is_some_and(|Peer(peer)| is_local(*peer, &parts.headers));
    let one = state.config.tenants == Tenancy::One || (is_local && state.config.is_personal());
    // Before the key: a renewed key is the same person's.
    let shared = one.then_some(Tenant::ANONYMOUS);
    let known = || Credentials::of(&parts.headers, &parts.uri).tenant(&state.secret);
    if let Some(tenant) = named.or(shared).or_else(known) {
        return Some(tenant);
    }
    if is_local {
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
    let url = exchange.url(parts);
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
    let answer = timeout(exchange.silence(), sent).await;
    let answer = answer.unwrap_or(Err(Reason::Silent));
    if answer.is_err() {
        exchange.unanswered(parts);
    }
    answer
}

/// Forwards a request that is not inspected, streaming its body.
async fn pass(exchange: &mut Exchange, parts: Parts, body: Upload) -> Result<Reply, Reason> {
    exchange.did(&[Did::Passed]);
    let mut sent = parts.headers.clone();
    headers::for_upstream(&mut sent);
    let body = if body.is_at_end() {
        whole(Bytes::new())
    } else {
        if let Some(length) = parts.headers.get(header::CONTENT_LENGTH) {
            sent.insert(header::CONTENT_LENGTH, length.clone());
        }
        streamed(body, Arc::clone(&exchange.state))
    };
    let response = dispatch(exchange, &parts, sent, body).await?;
    Ok(Reply::Upstream(Box::new(Answer::of(response))))
}

/// Streams a client's body and breaks it off if the client stalls.
fn streamed(body: Upload, state: Arc<State>) -> Body {
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
