//! A provider and a gateway on separate threads, so that the gateway can be killed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use context::Tokens;
use gateway::config::{Config, RouteChoice, Upstreams};
use gateway::server::{Gateway, Running, serve};
use history_sqlite::Sqlite;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The time-out of a client.
pub const READ_LIMIT: Duration = Duration::from_millis(1500);

/// The window: about ten of the user's messages.
pub const WINDOW: u64 = 6_000;

pub struct Stage {
    sim: Runtime,
    pub provider: sim::Running,
    pub log: Received,
    folder: tempfile::TempDir,
    route: RouteChoice,
    /// True if summaries come early, so that there is room to take a swap back.
    pub early: bool,
    gateway: Option<(Runtime, Running)>,
}

/// The requests that the provider received, one per line.
#[derive(Clone, Default)]
pub struct Received(Arc<Mutex<Vec<u8>>>);

impl Received {
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Write for Received {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Stage {
    pub fn new(route: RouteChoice) -> Self {
        let sim = runtime();
        let log = Received::default();
        let config = sim::Config {
            window: Some(Tokens::new(WINDOW)),
            ..sim::Config::default()
        };
        let kept = sim::Log::new(Box::new(log.clone()));
        let provider = sim
            .block_on(async { sim::serve(listener().await, config, clock(), Some(kept)) })
            .unwrap();
        Self {
            sim,
            provider,
            log,
            folder: tempfile::tempdir().unwrap(),
            route,
            early: false,
            gateway: None,
        }
    }

    /// Returns the gateway's URL, after starting it if necessary.
    pub fn url(&mut self) -> String {
        if self.gateway.is_none() {
            let runtime = runtime();
            let upstream = self.provider.url();
            let made = gateway(&self.store(), &upstream, (self.route, self.early));
            let running = runtime
                .block_on(async { serve(listener().await, made) })
                .unwrap();
            self.gateway = Some((runtime, running));
        }
        let (_, running) = self.gateway.as_ref().unwrap();
        running.url()
    }

    /// Stops the gateway like a crash, without a shutdown.
    pub fn kill(&mut self) {
        if let Some((runtime, running)) = self.gateway.take() {
            drop(running);
            runtime.shutdown_background();
        }
    }

    /// Shuts the gateway down.
    pub fn close(&mut self) {
        if let Some((runtime, running)) = self.gateway.take() {
            runtime.block_on(running.shutdown());
        }
    }

    pub fn store(&self) -> PathBuf {
        self.folder.path().join("history.sqlite")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.kill();
        // Does not wait for the provider's open answers, such as summaries that never arrive.
        let sim = std::mem::replace(&mut self.sim, runtime());
        sim.shutdown_background();
    }
}

fn gateway(store: &Path, upstream: &str, (route, early): (RouteChoice, bool)) -> Gateway {
    let mut config = Config {
        upstream: Upstreams {
            anthropic: upstream.to_owned(),
            openai: upstream.to_owned(),
            ..Upstreams::default()
        },
        store: Some(store.to_owned()),
        tenants: gateway::config::Tenancy::Keys,
        ..Config::default()
    };
    config.policy.window = Some(Tokens::new(WINDOW));
    config.policy.route = route;
    if early {
        (config.policy.soft, config.policy.hard) = (Some(0.15), Some(0.3));
    }
    config.limits.read = READ_LIMIT.try_into().unwrap();
    Gateway {
        config,
        engine: Arc::new(Sqlite::open(store, history::Limits::NONE).unwrap()),
        clock: clock(),
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the gateway runs in real time here"
)]
fn clock() -> Arc<dyn Fn() -> Timestamp + Send + Sync> {
    Arc::new(Timestamp::now)
}
