//! Sends a request, and smaller versions of it while the provider refuses it for a reason that can be mended.
//!
//! The head of any other refusal goes on at once. One that may be mended is read for [`PATIENCE`] at most;
//! then what came of it goes on as it came.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::conversations::{Endpoint, Outgoing, Remedy, Ticket, Verdict, drop_betas};
use crate::server::bridge;
use crate::server::exchange::Exchange;
use crate::server::guard::Stage;
use crate::server::headers;
use crate::server::opening::{self, Arrived, Opening};
use crate::server::proxy::{Reply, dispatch};
use crate::server::refusal::{Reason, whole};
use crate::server::relay::{Answer, Pending, next_frame};

/// The longest refusal that is read to see if another attempt can help.
const LONGEST: usize = 1 << 20;
/// The longest time for which a refusal is read.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most attempts after the first. The conversation ends them earlier.
const MOST: usize = 8;

/// A refusal that may be mended: its status, and its whole body.
type Refusal = (StatusCode, Bytes);

/// An answer, judged by its beginning.
enum Seen {
    /// Passes on to the client.
    Answer(Beginning),
    /// May be mended. If it is not, the client's answer begins with these bytes.
    Refusal(Refusal, Bytes),
}

/// The beginning of an answer.
#[derive(Default)]
struct Beginning {
    ahead: Bytes,
    /// True if the provider broke it off there.
    is_cut: bool,
    opening: Option<Opening>,
}

impl Beginning {
    const fn whole(ahead: Bytes) -> Self {
        Self {
            ahead,
            is_cut: false,
            opening: None,
        }
    }

    fn answer(
        self,
        response: Response<Incoming>,
        ticket: Option<Ticket>,
        parts: &Arc<Parts>,
    ) -> Box<Answer> {
        let head = (response.status(), response.headers().clone());
        let parts = Arc::clone(parts);
        Box::new(Answer {
            response,
            ahead: self.ahead,
            ticket,
            is_cut: self.is_cut,
            pending: self.opening.map(|opening| Pending {
                opening,
                parts,
                head,
            }),
        })
    }
}

/// Sends a request as decided, and again if another attempt can help against a refusal.
pub(super) async fn send(
    exchange: &mut Exchange,
    parts: Parts,
    outgoing: Outgoing,
    mut ticket: Ticket,
) -> Result<Reply, Reason> {
    exchange.decided(&outgoing);
    let parts = Arc::new(parts);
    let mut first = send_once(exchange, &parts, &outgoing).await?;
    let seen = look(exchange, &mut first, &ticket).await;
    if seen.is_err() {
        exchange.unanswered(&parts);
    }
    match seen? {
        Seen::Answer(beginning) => {
            let status = first.status();
            if !is_refusal(status) {
                return Ok(Reply::Upstream(beginning.answer(
                    first,
                    Some(ticket),
                    &parts,
                )));
            }
            // It is noted; there is no remedy without its words.
            let _ = refused(exchange, &mut ticket, &(status, Bytes::new())).await;
            Ok(Reply::Upstream(beginning.answer(first, None, &parts)))
        }
        Seen::Refusal(refusal, ahead) => {
            let instead = instead(exchange, &parts, ticket, refusal).await;
            Ok(instead.unwrap_or_else(|| {
                Reply::Upstream(Beginning::whole(ahead).answer(first, None, &parts))
            }))
        }
    }
}

/// Sends smaller versions of a refused request until the provider takes one. `None`: the client gets the first
/// refusal, which is about its own request; the others are about ours, which it does not know.
pub(super) async fn instead(
    exchange: &mut Exchange,
    parts: &Arc<Parts>,
    mut ticket: Ticket,
    mut refusal: Refusal,
) -> Option<Reply> {
    let mut failure = None;
    for _ in 0..MOST {
        let smaller = match refused(exchange, &mut ticket, &refusal).await {
            Remedy::PassOn => return failure,
            Remedy::SendAgain(smaller) => smaller,
            // The provider does not know what the client asked for.
            Remedy::Anew(verdict) => match *verdict {
                Verdict::Answer(direct) => return Some(Reply::Local(direct)),
                Verdict::Send(outgoing, renewed) => {
                    ticket = renewed;
                    outgoing
                }
            },
        };
        let sent = send_once(exchange, parts, &smaller).await;
        let status = sent.as_ref().map_or(502, |answer| answer.status().as_u16());
        exchange.state.metrics.rescued(status);
        let mut answer = sent.ok()?;
        match look(exchange, &mut answer, &ticket).await.ok()? {
            Seen::Answer(beginning) => {
                exchange.decided(&smaller);
                let ticket = (!is_refusal(answer.status())).then_some(ticket);
                return Some(Reply::Upstream(beginning.answer(answer, ticket, parts)));
            }
            Seen::Refusal(next, ahead) => {
                // A failure of the provider is the client's to try again.
                let fails = answer.status().is_server_error();
                failure = fails
                    .then(|| Reply::Upstream(Beginning::whole(ahead).answer(answer, None, parts)));
                refusal = next;
            }
        }
    }
    failure
}

/// Reads an answer as far as it takes to see if another attempt can help.
async fn look(
    exchange: &Exchange,
    answer: &mut Response<Incoming>,
    ticket: &Ticket,
) -> Result<Seen, Reason> {
    let status = answer.status();
    if is_refusal(status) {
        return Ok(match ticket.may_mend(status) {
            true => read_refusal(status, answer.body_mut()).await,
            false => Seen::Answer(Beginning::default()),
        });
    }
    // A stream in another dialect than the client's is not read ahead.
    let reads_ahead = ticket.may_overflow() && exchange.returning.bridge.is_none();
    let (Endpoint::Generate(dialect), true) = (exchange.route.endpoint, reads_ahead) else {
        return Ok(Seen::Answer(Beginning::default()));
    };
    let (shown, opening) = opening::read(exchange, answer, dialect).await?;
    Ok(match shown {
        // The status that this stream should have had.
        Arrived::TooLong(ahead, refusal) => {
            Seen::Refusal((StatusCode::BAD_REQUEST, refusal), ahead)
        }
        Arrived::Nothing(ahead) | Arrived::Content(ahead) => Seen::Answer(Beginning {
            ahead,
            is_cut: false,
            opening,
        }),
    })
}

/// Reads a refusal, if it is short and comes in time.
async fn read_refusal(status: StatusCode, body: &mut Incoming) -> Seen {
    let until = Instant::now() + PATIENCE;
    let mut read = BytesMut::new();
    let mut is_cut = false;
    while read.len() <= LONGEST {
        match timeout_at(until, next_frame(body, PATIENCE)).await {
            Ok(Ok(Some(frame))) => {
                if let Some(data) = frame.data_ref() {
                    read.extend_from_slice(data);
                }
            }
            Ok(Ok(None)) => {
                let whole = read.freeze();
                return Seen::Refusal((status, whole.clone()), whole);
            }
            Ok(Err(Reason::Silent)) | Err(_) => break,
            Ok(Err(_)) => {
                is_cut = true;
                break;
            }
        }
    }
    Seen::Answer(Beginning {
        ahead: read.freeze(),
        is_cut,
        opening: None,
    })
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

/// Asks the ticket about a refusal.
async fn refused(exchange: &Exchange, ticket: &mut Ticket, (status, body): &Refusal) -> Remedy {
    let state = &exchange.state;
    let now = (state.clock)();
    let asking = ticket.refused(*status, body, now);
    state
        .guarded(Stage::Refused, asking)
        .await
        .unwrap_or(Remedy::PassOn)
}
