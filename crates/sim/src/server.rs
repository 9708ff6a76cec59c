//! The provider over HTTP.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::Incoming as Inbound;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::exchange::{Answer, Body, End, Incoming, Timed};
use crate::log::Log;
use crate::provider::{LONGEST_BODY, Provider};

/// Tells the time. Only the binary knows a real one.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The time that open answers get when the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// A server that runs.
pub struct Running {
    address: SocketAddr,
    state: Arc<State>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

struct State {
    provider: Mutex<Provider>,
    clock: Clock,
    log: Option<Log>,
    slots: Option<Arc<Semaphore>>,
    stop: CancellationToken,
}

impl State {
    fn provider(&self) -> MutexGuard<'_, Provider> {
        self.provider.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// The address that the server listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The provider, to inject faults, read accounts, change what is chosen. Requests wait while it is
    /// held.
    pub fn provider(&self) -> MutexGuard<'_, Provider> {
        self.state.provider()
    }

    /// Takes no more requests, lets open answers end for a while, and stops.
    pub async fn shutdown(self) {
        self.stop.cancel();
        // Answers that never come are not waited for.
        let _ = timeout(GRACE, self.tasks.wait()).await;
    }
}

/// Serves a provider on `listener`.
///
/// # Errors
/// The listener has no address.
pub fn serve(
    listener: TcpListener,
    config: Config,
    clock: Clock,
    log: Option<Log>,
) -> io::Result<Running> {
    let address = listener.local_addr()?;
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();
    let slots = config
        .slots
        .map(|slots| slots.clamp(1, Semaphore::MAX_PERMITS));
    let state = Arc::new(State {
        slots: slots.map(|slots| Arc::new(Semaphore::new(slots))),
        provider: Mutex::new(Provider::new(config)),
        clock,
        log,
        stop: stop.clone(),
    });
    tasks.spawn(accept(
        listener,
        Arc::clone(&state),
        stop.clone(),
        tasks.clone(),
    ));
    tasks.close();
    Ok(Running {
        address,
        state,
        stop,
        tasks,
    })
}

async fn accept(
    listener: TcpListener,
    state: Arc<State>,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    continue;
                }
            },
        };
        // Without it a small event waits for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let state = Arc::clone(&state);
        let service = service_fn(move |request| {
            let state = Arc::clone(&state);
            async move { handle(&state, request).await }
        });
        let server = Builder::new(TokioExecutor::new());
        let connection = server
            .serve_connection(TokioIo::new(stream), service)
            .into_owned();
        let stop = stop.clone();
        tasks.spawn(async move {
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
}

/// The connection is closed on purpose.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed by the simulated provider")]
struct Broken;

type Out = BoxBody<Bytes, Broken>;

async fn handle(state: &State, request: Request<Inbound>) -> Result<Response<Out>, Broken> {
    let (parts, body) = request.into_parts();
    // One byte more than may come, so that the provider sees that it is too much.
    let limited = Limited::new(body, LONGEST_BODY + 1);
    let body = match limited.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            let text = crate::anthropic::request::too_large().anthropic("req_0");
            return respond(Answer::json(413, text), (Instant::now(), None));
        }
        Err(_) => return Err(Broken),
    };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let incoming = Incoming {
        method: &parts.method,
        path,
        headers: &parts.headers,
        body: &body,
        now: (state.clock)(),
    };
    if let Some(log) = &state.log
        && let Err(error) = log.write(&incoming)
    {
        tracing::warn!(%error, "a request was not logged");
    }
    let slot = slot(state, &incoming).await;
    let came = Instant::now();
    let answer = state.provider().answer(&incoming);
    let due = match &answer.body {
        Body::Whole { after, .. } => came + *after,
        Body::Stream { .. } => came,
        Body::Reset => return Err(Broken),
        Body::Never => {
            state.stop.cancelled().await;
            return Err(Broken);
        }
    };
    if due > came {
        sleep_until(due).await;
    }
    respond(answer, (came, slot))
}

/// A place among the requests that are answered at a time.
type Slot = Option<OwnedSemaphorePermit>;

/// Waits until the request is answered. One that generates nothing needs no slot.
async fn slot(state: &State, incoming: &Incoming<'_>) -> Slot {
    let generates = incoming.method == Method::POST && !incoming.path.contains("_tokens");
    let slots = state.slots.as_ref().filter(|_| generates)?;
    Arc::clone(slots).acquire_owned().await.ok()
}

fn respond(answer: Answer, (came, slot): (Instant, Slot)) -> Result<Response<Out>, Broken> {
    let status = StatusCode::from_u16(answer.status).map_err(|_| Broken)?;
    let (kind, body) = match answer.body {
        Body::Whole { text, .. } => {
            let whole = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
            ("application/json", whole.boxed())
        }
        Body::Stream { events, end } => {
            let body = StreamBody::new(frames(events, end, (came, slot)));
            ("text/event-stream; charset=utf-8", BodyExt::boxed(body))
        }
        Body::Reset | Body::Never => return Err(Broken),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    Ok(response)
}

/// The events when they are due; those due at once go together.
fn frames(
    events: Vec<Timed>,
    end: End,
    (came, slot): (Instant, Slot),
) -> impl stream::Stream<Item = Result<Frame<Bytes>, Broken>> + Send + Sync {
    let waiting = events.into_iter().peekable();
    // The slot is free when the stream is dropped, whole or not.
    stream::unfold(
        (waiting, Some(end), slot),
        move |(mut waiting, end, slot)| async move {
            let Some(first) = waiting.next() else {
                // A broken end comes once; after it the stream is over.
                let Some(End::Cut) = end else {
                    return None;
                };
                // Earlier pieces are written out first: an answer that is cut has begun.
                tokio::task::yield_now().await;
                return Some((Err(Broken), (waiting, None, slot)));
            };
            let due = came + first.after;
            if due > Instant::now() {
                sleep_until(due).await;
            }
            let mut text = first.event.encode();
            while let Some(next) = waiting.next_if(|next| next.after == first.after) {
                text.push_str(&next.event.encode());
            }
            Some((Ok(Frame::data(Bytes::from(text))), (waiting, end, slot)))
        },
    )
}
