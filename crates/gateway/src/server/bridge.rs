//! Requests that reach their provider in another dialect.

use bytes::Bytes;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Uri, header};
use wire::api::{Bridge, Remake};

use crate::conversations::Endpoint;
use crate::server::exchange::Exchange;

/// Returns true if a request goes to its provider in another dialect.
pub(super) fn applies(exchange: &Exchange, parts: &Parts) -> bool {
    target(exchange, parts).is_some()
}

/// Writes a request in the dialect of its provider, and notes the way back. `None`: it goes as it is.
pub(super) fn over(exchange: &mut Exchange, parts: &Parts, body: &Bytes) -> Option<(Parts, Bytes)> {
    exchange.returning.bridge = None;
    let uri = target(exchange, parts)?;
    let now = (exchange.state.clock)().as_second();
    let bridge = Bridge::new(body, now).ok()?;
    let mut parts = parts.clone();
    parts.uri = uri;
    let body = Bytes::copy_from_slice(bridge.body());
    exchange.returning.bridge = Some(Box::new(bridge));
    Some((parts, body))
}

fn target(exchange: &Exchange, parts: &Parts) -> Option<Uri> {
    let Endpoint::Generate(dialect) = exchange.route.endpoint else {
        return None;
    };
    let server = &dialect.facts().server;
    let bridged = server
        .bridged
        .filter(|_| exchange.state.config.openai_over_chat)?;
    let base = parts.uri.path().strip_suffix(server.path)?;
    let path = match parts.uri.query() {
        Some(query) => format!("{base}{bridged}?{query}"),
        None => format!("{base}{bridged}"),
    };
    let mut target = parts.uri.clone().into_parts();
    target.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(target).ok()
}

/// Prepares the way back of an answer: nothing is known of its length then.
pub(super) fn back(
    exchange: &mut Exchange,
    head: &mut http::response::Parts,
) -> Option<Box<dyn Remake>> {
    let bridge = exchange
        .returning
        .bridge
        .take()
        .filter(|_| head.status.is_success())?;
    head.headers.remove(header::CONTENT_LENGTH);
    Some(bridge.answer(is_stream(head)))
}

/// Returns true for an event stream.
pub(super) fn is_stream(head: &http::response::Parts) -> bool {
    let kind = head.headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
