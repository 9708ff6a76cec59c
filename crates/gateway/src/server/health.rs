//! The health check.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use context::pin::{Origin, Pin, PinId};
use context::{Text, Tokens};
use history::{ConversationId, HistoryError, Pinned, Store, Tenant};
use jiff::Timestamp;
use serde::Serialize;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::config::Mode;
use crate::server::State as Gateway;

/// The longest that the store may take for a transaction.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tenant of test writes. Tenants of keys are hashes, so no key has this id.
const NOBODY: Tenant = Tenant::from_bytes(*b"ebbtide's health");

/// Writes and removes a pin. A transaction without a change would succeed even on a full disk.
fn touch(store: &mut dyn Store, now: Timestamp) -> Result<(), HistoryError> {
    let of = ConversationId::from_bytes([0; 16]);
    let text = "test write of the health check";
    let pin = Pin {
        id: PinId::of(text),
        text: Text::from(text),
        origin: Origin::Api,
        at: Some(now),
        tokens: Tokens::ZERO,
    };
    let id = pin.id;
    store.set_pin(of, &Pinned { pin, said_in: None })?;
    store.remove_pin(of, id)?;
    Ok(())
}

/// The health report. Its status is 200 while the gateway forwards requests, which it does without a working
/// store too.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Health {
    /// `ok`, or `degraded` if the store fails.
    status: &'static str,
    version: &'static str,
    /// `on` or `observe`.
    mode: &'static str,
    /// `ok` or `failing`.
    store: &'static str,
    upstreams: Upstreams,
}

/// The base URLs of the providers.
#[derive(Clone, Debug, Serialize)]
struct Upstreams {
    anthropic: String,
    openai: String,
}

pub(super) async fn health(State(gateway): State<Arc<Gateway>>) -> Json<Health> {
    let engine = Arc::clone(&gateway.core.parts().engine);
    let now = (gateway.clock)();
    let write = spawn_blocking(move || engine.write(NOBODY, &mut |store| touch(store, now)));
    let written = matches!(timeout(PATIENCE, write).await, Ok(Ok(Ok(()))));
    // On a full disk this small write may succeed where a message does not.
    let well = written && !gateway.core.is_forgetting();
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
