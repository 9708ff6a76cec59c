//! Streams an answer to the client while the inner half watches.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Response, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use tokio::time::{Instant, timeout};
use wire::api::{Prefixed, Remake};

use crate::conversations::{Endpoint, Heard, Ticket};
use crate::metrics::Failure;
use crate::server::bridge;
use crate::server::exchange::Exchange;
use crate::server::guard::Stage;
use crate::server::headers::remove_hop_by_hop;
use crate::server::refusal::{Reason, whole};
use crate::server::{Body, Broken};

/// The provider stalled in the middle of an answer or broke it off.
#[derive(Debug, thiserror::Error)]
#[error("the provider's answer was cut off")]
struct Cut;

/// A provider's answer, of which some may have been read already.
pub(crate) struct Answer {
    pub(crate) response: Response<Incoming>,
    pub(crate) ahead: Bytes,
    pub(crate) ticket: Option<Ticket>,
}

/// Returns the next frame of an answer, or an error if the provider stays silent or breaks off.
pub(crate) async fn next_frame(
    body: &mut Incoming,
    silence: Duration,
) -> Result<Option<Frame<Bytes>>, Reason> {
    let frame = timeout(silence, body.frame())
        .await
        .map_err(|_| Reason::Silent)?;
    frame.transpose().map_err(|error| {
        tracing::debug!(%error, "reading an answer failed");
        Reason::BrokenAnswer
    })
}

/// Streams the provider's answer to the client: status, headers and body unchanged, plus the gateway's headers.
pub(crate) async fn relay(answer: Answer, mut exchange: Exchange) -> Response<Body> {
    let Answer {
        response,
        ahead,
        mut ticket,
    } = answer;
    let (mut head, body) = response.into_parts();
    remove_hop_by_hop(&mut head.headers);
    // A compressed answer cannot be watched; the request asked for an uncompressed one.
    let readable = head
        .headers
        .get(header::CONTENT_ENCODING)
        .is_none_or(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let bridge = bridge::back(&mut exchange, &mut head);
    if let Some(watcher) = &mut ticket {
        if !readable {
            exchange.state.metrics.failed(Failure::Watching);
        }
        let answered = async { watcher.answered(head.status, &head.headers) };
        let answered = exchange.state.guarded(Stage::Answered, answered).await;
        if answered.is_none() || !readable {
            ticket = None;
        }
    }
    exchange.answered(head.status.as_u16(), &mut head.headers);
    let remake = remade(&mut head, &mut exchange, readable);
    let body = if body.is_end_stream() && ahead.is_empty() && ticket.is_none() {
        exchange.complete();
        whole(Bytes::new())
    } else {
        let relay = Relay {
            silence: exchange.silence(),
            body,
            ahead,
            ticket,
            exchange,
            bridge,
            remake,
            over: false,
        };
        StreamBody::new(stream::unfold(relay, Relay::next)).boxed_unsync()
    };
    Response::from_parts(head, body)
}

/// Prepares the change of an answer that gets a block or an item in front.
fn remade(
    head: &mut http::response::Parts,
    exchange: &mut Exchange,
    readable: bool,
) -> Option<Prefixed> {
    let piece = exchange
        .prefix
        .take()
        .filter(|_| head.status.is_success() && readable)?;
    let Endpoint::Generate(dialect) = exchange.route.endpoint else {
        return None;
    };
    let prefixed = Prefixed::new(dialect, &piece, bridge::is_stream(head))?;
    head.headers.remove(header::CONTENT_LENGTH);
    Some(prefixed)
}

struct Relay {
    body: Incoming,
    ahead: Bytes,
    ticket: Option<Ticket>,
    exchange: Exchange,
    silence: Duration,
    /// Turns the answer into the client's dialect, before the ticket sees it.
    bridge: Option<Box<dyn Remake>>,
    /// Changes the answer once the ticket has seen it.
    remake: Option<Prefixed>,
    over: bool,
}

type Piece = Result<Frame<Bytes>, Broken>;

impl Relay {
    async fn next(mut self) -> Option<(Piece, Self)> {
        loop {
            let (piece, is_empty) = self.piece().await?;
            // An empty piece would end the answer.
            if !is_empty {
                return Some((piece, self));
            }
        }
    }

    /// The next piece, and whether there is nothing in it.
    async fn piece(&mut self) -> Option<(Piece, bool)> {
        if self.over {
            return None;
        }
        if !self.ahead.is_empty() {
            let ahead = std::mem::take(&mut self.ahead);
            let frame = self.bridged(Frame::data(ahead), false);
            return Some(self.shown(frame, false).await);
        }
        match next_frame(&mut self.body, self.silence).await {
            Ok(Some(frame)) => {
                // If the length is known, no one polls for an end after the last piece.
                let is_last = self.body.is_end_stream();
                let frame = self.bridged(frame, is_last);
                Some(self.shown(frame, is_last).await)
            }
            Ok(None) => {
                let rest = self.bridge.as_mut().map(|bridge| bridge.end());
                let frame = Frame::data(rest.unwrap_or_default().into());
                let (piece, is_empty) = self.shown(frame, true).await;
                (!is_empty).then_some((piece, false))
            }
            Err(reason) => {
                tracing::warn!(?reason, "the provider's answer was cut off");
                self.over = true;
                self.ticket = None;
                Some((Err(Box::new(Cut)), false))
            }
        }
    }

    /// A frame in the client's dialect.
    fn bridged(&mut self, frame: Frame<Bytes>, is_last: bool) -> Frame<Bytes> {
        let (Some(bridge), Some(data)) = (&mut self.bridge, frame.data_ref()) else {
            return frame;
        };
        let mut out = bridge.piece(data);
        if is_last {
            out.extend(bridge.end());
        }
        Frame::data(out.into())
    }

    /// Shows a frame to the ticket, and changes it for the client.
    async fn shown(&mut self, frame: Frame<Bytes>, is_last: bool) -> (Piece, bool) {
        if let Some(data) = frame.data_ref() {
            self.show(data).await;
        }
        if is_last {
            self.finish().await;
            self.exchange.complete();
            self.over = true;
        }
        self.remade(frame, is_last)
    }

    /// A frame as the client gets it, and whether there is nothing in it.
    fn remade(&mut self, frame: Frame<Bytes>, is_last: bool) -> (Piece, bool) {
        let (Some(remake), Some(data)) = (&mut self.remake, frame.data_ref()) else {
            let is_empty = frame.data_ref().is_some_and(Bytes::is_empty);
            return (Ok(frame), is_empty);
        };
        let mut out = remake.piece(data);
        if is_last {
            out.extend(remake.end());
        }
        let is_empty = out.is_empty();
        (Ok(Frame::data(out.into())), is_empty)
    }

    /// Passes a piece to the ticket before the client gets it.
    async fn show(&mut self, data: &Bytes) {
        self.exchange.sent(data.len());
        let Some(ticket) = &mut self.ticket else {
            return;
        };
        let heard = async { ticket.piece(data) };
        match self.exchange.state.guarded(Stage::Piece, heard).await {
            Some(Heard::Part) if !self.body.is_end_stream() => {}
            Some(_) => self.finish().await,
            None => self.ticket = None,
        }
    }

    /// Finishes the ticket: when this returns, the conversation is recorded.
    async fn finish(&mut self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let state = &self.exchange.state;
        let (now, since) = ((state.clock)(), Instant::now());
        let finished = state.guarded(Stage::Finished, ticket.finished(now)).await;
        self.exchange.recorded(since);
        self.exchange.generation = finished.flatten();
    }
}
