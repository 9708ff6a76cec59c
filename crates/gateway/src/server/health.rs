//! The health check.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use context::pin::{Origin, Pin, PinId};
use context::{Text, Tokens};
use history::{ConversationId, HistoryError, Pinned, Store, Tenant};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::server::State as Gateway;

/// The longest that the store may take for a transaction.
const PATIENCE: Duration = Duration::from_secs(2);

/// The tenant of test writes. Tenants of keys are hashes, so no key has this id.
const TEST_TENANT: Tenant = Tenant::from_bytes(*b"ebbtide's health");

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

/// Reports the gateway's health. The HTTP status is always 200, since the gateway forwards requests even
/// without a working store. `status` is `degraded` if the store fails (`store` is `failing`), if records of it are
/// damaged (`damaged` counts them by kind), or if its file could not be opened and everything is kept in
/// memory (`instead_of_file` says why).
pub(super) async fn health(State(gateway): State<Arc<Gateway>>) -> Json<Value> {
    let engine = Arc::clone(&gateway.core.parts().engine);
    let now = (gateway.clock)();
    let write = spawn_blocking(move || engine.write(TEST_TENANT, &mut |store| touch(store, now)));
    let written = matches!(timeout(PATIENCE, write).await, Ok(Ok(Ok(()))));
    // On a full disk this small write may succeed where a message does not.
    let well = written && !gateway.core.is_forgetting();
    let state = gateway.core.parts().engine.state();
    let is_whole = state.damaged.is_empty() && state.instead_of_file.is_none();
    let damaged = state.damaged.iter();
    let damaged: BTreeMap<_, _> = damaged
        .map(|(kind, count)| (kind.as_str(), count))
        .collect();
    let config = &gateway.config;
    Json(json!({
        "status": if well && is_whole { "ok" } else { "degraded" },
        "version": env!("CARGO_PKG_VERSION"),
        "mode": config.mode_name(),
        "store": if well { "ok" } else { "failing" },
        "damaged": damaged,
        "instead_of_file": state.instead_of_file,
        "upstreams": {
            "anthropic": config.upstream.anthropic,
            "openai": config.upstream.openai,
            "chatgpt": config.upstream.chatgpt,
        },
    }))
}
