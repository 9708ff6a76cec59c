//! The outer half: sockets, bodies and streams.
//!
//! [`serve`] puts a [`Gateway`] on a listener. `accept` takes a connection; `route` classifies a request and
//! sends it to `control` (everything under `/ebbtide/`), to `tunnel` (WebSockets) or to `proxy`. `proxy` reads
//! it within the limits of `gate`, asks the inner half, sends it with `upstream` (`mending`: also again, smaller)
//! and streams the answer back through `relay`.

mod accept;
mod access;
mod bridge;
mod coding;
mod control;
mod credentials;
mod exchange;
mod gate;
mod guard;
mod headers;
mod health;
mod hooks;
mod mending;
mod opening;
mod proxy;
mod refusal;
mod relay;
mod route;
mod sites;
mod spans;
mod tunnel;
mod upload;
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
use crate::server::sites::Sites;
use crate::server::spans::Spans;
pub(crate) use crate::server::upstream::Upstream;

/// An error of a body.
pub(crate) type Broken = Box<dyn std::error::Error + Send + Sync>;
/// A streamed body, in either direction.
pub(crate) type Body = UnsyncBoxBody<Bytes, Broken>;

/// The longest that a shutdown waits for open answers.
const GRACE: Duration = Duration::from_secs(30);

/// The parts that a gateway needs.
pub struct Gateway {
    /// The configuration.
    pub config: Config,
    /// The engine of the history.
    pub engine: Arc<dyn Engine>,
    /// The source of time.
    pub clock: Clock,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The error of a gateway that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The listener has no address, or the system's certificates are unreadable.
    #[error("the gateway cannot start: {0}")]
    System(#[from] io::Error),
    /// The store failed.
    #[error("the gateway's store failed: {0}")]
    Store(#[from] HistoryError),
    /// The listener is reachable from other machines, and no admin token protects the gateway.
    #[error("{address} is reachable from other machines, and no admin token is set")]
    Exposed {
        /// The listen address.
        address: SocketAddr,
    },
    /// The strategy's file was not loaded.
    #[error("the strategy `{0}` was not loaded")]
    Strategy(String),
    /// An upstream URL is invalid.
    #[error("`{url}` is not a valid upstream: {reason}")]
    Upstream {
        /// The URL as configured.
        url: String,
        /// The reason.
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

/// The parts that answer under `/ebbtide/`.
pub(crate) struct ControlPlane {
    access: Access,
    reports: Arc<dyn Reports>,
    dashboard: Dashboard,
}

/// The state that all requests share.
pub(crate) struct State {
    core: Conversations,
    config: Arc<Config>,
    clock: Clock,
    metrics: Arc<Metrics>,
    upstream: Upstream,
    gate: Gate,
    sites: Sites,
    secret: [u8; 32],
    control: ControlPlane,
    spans: Spans,
    /// Upgraded connections, and bodies that are thrown away.
    tunnels: TaskTracker,
    stop: CancellationToken,
    /// Set once the warning about unidentified requests was logged.
    warned_unidentified: AtomicBool,
    #[cfg(test)]
    fail_at: Option<guard::Stage>,
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
        let control = ControlPlane {
            dashboard: Dashboard::new(pages, &config, secret, clock),
            access: Access::new(
                config.admin_token.clone(),
                secret,
                (config.sites.hosts.clone(), config.is_personal()),
            ),
            reports,
        };
        Ok(Self {
            secret,
            control,
            core,
            upstream: Upstream::new(&config)?,
            gate: Gate::new(config.limits),
            sites: Sites::new(config.listen, &config.sites.hosts, &config.sites.origins),
            spans: Spans::new(config.otlp.as_deref(), secret, (gateway.clock)())?,
            clock: gateway.clock,
            config,
            metrics,
            tunnels: TaskTracker::new(),
            stop: CancellationToken::new(),
            warned_unidentified: AtomicBool::new(false),
            #[cfg(test)]
            fail_at: None,
        })
    }
}

/// A running gateway. Dropping it does not stop it; call [`shutdown`](Self::shutdown).
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
    /// The address it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The gateway's metrics.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.state.metrics
    }

    /// The inner half.
    #[must_use]
    pub fn core(&self) -> &Conversations {
        &self.state.core
    }

    /// Refuses new requests, gives open answers up to 30 seconds to end, and stops once everything is
    /// recorded.
    pub async fn shutdown(self) {
        self.shutdown_within(GRACE).await;
    }

    /// Works like [`shutdown`](Self::shutdown) with another grace period.
    pub async fn shutdown_within(self, grace: Duration) {
        self.state.stop.cancel();
        self.state.tunnels.close();
        // Answers that never end must not block the shutdown.
        let ended = async {
            self.tasks.wait().await;
            self.state.tunnels.wait().await;
        };
        if timeout(grace, ended).await.is_err() {
            tracing::warn!("shut down before all answers had ended");
        }
        self.state.core.close().await;
        self.state.spans.close().await;
    }
}

/// Serves a gateway on `listener`.
///
/// # Errors
/// [`ServeError`], for example if the listener is reachable from other machines without an admin token.
pub fn serve(listener: TcpListener, gateway: Gateway) -> Result<Running, ServeError> {
    start(listener, State::new(gateway)?)
}

fn start(listener: TcpListener, mut state: State) -> Result<Running, ServeError> {
    let address = listener.local_addr()?;
    let sites = &state.config.sites;
    state.sites = Sites::new(address, &sites.hosts, &sites.origins);
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
    // Unpacks the most common vocabulary now instead of during the first request.
    tasks.spawn_blocking(|| tokens::Encoding::O200k.count("ready"));
    tasks.close();
    Ok(Running {
        address,
        state,
        tasks,
    })
}

/// Converts a validated duration; a negative one becomes zero.
fn duration(of: SignedDuration) -> Duration {
    Duration::try_from(of).unwrap_or_default()
}

#[cfg(test)]
mod tests;
