//! Whether the gateway is well.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use history::Tenant;
use serde::Serialize;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::config::Mode;
use crate::server::State as Gateway;

/// How long the store may take to take a transaction.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the gateway is well. It answers with 200 as long as it passes requests on, which it does
/// without a store too.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Health {
    /// `ok`, or `degraded` where the store fails.
    status: &'static str,
    version: &'static str,
    /// `on` or `observe`.
    mode: &'static str,
    /// `ok` or `failing`.
    store: &'static str,
    upstreams: Upstreams,
}

/// Where requests go.
#[derive(Clone, Debug, Serialize)]
struct Upstreams {
    anthropic: String,
    openai: String,
}

pub(super) async fn health(State(gateway): State<Arc<Gateway>>) -> Json<Health> {
    let engine = Arc::clone(&gateway.core.parts().engine);
    let write = spawn_blocking(move || engine.write(Tenant::ANONYMOUS, &mut |_| Ok(())));
    let well = matches!(timeout(PATIENCE, write).await, Ok(Ok(Ok(()))));
    let config = &gateway.config;
    Json(Health {
        status: if well { "ok" } else { "degraded" },
        version: env!("CARGO_PKG_VERSION"),
        mode: match config.mode {
            Mode::On => "on",
            Mode::Observe => "observe",
        },
        store: if well { "ok" } else { "failing" },
        upstreams: Upstreams {
            anthropic: config.upstream.anthropic.clone(),
            openai: config.upstream.openai.clone(),
        },
    })
}
