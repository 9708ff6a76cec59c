//! The abilities of providers, as far as the gateway must know them.

use std::sync::Arc;

use ::conversation::directory::Directory;
use ::conversation::identity::Key;
use context::Text;
use history::Tenant;
use jiff::Timestamp;
use tokens::Capability;
use wire::api::Dialect;

use super::running::Running;
use super::unknowing::Unknowing;
use crate::config::Config;

/// Knows which providers compact by themselves.
pub(super) struct Providers {
    pub(super) config: Arc<Config>,
    pub(super) directory: Arc<Directory<Running>>,
    /// Those that refused it.
    pub(super) unknowing: Unknowing,
}

impl Providers {
    /// Returns true if the provider itself compacts for this model when a client asks.
    pub(super) fn knows_compaction(
        &self,
        (tenant, url): (Tenant, &str),
        (dialect, model): (Dialect, &str),
        now: Timestamp,
    ) -> bool {
        if self.config.bridges(dialect) {
            return false;
        }
        if let Some(knows) = self.config.policy.native_compaction {
            return knows;
        }
        let known = self.directory.commons.model(&Text::from(model));
        known.can(Capability::NativeCompaction)
            && dialect.facts().compaction.native
            && !self
                .unknowing
                .has(self.key((tenant, url), (dialect, model)), now)
    }

    /// Remembers that a provider refused compaction for this model. Returns true if that is news: the provider was
    /// taken to know compaction, and no setting says so.
    pub(super) fn refused_compaction(
        &self,
        to: (Tenant, &str),
        model: (Dialect, &str),
        now: Timestamp,
    ) -> bool {
        self.knows_compaction(to, model, now)
            && self.config.policy.native_compaction.is_none()
            && self.unknowing.learn(self.key(to, model), now)
    }

    /// The key of a model at a server, whichever path of the dialect is asked.
    fn key(&self, (tenant, url): (Tenant, &str), (dialect, model): (Dialect, &str)) -> Key {
        let path = url
            .split('?')
            .next()
            .unwrap_or_default()
            .trim_end_matches('/');
        let server = &dialect.facts().server;
        let ends = server.generate.0.iter().chain(server.count.0);
        let longest = ends
            .filter(|end| path.ends_with(**end))
            .max_by_key(|end| end.len());
        let base = longest
            .and_then(|end| path.strip_suffix(end))
            .unwrap_or(path);
        self.directory.commons.model_key(tenant, base, model)
    }
}
