//! The outer half: sockets, bodies and streams.
//!
//! [`serve`] puts a [`Gateway`] on a listener. A connection is taken in by `accept`, a request is
//! sorted by `route` and goes to `control` (everything under `/ebbtide/`), to `tunnel` (WebSockets) or to
//! `proxy`, which reads it within the limits of `gate`, asks the inner half, sends it with `upstream` and
//! gives the answer back through `relay`.

mod accept;
mod access;
mod control;
mod credentials;
mod exchange;
mod gate;
mod headers;
mod health;
mod opening;
mod proxy;
mod refusal;
mod relay;
mod route;
mod spans;
mod tunnel;
mod upstream;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use context::coded::{Coded, ErrorCode};
use history::{Engine, HistoryError};
use http_body_util::combinators::UnsyncBoxBody;
use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::conversations::{Clock, Conversations, Parts};
use crate::dashboard::Dashboard;
use crate::error;
use crate::metrics::Metrics;
use crate::report::Reports;
use crate::server::access::Access;
use crate::server::gate::Gate;
pub(crate) use crate::server::headers::remove_ours;
pub(crate) use crate::server::refusal::whole;
pub(crate) use crate::server::route::Provider;
use crate::server::spans::Spans;
pub(crate) use crate::server::upstream::Upstream;

/// What may break a body.
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;
/// A body on its way, in either direction.
pub(crate) type Body = UnsyncBoxBody<Bytes, Broken>;

/// How long open answers may take when the server is stopped.
const GRACE: Duration = Duration::from_secs(30);

/// What a gateway is made of.
pub struct Gateway {
    /// What was set.
    pub config: Config,
    /// Where the history is kept.
    pub engine: Arc<dyn Engine>,
    /// Tells the time.
    pub clock: Clock,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The listener has no address, or the system's certificates cannot be read.
    #[error("the gateway cannot start: {0}")]
    System(#[from] io::Error),
    /// The store fails.
    #[error("the gateway's store failed: {0}")]
    Store(#[from] HistoryError),
    /// It would listen beyond this machine, and nothing says who may look into it from there.
    #[error("{address} can be reached from other machines, and no admin token is set")]
    Exposed {
        /// Where it would listen.
        address: SocketAddr,
    },
    /// The strategy's file was not read.
    #[error("the strategy `{0}` was not read")]
    Strategy(String),
    /// An upstream's URL cannot be used.
    #[error("`{url}` cannot be used as an upstream: {reason}")]
    Upstream {
        /// The URL as given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl Coded for ServeError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::System(_) | Self::Strategy(_) => error::NO_START,
            Self::Store(_) => error::STORE,
            Self::Exposed { .. } => error::EXPOSED,
            Self::Upstream { .. } => error::BAD_UPSTREAM,
        }
    }

    fn hint(&self) -> Option<String> {
        context::coded::remedy(error::CODES, self.code())
    }
}

/// A moment at which the inner half is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Arrived,
    Refused,
    Answered,
    Piece,
    Finished,
}

/// What answers under `/ebbtide/`.
pub(crate) struct House {
    access: Access,
    reports: Arc<dyn Reports>,
    dashboard: Dashboard,
}

/// What all requests have in common.
pub(crate) struct State {
    core: Conversations,
    config: Arc<Config>,
    clock: Clock,
    metrics: Arc<Metrics>,
    upstream: Upstream,
    gate: Gate,
    secret: [u8; 32],
    house: House,
    spans: Spans,
    /// Connections that have left HTTP.
    tunnels: TaskTracker,
    stop: CancellationToken,
    /// Whether it was said that requests of nobody pass unread.
    nobody_was_told: AtomicBool,
    #[cfg(test)]
    sabotage: Option<Moment>,
}

impl State {
    fn new(gateway: Gateway) -> Result<Self, ServeError> {
        let strategy = &gateway.config.policy.strategy;
        if strategy.unread().is_some() {
            return Err(ServeError::Strategy(strategy.written().to_owned()));
        }
        let config = Arc::new(gateway.config);
        let metrics = Arc::new(Metrics::default());
        let parts = Parts {
            config: Arc::clone(&config),
            engine: Arc::clone(&gateway.engine),
            clock: Arc::clone(&gateway.clock),
            metrics: Arc::clone(&metrics),
        };
        let secret = gateway.engine.secret()?;
        let core = Conversations::new(parts)?;
        let reports: Arc<dyn Reports> = Arc::new(core.clone());
        let (pages, clock) = (Arc::clone(&reports), Arc::clone(&gateway.clock));
        let house = House {
            dashboard: Dashboard::new(pages, &config, secret, clock),
            access: Access::new(config.admin_token.clone(), secret),
            reports,
        };
        Ok(Self {
            secret,
            house,
            core,
            upstream: Upstream::new(&config.upstream)?,
            gate: Gate::new(config.limits),
            spans: Spans::new(config.otlp.as_deref(), secret, (gateway.clock)())?,
            clock: gateway.clock,
            config,
            metrics,
            tunnels: TaskTracker::new(),
            stop: CancellationToken::new(),
            nobody_was_told: AtomicBool::new(false),
            #[cfg(test)]
            sabotage: None,
        })
    }
}

impl State {
    /// In tests of what happens when the inner half panics, it does so here; else nothing happens.
    #[cfg_attr(
        not(test),
        expect(clippy::unused_self, reason = "only tests have something to look at")
    )]
    fn sabotage_point(&self, _moment: Moment) {
        #[cfg(test)]
        assert_ne!(self.sabotage, Some(_moment), "as the test wants it");
    }
}

/// A gateway that runs. Dropping it does not stop it; [`shutdown`](Self::shutdown) does.
pub struct Running {
    address: SocketAddr,
    state: Arc<State>,
    tasks: TaskTracker,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it has counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.state.metrics
    }

    /// The inner half.
    #[must_use]
    pub fn core(&self) -> &Conversations {
        &self.state.core
    }

    /// Takes no more requests, lets open answers end for half a minute at most, and stops when what
    /// was said is kept.
    pub async fn shutdown(self) {
        self.shutdown_within(GRACE).await;
    }

    /// As [`shutdown`](Self::shutdown), with another time for open answers.
    pub async fn shutdown_within(self, grace: Duration) {
        self.state.stop.cancel();
        self.state.tunnels.close();
        // Answers that never end are not waited for.
        let ended = async {
            self.tasks.wait().await;
            self.state.tunnels.wait().await;
        };
        if timeout(grace, ended).await.is_err() {
            tracing::warn!("answers that had not ended were cut");
        }
        self.state.core.close().await;
        self.state.spans.close().await;
    }
}

/// Serves a gateway on `listener`.
///
/// # Errors
/// Where the listener has no address or one beyond this machine without an admin token, the store fails
/// or an upstream's URL cannot be used.
pub fn serve(listener: TcpListener, gateway: Gateway) -> Result<Running, ServeError> {
    start(listener, State::new(gateway)?)
}

fn start(listener: TcpListener, state: State) -> Result<Running, ServeError> {
    let address = listener.local_addr()?;
    if !address.ip().to_canonical().is_loopback() && state.config.admin_token.is_none() {
        return Err(ServeError::Exposed { address });
    }
    let state = Arc::new(state);
    let tasks = TaskTracker::new();
    let acceptor = accept::Acceptor {
        state: Arc::clone(&state),
        control: control::router(Arc::clone(&state)),
        tasks: tasks.clone(),
    };
    tasks.spawn(acceptor.run(listener));
    // The vocabulary that nearly every model is counted with is unpacked now, not while the first
    // request waits.
    tasks.spawn_blocking(|| tokens::Encoding::O200k.count("ready"));
    tasks.close();
    Ok(Running {
        address,
        state,
        tasks,
    })
}

/// A duration that was checked when it was set; a negative one is none.
fn duration(of: SignedDuration) -> Duration {
    Duration::try_from(of).unwrap_or_default()
}

#[cfg(test)]
mod tests;
