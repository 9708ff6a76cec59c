//! Accepts connections.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use http::header::{ACCEPT, LOCATION};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use crate::server::control::Peer;
use crate::server::refusal::{Reason, whole};
use crate::server::route::{self, Provider};
use crate::server::{Body, Broken, State, duration, proxy};

/// The most bytes of headers per request.
const LONGEST_HEADERS: usize = 128 << 10;
/// The most headers per request.
const MOST_HEADERS: usize = 200;
/// Concurrent requests per HTTP/2 connection.
const MOST_STREAMS: u32 = 256;
/// The pause after a failed accept, which usually means too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until it is told to stop.
pub(super) struct Acceptor {
    pub(super) state: Arc<State>,
    /// The routes under `/ebbtide/`, and `/mcp`.
    pub(super) control: Router,
    pub(super) tasks: TaskTracker,
}

impl Acceptor {
    pub(super) async fn run(self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.state.stop.cancelled() => break,
                accepted = self.next(&listener) => accepted,
            };
            let Some((stream, peer, slot)) = accepted else {
                sleep(PAUSE).await;
                continue;
            };
            // Otherwise a small event waits for the acknowledgement of the one before.
            let _ = stream.set_nodelay(true);
            let connection = Connection {
                dispatcher: Dispatcher {
                    state: Arc::clone(&self.state),
                    control: self.control.clone(),
                    peer,
                },
                _slot: slot,
            };
            self.tasks.spawn(connection.run(stream));
        }
    }

    /// Returns the next connection once there is capacity for it.
    async fn next(
        &self,
        listener: &TcpListener,
    ) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let slot = self.state.gate.connection().await?;
        match listener.accept().await {
            Ok((stream, peer)) => Some((stream, peer, slot)),
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                None
            }
        }
    }
}

/// Routes the requests of one connection.
#[derive(Clone)]
struct Dispatcher {
    state: Arc<State>,
    control: Router,
    peer: SocketAddr,
}

impl Dispatcher {
    async fn dispatch(self, mut request: Request<Incoming>) -> Response<Body> {
        if let Some(tidy) = route::tidied(request.uri()) {
            *request.uri_mut() = tidy;
        }
        let path = request.uri().path();
        // Clients ask if the base URL answers. A provider would say that there is nothing.
        if request.method() == Method::HEAD && path == "/" {
            return Response::new(whole(Bytes::new()));
        }
        if request.method() == Method::GET && path == "/" && is_browser(&request) {
            return to_dashboard();
        }
        if !matches!(path, "/ebbtide" | "/mcp") && !path.starts_with("/ebbtide/") {
            return proxy::handle(self.state, self.peer, request).await;
        }
        request.extensions_mut().insert(Peer(self.peer));
        let control = TowerToHyperService::new(self.control);
        let patience = duration(self.state.config.limits.read);
        let Ok(answered) = timeout(patience, control.call(request)).await else {
            return Reason::TooSlow.respond(Provider::OpenAi, None);
        };
        let response = answered.unwrap_or_else(|never| match never {});
        response.map(|body| body.map_err(Broken::from).boxed_unsync())
    }
}

/// Returns true if a person looks at the answer: clients of an API do not ask for a page.
fn is_browser(request: &Request<Incoming>) -> bool {
    let accepted = request.headers().get(ACCEPT);
    let accepted = accepted.and_then(|it| it.to_str().ok()).unwrap_or_default();
    accepted.contains("text/html")
}

fn to_dashboard() -> Response<Body> {
    let mut response = Response::new(whole(Bytes::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    let place = HeaderValue::from_static("/ebbtide/");
    response.headers_mut().insert(LOCATION, place);
    response
}

struct Connection {
    dispatcher: Dispatcher,
    _slot: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        let patience = duration(self.dispatcher.state.config.limits.read);
        let asked = Arc::new(AtomicBool::new(false));
        let service = {
            let (dispatcher, asked) = (self.dispatcher.clone(), Arc::clone(&asked));
            service_fn(move |request| {
                asked.store(true, Ordering::Relaxed);
                let dispatcher = dispatcher.clone();
                async move { Ok::<_, Infallible>(dispatcher.dispatch(request).await) }
            })
        };
        let server = builder(patience);
        let mut connection =
            pin!(server.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let ended = tokio::select! {
                    ended = connection.as_mut() => ended,
        () = self.dispatcher.state.stop.cancelled() => {
                        connection.as_mut().graceful_shutdown();
                        connection.await
                    }
        // Reading the protocol's preface has no time-out of its own.
                    () = never_asked(&asked, patience) => return,
                };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }
}

/// Resolves after `patience` if no request has begun by then; otherwise never.
async fn never_asked(asked: &AtomicBool, patience: Duration) {
    sleep(patience).await;
    if asked.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

fn builder(patience: Duration) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(LONGEST_HEADERS)
        .max_headers(MOST_HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(LONGEST_HEADERS).unwrap_or(u32::MAX))
        .max_concurrent_streams(MOST_STREAMS)
        .keep_alive_interval(patience)
        .adaptive_window(true);
    builder
}
