//! What every page needs to know about the visit it is made for.

use jiff::Timestamp;

use super::assets::{Asset, assets};

/// One look at a page.
#[derive(Clone, Debug)]
pub struct Visit {
    /// When.
    pub now: Timestamp,
    /// Where the visitor reached the gateway: `http://127.0.0.1:4000`, without a slash at the end.
    pub base: String,
    /// `on` or `observe`.
    pub mode: &'static str,
    /// What a form has to send back to be obeyed.
    pub form: String,
    /// Whether the visitor signed in, and can sign out.
    pub signed_in: bool,
}

impl Visit {
    pub(super) fn style(&self) -> &'static str {
        assets().address(Asset::Style)
    }

    pub(super) fn script(&self) -> &'static str {
        assets().address(Asset::Script)
    }

    pub(super) fn icon(&self) -> &'static str {
        assets().address(Asset::Icon)
    }

    pub(super) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
