//! Takes connections in.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use http::{Request, Response};
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
use crate::server::refusal::Reason;
use crate::server::route::Provider;
use crate::server::{Body, Broken, State, duration, proxy};

/// How many bytes the headers of one request may have.
const LONGEST_HEADERS: usize = 128 << 10;
/// How many headers one request may have.
const MOST_HEADERS: usize = 200;
/// Requests at the same time on one HTTP/2 connection.
const MOST_STREAMS: u32 = 256;
/// How long to wait after a connection could not be accepted: usually there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Takes connections in until it is told to stop.
pub(super) struct Acceptor {
    pub(super) state: Arc<State>,
    /// What lies under `/ebbtide/`.
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
            let Some((stream, peer, place)) = accepted else {
                sleep(PAUSE).await;
                continue;
            };
            // Without it a small event waits for the acknowledgement of the one before.
            let _ = stream.set_nodelay(true);
            let connection = Connection {
                door: Door {
                    state: Arc::clone(&self.state),
                    control: self.control.clone(),
                    peer,
                },
                _place: place,
            };
            self.tasks.spawn(connection.run(stream));
        }
    }

    /// The next connection, once there is a place for it.
    async fn next(
        &self,
        listener: &TcpListener,
    ) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let place = self.state.gate.connection().await?;
        match listener.accept().await {
            Ok((stream, peer)) => Some((stream, peer, place)),
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                None
            }
        }
    }
}

/// Where the requests of one connection go.
#[derive(Clone)]
struct Door {
    state: Arc<State>,
    control: Router,
    peer: SocketAddr,
}

impl Door {
    async fn enter(self, mut request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        if path != "/ebbtide" && !path.starts_with("/ebbtide/") {
            return proxy::handle(self.state, self.peer, request).await;
        }
        request.extensions_mut().insert(Peer(self.peer));
        let control = TowerToHyperService::new(self.control);
        let patience = duration(self.state.config.limits.read);
        let Ok(answered) = timeout(patience, control.call(request)).await else {
            return Reason::TooSlow.respond(Provider::OpenAi);
        };
        let response = answered.unwrap_or_else(|never| match never {});
        response.map(|body| body.map_err(Broken::from).boxed_unsync())
    }
}

struct Connection {
    door: Door,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        let patience = duration(self.door.state.config.limits.read);
        let asked = Arc::new(AtomicBool::new(false));
        let service = {
            let (door, asked) = (self.door.clone(), Arc::clone(&asked));
            service_fn(move |request| {
                asked.store(true, Ordering::Relaxed);
                let door = door.clone();
                async move { Ok::<_, Infallible>(door.enter(request).await) }
            })
        };
        let server = builder(patience);
        let mut connection =
            pin!(server.serve_connection_with_upgrades(TokioIo::new(stream), service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.door.state.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            // What is read before the protocol is known has no time-out of its own.
            () = never_asked(&asked, patience) => return,
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }
}

/// Ends where no request has begun within `patience`; else never.
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
