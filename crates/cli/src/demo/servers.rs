//! The servers that the agent talks to: a simulated provider, with or without a gateway before it.

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
use super::audit::RequestLog;
use super::script::Task;
use super::timing::Timing;
use crate::failure::Failure;

/// The hash key for tenants in the in-memory store, which ends with the process.
const SECRET: [u8; 32] = *b"a demo has one tenant of no note";

/// A running provider, with or without a gateway.
pub struct Servers {
    provider: sim::Running,
    received: RequestLog,
    gateway: Option<gateway::Running>,
}

impl Servers {
    /// Starts a provider on a free port.
    pub async fn without_gateway(plan: &Plan, clock: &Clock) -> Result<Self, Failure> {
        let received = RequestLog::default();
        let config = Config {
            window: Some(plan.window),
            latency: Some(Timing::new(plan.speed).running()),
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

    /// Starts a provider and a gateway on free ports.
    pub async fn with_gateway(plan: &Plan, clock: &Clock) -> Result<Self, Failure> {
        let mut servers = Self::without_gateway(plan, clock).await?;
        let url = servers.provider.url();
        let config = GatewayConfig {
            upstream: Upstreams {
                anthropic: url.clone(),
                openai: url,
                ..Upstreams::default()
            },
            policy: Policy {
                window: Some(plan.window),
                route: plan.route,
                strategy: StrategyChoice::from(Arc::clone(&plan.strategy)),
                // The gateway holds no request for a summary, so the measured time is its own.
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
        servers.gateway = Some(running.map_err(|error| Failure::of(&error))?);
        Ok(servers)
    }

    /// The base URL for the agent.
    pub fn url(&self) -> String {
        match &self.gateway {
            Some(gateway) => gateway.url(),
            None => self.provider.url(),
        }
    }

    /// Gives the provider the scripted answers of a task.
    pub fn rehearse(&self, task: &Task) {
        self.provider.provider().config_mut().script = Script::Steps(task.steps.clone());
    }

    /// The request log so far, as JSON lines.
    pub fn received(&self) -> Vec<u8> {
        self.received.bytes()
    }

    /// The provider's account so far.
    pub fn account(&self) -> Account {
        self.provider.provider().total()
    }

    /// Says if the strategy failed and the gateway fell back to the default.
    pub fn strategy_failed(&self) -> bool {
        let metrics = self.gateway.as_ref().map(gateway::Running::metrics);
        metrics.is_some_and(|metrics| metrics.failures(Failed::Strategy) > 0)
    }

    /// Stops the gateway, then the provider.
    pub async fn shutdown(self) {
        if let Some(gateway) = self.gateway {
            gateway.shutdown().await;
        }
        self.provider.shutdown().await;
    }
}

/// Opens a store in the folder to keep, or else in memory.
fn engine(plan: &Plan) -> Result<Arc<dyn Engine>, Failure> {
    let Some(folder) = &plan.keep else {
        return Ok(Arc::new(MemoryEngine::new(SECRET, Limits::default())));
    };
    // The store of an earlier demo would already know this conversation.
    for name in ["demo.sqlite", "demo.sqlite-wal", "demo.sqlite-shm"] {
        // If a file cannot be removed, opening the store reports it.
        let _ = fs::remove_file(folder.join(name));
    }
    let file = folder.join("demo.sqlite");
    let engine = Sqlite::open(&file, Limits::default());
    let engine = engine.map_err(|error| Failure::of(&error).at(&file.display()))?;
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
