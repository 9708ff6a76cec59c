//! What the agent talks to: the simulated provider, and the gateway before it, each on a socket.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use gateway::Gateway;
use gateway::config::{Config as GatewayConfig, Policy, StrategyChoice, Upstreams};
use gateway::metrics::Failure as Failed;
use history::{Engine, Limits, MemoryEngine};
use history_sqlite::Sqlite;
use jiff::SignedDuration;
use sim::{Account, Clock, Config, Log, Script};
use tokio::net::TcpListener;

use super::Plan;
use super::evidence::Received;
use super::pace::Pace;
use super::script::Task;
use crate::failure::Failure;

/// What the keys of a store in memory are hashed with. It ends with the program.
const SECRET: [u8; 32] = *b"a demo has one tenant of no note";

/// A provider that runs, perhaps behind a gateway.
pub struct Stage {
    provider: sim::Running,
    received: Received,
    gateway: Option<gateway::Running>,
}

impl Stage {
    /// A provider alone, on a free port.
    pub async fn without(plan: &Plan, clock: &Clock) -> Result<Self, Failure> {
        let received = Received::default();
        let config = Config {
            window: Some(plan.window),
            latency: Some(Pace::new(plan.speed).running()),
            ..Config::default()
        };
        let log = Log::new(Box::new(received.clone()));
        let provider = sim::serve(listener().await?, config, clock.clone(), Some(log))
            .map_err(unlistenable)?;
        Ok(Self {
            provider,
            received,
            gateway: None,
        })
    }

    /// A provider with a gateway before it, on free ports.
    pub async fn with(plan: &Plan, clock: &Clock) -> Result<Self, Failure> {
        let mut stage = Self::without(plan, clock).await?;
        let url = stage.provider.url();
        let config = GatewayConfig {
            upstream: Upstreams {
                anthropic: url.clone(),
                openai: url,
            },
            policy: Policy {
                window: Some(plan.window),
                route: plan.route,
                strategy: StrategyChoice::from(Arc::clone(&plan.strategy)),
                // No request is held for the provider: what is measured beside its time is ours.
                patience: SignedDuration::ZERO,
                ..Policy::default()
            },
            ..GatewayConfig::default()
        };
        let gateway = Gateway {
            config,
            engine: engine(plan)?,
            clock: Arc::clone(clock),
        };
        let running = gateway::serve(listener().await?, gateway);
        stage.gateway = Some(running.map_err(|error| Failure::refused(&error))?);
        Ok(stage)
    }

    /// Where the agent sends its requests.
    pub fn url(&self) -> String {
        match &self.gateway {
            Some(gateway) => gateway.url(),
            None => self.provider.url(),
        }
    }

    /// Puts the answers of a task into the provider's mouth.
    pub fn rehearse(&self, task: &Task) {
        self.provider.provider().config_mut().script = Script::Steps(task.steps.clone());
    }

    /// What was received so far.
    pub fn received(&self) -> Vec<u8> {
        self.received.bytes()
    }

    /// What was used so far.
    pub fn account(&self) -> Account {
        self.provider.provider().total()
    }

    /// Whether the strategy failed, and the default took its place.
    pub fn strategy_failed(&self) -> bool {
        let metrics = self.gateway.as_ref().map(gateway::Running::metrics);
        metrics.is_some_and(|metrics| metrics.failures(Failed::Strategy) > 0)
    }

    /// Stops both, the gateway first.
    pub async fn shutdown(self) {
        if let Some(gateway) = self.gateway {
            gateway.shutdown().await;
        }
        self.provider.shutdown().await;
    }
}

/// A store in memory, or in the folder where things are kept.
fn engine(plan: &Plan) -> Result<Arc<dyn Engine>, Failure> {
    let Some(folder) = &plan.keep else {
        return Ok(Arc::new(MemoryEngine::new(SECRET, Limits::default())));
    };
    // A store of an earlier demo would know this conversation already.
    for name in ["demo.sqlite", "demo.sqlite-wal", "demo.sqlite-shm"] {
        // Where there is none, or it stays, opening it says what there is to say.
        let _ = fs::remove_file(folder.join(name));
    }
    let file = folder.join("demo.sqlite");
    let engine = Sqlite::open(&file, Limits::default());
    let engine = engine.map_err(|error| Failure::reported(&error, &file))?;
    Ok(Arc::new(engine))
}

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

async fn listener() -> Result<TcpListener, Failure> {
    TcpListener::bind(ANY).await.map_err(unlistenable)
}

fn unlistenable(source: std::io::Error) -> Failure {
    Failure::Unlistenable {
        address: ANY,
        source,
    }
}
