//! The configuration, merged from the defaults, `ebbtide.toml`, the environment and flags.

mod effective;
mod error;
mod read;
mod setting;
mod show;
mod strategy;

use std::net::SocketAddr;
use std::path::PathBuf;

use context::Tokens;
use conversation::Terms;
use conversation::homunculus::hosted::PinKeeping;
use jiff::SignedDuration;
use wire::api::Dialect;

pub use conversation::{Mode, RouteChoice};
pub use effective::{Effective, Flag, Origin, Sources};
pub use error::ConfigError;
pub use read::age;
pub use setting::{SETTINGS, Setting, Visibility};
pub use strategy::StrategyChoice;

/// The complete configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The base URLs that requests go to.
    pub upstream: Upstreams,
    /// Sends Responses requests to the OpenAI upstream as Chat Completions.
    pub openai_over_chat: bool,
    /// The file of the history; `None` keeps it in memory.
    pub store: Option<PathBuf>,
    /// The mode of operation.
    pub mode: Mode,
    /// The settings of compaction.
    pub policy: Policy,
    /// The limits on what is held at once.
    pub limits: ServerLimits,
    /// Decides which requests share a tenant.
    pub tenants: Tenancy,
    /// The header that names the tenant instead of the API key; `None` uses the key.
    pub tenant_header: Option<http::HeaderName>,
    /// Grants its bearer the control API and the dashboard from any machine, for all tenants. Never
    /// printed.
    pub admin_token: Option<Secret>,
    /// The hosts that requests may name, and the pages that may send some.
    pub sites: SiteNames,
    /// The base URL for OpenTelemetry spans (OTLP over HTTP); `None` exports none.
    pub otlp: Option<String>,
}

/// Further names that requests may carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteNames {
    /// Hosts by which the gateway may be addressed, besides `localhost` and IP addresses.
    pub hosts: Vec<String>,
    /// The origins of pages of other sites that may send requests.
    pub origins: Vec<String>,
}

/// The requests that share a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tenancy {
    /// All requests if the address to listen on is a loopback one and no admin token is set; otherwise
    /// those with the same key.
    #[default]
    Auto,
    /// Those with the same key.
    Keys,
    /// All of them.
    One,
}

/// The host of OpenAI's APIs.
const OPENAI: &str = "api.openai.com";

/// The base URLs of the providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    /// The Anthropic Messages API.
    pub anthropic: String,
    /// OpenAI Chat Completions and Responses.
    pub openai: String,
    /// The API of clients that are signed in with a ChatGPT plan, as Codex can be; `None` sends their requests to
    /// `openai`.
    pub chatgpt: Option<String>,
}

/// The settings of compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The window of every model; `None` uses the model's own.
    pub window: Option<Tokens>,
    /// The way summaries are made.
    pub route: RouteChoice,
    /// The strategy that decides when to compact.
    pub strategy: StrategyChoice,
    /// The share of the window that starts a preparation; `None` lets the strategy decide.
    pub soft: Option<f64>,
    /// Moves the soft threshold by what the agent does.
    pub adaptive: bool,
    /// The share of the window that the user's own words may have in front of a summary.
    pub user_words: f64,
    /// The share of the window that triggers a swap; `None` lets the strategy decide.
    pub hard: Option<f64>,
    /// The longest that a request waits for a summary that is not ready.
    pub patience: SignedDuration,
    /// The requests that the model server handles at a time; `None` lets the gateway notice if it
    /// is one.
    pub slots: Option<usize>,
    /// The model that writes readable summaries; `None` uses the agent's model.
    pub summariser: Option<Summariser>,
    /// Adds notes that tell the agent about the state of its memory.
    pub notes: bool,
    /// The largest tool result that is first sent whole; `None` shortens none.
    pub shrink: Option<Tokens>,
    /// Places cache breakpoints for clients that set none.
    pub breakpoints: bool,
    /// Asks the provider why its cache missed a changed request; `None` asks only Anthropic
    /// itself, since a compatible server may reject the unknown field.
    pub diagnose: Option<bool>,
    /// Answers the client's own compaction.
    pub answer_compaction: bool,
    /// States if the provider itself compacts when a client asks; `None` goes by the model, until the
    /// provider refuses.
    pub native_compaction: Option<bool>,
}

/// A separate model for summaries, possibly at another endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summariser {
    /// The model's name.
    pub model: String,
    /// The base URL of its endpoint; `None` uses the agent's.
    pub url: Option<String>,
    /// The API of the endpoint; `None` uses the agent's.
    pub dialect: Option<wire::api::Dialect>,
    /// The API key; `None` uses the agent's. Never printed.
    pub key: Option<Secret>,
}

/// The limits on what is held at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The largest request body, in bytes.
    pub body: usize,
    /// The longest that a client may take to send a request.
    pub read: SignedDuration,
    /// The longest that a provider may stay silent.
    pub silence: SignedDuration,
    /// Concurrent requests.
    pub requests: usize,
    /// Bytes of request bodies held at once.
    pub bodies: usize,
    /// Conversations kept in memory; the least recently seen one leaves first.
    pub conversations: usize,
    /// The idle time after which a conversation leaves memory.
    pub idle: SignedDuration,
    /// Summaries prepared at once.
    pub preparations: usize,
    /// The idle time after which a conversation is removed from the store; `None` keeps it.
    pub retention: Option<SignedDuration>,
}

/// A string that is never printed or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Config {
    /// The settings of every conversation.
    #[must_use]
    pub fn terms(&self) -> Terms {
        let policy = &self.policy;
        Terms {
            mode: self.mode,
            route: policy.route_at_provider(),
            program: policy.strategy.program(),
            window: policy.window,
            soft: policy.soft,
            adaptive: policy.adaptive,
            hard: policy.hard,
            patience: policy.patience,
            notes: policy.notes,
            shrink: policy.shrink,
            user_words: policy.user_words,
            breakpoints: policy.breakpoints,
            diagnose: policy.diagnose.unwrap_or_else(|| self.asks_anthropic()),
            answer_compaction: policy.answer_compaction,
            pins: PinKeeping::Restated,
            longest_body: self.limits.body,
        }
    }

    /// Returns true if requests go to Anthropic itself.
    fn asks_anthropic(&self) -> bool {
        let upstream = self.upstream.anthropic.parse::<http::Uri>().ok();
        let host = upstream.as_ref().and_then(http::Uri::host);
        host.is_some_and(|host| host == "anthropic.com" || host.ends_with(".anthropic.com"))
    }

    /// The base URL for requests that are signed in with a ChatGPT plan. `None` if they go to the OpenAI upstream like
    /// all others: it is not OpenAI itself, which refuses them, or is asked in another dialect.
    pub(crate) fn chatgpt(&self) -> Option<&str> {
        let upstream = self.upstream.openai.parse::<http::Uri>().ok()?;
        let is_openai = upstream.host() == Some(OPENAI);
        let chatgpt = self.upstream.chatgpt.as_deref();
        chatgpt.filter(|_| is_openai && !self.openai_over_chat)
    }

    /// Returns true if requests of this dialect reach their provider in another one.
    pub(crate) fn bridges(&self, dialect: Dialect) -> bool {
        self.openai_over_chat && dialect.facts().server.bridged.is_some()
    }

    /// The mode as in `ebbtide.toml` and in reports.
    #[must_use]
    pub const fn mode_name(&self) -> &'static str {
        match self.mode {
            Mode::On => "on",
            Mode::Observe => "observe",
        }
    }
}

impl Policy {
    /// The way summaries are made; a provider without compaction has no native one.
    const fn route_at_provider(&self) -> RouteChoice {
        match (self.native_compaction, self.route) {
            (Some(false), RouteChoice::Auto | RouteChoice::Native) => RouteChoice::Readable,
            (_, route) => route,
        }
    }
}

impl Config {
    /// Returns true if the requests of this machine's user are one tenant, whatever key they carry. Clients
    /// renew their keys, and on a machine of one's own a new key is no other person.
    #[must_use]
    pub const fn is_personal(&self) -> bool {
        match self.tenants {
            Tenancy::Auto => self.listen.ip().is_loopback() && self.admin_token.is_none(),
            Tenancy::Keys => false,
            Tenancy::One => true,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 4000)),
            upstream: Upstreams::default(),
            openai_over_chat: false,
            store: None,
            mode: Mode::default(),
            policy: Policy::default(),
            limits: ServerLimits::default(),
            tenants: Tenancy::default(),
            tenant_header: None,
            admin_token: None,
            sites: SiteNames::default(),
            otlp: None,
        }
    }
}

impl Default for Upstreams {
    fn default() -> Self {
        Self {
            anthropic: "https://api.anthropic.com".to_owned(),
            openai: format!("https://{OPENAI}"),
            chatgpt: Some("https://chatgpt.com/backend-api/codex".to_owned()),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            window: None,
            route: RouteChoice::default(),
            strategy: StrategyChoice::default(),
            soft: None,
            adaptive: false,
            user_words: context::user_words::SHARE,
            hard: None,
            patience: SignedDuration::from_secs(0),
            slots: None,
            summariser: None,
            notes: true,
            shrink: Some(Tokens::new(16_000)),
            breakpoints: true,
            diagnose: None,
            answer_compaction: true,
            native_compaction: None,
        }
    }
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            read: SignedDuration::from_secs(60),
            silence: SignedDuration::from_secs(600),
            requests: 1024,
            bodies: 512 << 20,
            conversations: 10_000,
            idle: SignedDuration::from_mins(10),
            preparations: 16,
            retention: None,
        }
    }
}
