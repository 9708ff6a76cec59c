//! The facts about a visit that every page needs.

use jiff::Timestamp;

use super::assets::assets;

/// One visit to a page.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The time of the visit.
    pub now: Timestamp,
    /// The base URL at which the visitor reached the gateway, without a trailing slash.
    pub base: String,
    /// The gateway's mode, `on` or `observe`.
    pub mode: &'static str,
    /// The token that forms must send back.
    pub form: String,
    /// True if the visitor signed in and can sign out.
    pub signed_in: bool,
}

impl Visit {
    pub(super) fn style(&self) -> &'static str {
        &assets().style.address
    }

    pub(super) fn script(&self) -> &'static str {
        &assets().script.address
    }

    pub(super) fn icon(&self) -> &'static str {
        &assets().icon.address
    }

    pub(super) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
