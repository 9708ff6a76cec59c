//! The sender of requests.

use conversation::Origin;
use conversation::incoming::{label, labels};
use history::{Labels, Tenant};
use wire::api::Dialect;

/// The sender of requests: its tenant, its API dialect, and the names it gives.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) tenant: Tenant,
    pub(crate) dialect: Dialect,
    labels: Labels,
    names_agents: bool,
}

impl Client {
    pub(crate) fn new(tenant: Tenant) -> Self {
        Self {
            tenant,
            dialect: Dialect::Anthropic,
            labels: Labels::default(),
            names_agents: false,
        }
    }

    /// The API that its requests and answers speak. Default: Anthropic Messages.
    #[must_use]
    pub const fn speaking(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// A name for the session. It helps people; conversations are recognized by what was said.
    #[must_use]
    pub fn session(mut self, name: &str) -> Self {
        self.labels.session = label(name);
        self
    }

    /// The agent within the session. Requests of another agent never join its conversations.
    #[must_use]
    pub fn agent(mut self, name: &str) -> Self {
        self.labels.agent = label(name);
        self.names_agents = true;
        self
    }

    /// The names that HTTP headers give: `x-ebbtide-session`, and those of Claude Code.
    #[must_use]
    pub fn headers<'h>(mut self, header: impl Fn(&str) -> Option<&'h str>) -> Self {
        (self.labels, self.names_agents) = labels(header);
        self
    }

    pub(crate) fn origin(&self) -> Origin<'static> {
        Origin {
            tenant: self.tenant,
            // Every engine has one upstream, as far as it knows.
            url: "",
            labels: self.labels.clone(),
            names_agents: self.names_agents,
        }
    }
}
