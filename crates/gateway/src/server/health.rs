//! Whether the gateway is well.

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

/// How long the store may take to take a transaction.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whose store is written to see whether it can be. No key makes this tenant: those of keys are hashes.
const NOBODY: Tenant = Tenant::from_bytes(*b"ebbtide's health");

/// Writes something and takes it away again. A transaction without a change would succeed on a disk that
/// is full.
fn touch(store: &mut dyn Store, now: Timestamp) -> Result<(), HistoryError> {
    let of = ConversationId::from_bytes([0; 16]);
    let text = "written to see whether it can be";
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
    let now = (gateway.clock)();
    let write = spawn_blocking(move || engine.write(NOBODY, &mut |store| touch(store, now)));
    let written = matches!(timeout(PATIENCE, write).await, Ok(Ok(Ok(()))));
    // Where room is short, so little may be taken and a message not.
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
