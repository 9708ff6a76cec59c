//! Gives an answer to the client piece by piece, while the inner half watches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, stream};
use http::{Response, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use tokio::time::{Instant, timeout};

use crate::conversations::{Heard, Ticket};
use crate::metrics::Failure;
use crate::server::exchange::Exchange;
use crate::server::headers::remove_hop_by_hop;
use crate::server::refusal::whole;
use crate::server::{Body, Broken, Moment, duration};

/// The provider was silent in the middle of an answer, or broke it off.
#[derive(Debug, thiserror::Error)]
#[error("the provider's answer broke off")]
struct Cut;

/// An answer of a provider, some of which may have been read already.
pub(crate) struct Answer {
    pub(crate) response: Response<Incoming>,
    pub(crate) ahead: Bytes,
    pub(crate) ticket: Option<Ticket>,
}

/// The provider's answer as the client gets it: status, headers and body as they come, and our own headers
/// beside them.
pub(crate) fn relay(answer: Answer, mut exchange: Exchange) -> Response<Body> {
    let Answer {
        response,
        ahead,
        mut ticket,
    } = answer;
    let (mut head, body) = response.into_parts();
    remove_hop_by_hop(&mut head.headers);
    // What is compressed cannot be watched; it was asked not to be.
    let readable = head
        .headers
        .get(header::CONTENT_ENCODING)
        .is_none_or(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if let Some(watcher) = &mut ticket {
        let shown = catch_unwind(AssertUnwindSafe(|| {
            exchange.state.sabotage_point(Moment::Answered);
            watcher.answered(head.status, &head.headers);
        }));
        if shown.is_err() || !readable {
            exchange.state.metrics.failed(Failure::Watching);
            ticket = None;
        }
    }
    exchange.answered(head.status.as_u16(), &mut head.headers);
    let body = if body.is_end_stream() && ahead.is_empty() && ticket.is_none() {
        exchange.whole();
        whole(Bytes::new())
    } else {
        let relay = Relay {
            silence: duration(exchange.state.config.limits.silence),
            body,
            ahead,
            ticket,
            exchange,
            over: false,
        };
        StreamBody::new(stream::unfold(relay, Relay::next)).boxed_unsync()
    };
    Response::from_parts(head, body)
}

struct Relay {
    body: Incoming,
    ahead: Bytes,
    ticket: Option<Ticket>,
    exchange: Exchange,
    silence: Duration,
    over: bool,
}

type Piece = Result<Frame<Bytes>, Broken>;

impl Relay {
    async fn next(mut self) -> Option<(Piece, Self)> {
        if self.over {
            return None;
        }
        if !self.ahead.is_empty() {
            let ahead = std::mem::take(&mut self.ahead);
            self.show(&ahead).await;
            return Some((Ok(Frame::data(ahead)), self));
        }
        match timeout(self.silence, self.body.frame()).await {
            Ok(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.show(data).await;
                }
                // Where the length was said before, nobody asks for what stands behind the last piece.
                if self.body.is_end_stream() {
                    self.finish().await;
                    self.exchange.whole();
                }
                Some((Ok(frame), self))
            }
            Ok(None) => {
                self.finish().await;
                self.exchange.whole();
                None
            }
            Ok(Some(Err(error))) => {
                tracing::warn!(%error, "the provider's answer broke off");
                Some(self.cut())
            }
            Err(_) => {
                tracing::warn!("the provider was silent in the middle of an answer");
                Some(self.cut())
            }
        }
    }

    fn cut(mut self) -> (Piece, Self) {
        self.over = true;
        self.ticket = None;
        (Err(Box::new(Cut)), self)
    }

    /// Shows a piece to the ticket before the client gets it.
    async fn show(&mut self, data: &Bytes) {
        self.exchange.sent(data.len());
        let Some(ticket) = &mut self.ticket else {
            return;
        };
        let state = &self.exchange.state;
        let heard = catch_unwind(AssertUnwindSafe(|| {
            state.sabotage_point(Moment::Piece);
            ticket.piece(data)
        }));
        match heard {
            Ok(Heard::Part) if !self.body.is_end_stream() => {}
            Ok(_) => self.finish().await,
            Err(_) => {
                state.metrics.failed(Failure::Watching);
                tracing::error!("watching an answer failed; it goes on unwatched");
                self.ticket = None;
            }
        }
    }

    /// What was said is kept when this returns.
    async fn finish(&mut self) {
        let Some(ticket) = self.ticket.take() else {
            return;
        };
        let state = &self.exchange.state;
        let (now, since) = ((state.clock)(), Instant::now());
        let finished = AssertUnwindSafe(async {
            state.sabotage_point(Moment::Finished);
            ticket.finished(now).await
        });
        let finished = finished.catch_unwind().await;
        self.exchange.kept(since);
        let state = &self.exchange.state;
        match finished {
            Ok(generation) => self.exchange.generation = generation,
            Err(_) => {
                state.metrics.failed(Failure::Keeping);
                tracing::error!("keeping what was said failed");
            }
        }
    }
}
