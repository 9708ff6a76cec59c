//! Streams an answer to the client while the inner half watches.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};
use wire::api::{Prefixed, Remake};

use crate::conversations::{Endpoint, Heard, Ticket};
use crate::error;
use crate::metrics::Failure;
use crate::server::bridge;
use crate::server::exchange::Exchange;
use crate::server::guard::Stage;
use crate::server::headers::{remove_hop_by_hop, remove_ours};
use crate::server::mending;
use crate::server::opening::{Arrived, Opening, is_stream};
use crate::server::proxy::Reply;
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
    /// True if the provider broke the answer off behind `ahead`.
    pub(crate) is_cut: bool,
    /// Present if the answer may still turn out to be a refusal.
    pub(crate) pending: Option<Pending>,
}

impl Answer {
    /// An answer without a ticket: no conversation follows it.
    pub(crate) const fn of(response: Response<Incoming>) -> Self {
        Self {
            response,
            ahead: Bytes::new(),
            ticket: None,
            is_cut: false,
            pending: None,
        }
    }
}

/// A stream without content so far.
pub(crate) struct Pending {
    pub(crate) opening: Opening,
    /// The client's request.
    pub(crate) parts: Arc<Parts>,
    /// The head of the answer, as it came.
    pub(crate) head: (StatusCode, HeaderMap),
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
        is_cut,
        pending,
    } = answer;
    let (mut head, body) = response.into_parts();
    remove_hop_by_hop(&mut head.headers);
    remove_ours(&mut head.headers);
    let bridge = bridge::back(&mut exchange, &mut head);
    if pending.is_none() {
        ticket = begin(&exchange, ticket, (head.status, &head.headers)).await;
    }
    exchange.answered(head.status.as_u16(), &mut head.headers);
    let remake = remade(&mut head, &mut exchange);
    let is_over = body.is_end_stream() && !is_cut && pending.is_none();
    let body = if is_over && ahead.is_empty() && ticket.is_none() {
        exchange.complete();
        whole(Bytes::new())
    } else {
        let relay = Relay {
            silence: exchange.silence(),
            body,
            ahead,
            ticket,
            exchange,
            pending,
            bridge,
            remake,
            end: if is_cut { End::Cut } else { End::Open },
        };
        StreamBody::new(stream::unfold(relay, Relay::next)).boxed_unsync()
    };
    Response::from_parts(head, body)
}

/// Shows the ticket the head of an answer. Returns it if it can watch the answer.
async fn begin(
    exchange: &Exchange,
    ticket: Option<Ticket>,
    (status, headers): (StatusCode, &HeaderMap),
) -> Option<Ticket> {
    let mut watcher = ticket?;
    // A compressed answer cannot be watched; the request asked for an uncompressed one.
    let readable = is_readable(headers);
    if !readable {
        exchange.state.metrics.failed(Failure::Watching);
    }
    let answered = async { watcher.answered(status, headers) };
    let answered = exchange.state.guarded(Stage::Answered, answered).await;
    (answered.is_some() && readable).then_some(watcher)
}

fn is_readable(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_ENCODING)
        .is_none_or(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Prepares the change of an answer that gets a block or an item in front.
fn remade(head: &mut http::response::Parts, exchange: &mut Exchange) -> Option<Prefixed> {
    let changeable = head.status.is_success() && is_readable(&head.headers);
    let piece = exchange.returning.prefix.take().filter(|_| changeable)?;
    let Endpoint::Generate(dialect) = exchange.route.endpoint else {
        return None;
    };
    let prefixed = Prefixed::new(dialect, &piece, bridge::is_stream(head))?;
    // The length is that of the provider's body, without the piece.
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
    pending: Option<Pending>,
    end: End,
}

/// The end of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Not in sight.
    Open,
    /// The provider broke it off.
    Cut,
    /// The client knows of it.
    Told,
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
        while let Some(pending) = self.pending.take() {
            if let Some(passed) = self.open(pending).await {
                self.exchange.sent(passed.len());
                return Some(self.remade(Frame::data(passed), false));
            }
        }
        if !self.ahead.is_empty() {
            let ahead = std::mem::take(&mut self.ahead);
            // A refusal was read to its end already.
            let is_last = self.end == End::Open && self.body.is_end_stream();
            let frame = self.bridged(Frame::data(ahead), is_last);
            return Some(self.shown(frame, is_last).await);
        }
        match self.end {
            End::Open => {}
            End::Cut => return Some(self.broken_off().await),
            End::Told => return None,
        }
        match next_frame(&mut self.body, self.silence).await {
            Ok(Some(frame)) => {
                // With a known length, hyper does not poll for an end after the last piece.
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
                Some(self.broken_off().await)
            }
        }
    }

    /// Breaks the answer off for the client too.
    async fn broken_off(&mut self) -> (Piece, bool) {
        self.end = End::Told;
        // Not finished: a dropped ticket tells the conversation that the exchange was cut.
        self.ticket = None;
        self.exchange.broken_off();
        // The server drops what it has not written yet, so let it write the head and what came.
        yield_now().await;
        (Err(Box::new(Cut)), false)
    }

    /// Reads on in a stream without content so far. Returns signs of life; `None` once it is known what the
    /// stream is, and then the rest of what was read is ahead.
    async fn open(&mut self, mut pending: Pending) -> Option<Bytes> {
        if !self.ahead.is_empty() {
            self.pending = Some(pending);
            return Some(std::mem::take(&mut self.ahead));
        }
        loop {
            let frame = match next_frame(&mut self.body, self.silence).await {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    let held = pending.opening.held();
                    self.decided(&pending, held).await;
                    return None;
                }
                Err(reason) => {
                    tracing::warn!(?reason, "the provider's answer was cut off");
                    self.ahead = pending.opening.held();
                    (self.end, self.ticket) = (End::Cut, None);
                    return None;
                }
            };
            let Some(data) = frame.data_ref() else {
                continue;
            };
            match pending.opening.take(data) {
                Arrived::Nothing(passed) if passed.is_empty() => {}
                Arrived::Nothing(passed) => {
                    self.pending = Some(pending);
                    return Some(passed);
                }
                Arrived::Content(all) => {
                    self.decided(&pending, all).await;
                    return None;
                }
                Arrived::TooLong(all, refusal) => {
                    self.replace(&pending, (all, refusal)).await;
                    return None;
                }
            }
        }
    }

    /// The stream is an answer.
    async fn decided(&mut self, pending: &Pending, ahead: Bytes) {
        let (status, headers) = &pending.head;
        self.ticket = begin(&self.exchange, self.ticket.take(), (*status, headers)).await;
        self.ahead = ahead;
    }

    /// The stream is a refusal: another answer replaces it if there is one.
    async fn replace(&mut self, pending: &Pending, (all, refusal): (Bytes, Bytes)) {
        let refusal = (StatusCode::BAD_REQUEST, refusal);
        let instead = match self.ticket.take() {
            Some(ticket) => {
                mending::instead(&mut self.exchange, &pending.parts, ticket, refusal).await
            }
            None => None,
        };
        // The client has the head of a stream already.
        let instead = match instead {
            Some(Reply::Upstream(answer)) => Some(*answer),
            Some(Reply::Local(_)) | None => None,
        };
        let instead = instead.filter(|answer| {
            answer.response.status() == pending.head.0 && is_stream(&answer.response)
        });
        let Some(answer) = instead else {
            self.ahead = all;
            return;
        };
        let (head, body) = answer.response.into_parts();
        (self.body, self.ahead, self.pending) = (body, answer.ahead, answer.pending);
        self.ticket = answer.ticket;
        if self.pending.is_none() {
            let head = (head.status, &head.headers);
            self.ticket = begin(&self.exchange, self.ticket.take(), head).await;
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
            self.end = End::Told;
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
            // The body may end without the last event that its dialect promises.
            Some(Heard::Part) if !self.body.is_end_stream() => {}
            Some(Heard::TooLong) => {
                let code = error::UNHEARD;
                tracing::warn!(%code, "{}", error::meaning(code));
                self.exchange.state.metrics.failed(Failure::TooLong);
                self.ticket = None;
            }
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
        self.exchange.returning.generation = finished.flatten();
    }
}
