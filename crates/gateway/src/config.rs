//! The effective configuration, and how it is put together from `ebbtide.toml`, the environment and flags.

mod effective;
mod error;
mod nearest;
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

pub use conversation::{Mode, RouteChoice};
pub use effective::{Effective, Flag, Origin, Sources};
pub use error::{ConfigError, Place};
pub use read::age;
pub use setting::{SETTINGS, Setting, Shown};
pub use strategy::StrategyChoice;

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where requests go.
    pub upstream: Upstreams,
    /// Where the history is kept. `None`: in memory only.
    pub store: Option<PathBuf>,
    /// Whether to act.
    pub mode: Mode,
    /// When and with what to compact.
    pub policy: Policy,
    /// How much may be held at once.
    pub limits: ServerLimits,
    /// A header whose value names the tenant in place of the key. `None`: the key does.
    pub tenant_header: Option<http::HeaderName>,
    /// Lets the control interface and the dashboard be used from elsewhere than this machine, and shows
    /// its bearer all tenants. Never printed.
    pub admin_token: Option<Secret>,
    /// Where OpenTelemetry spans go (OTLP over HTTP). `None`: nowhere.
    pub otlp: Option<String>,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    /// Anthropic Messages.
    pub anthropic: String,
    /// OpenAI Chat Completions and Responses.
    pub openai: String,
}

/// When and with what to compact.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The window of every model instead of its own.
    pub window: Option<Tokens>,
    /// How summaries are made.
    pub route: RouteChoice,
    /// The strategy.
    pub strategy: StrategyChoice,
    /// The share of the window at which a preparation starts; `None`: the strategy's own.
    pub soft: Option<f64>,
    /// The share of the window at which a summary is swapped in; `None`: the limits' own.
    pub hard: Option<f64>,
    /// How long a request may be held for a summary that is not ready.
    pub patience: SignedDuration,
    /// The model that writes readable summaries instead of the agent's.
    pub summariser: Option<Summariser>,
    /// Whether the agent is told the state of its memory.
    pub notes: bool,
    /// The largest tool result that is first sent whole; `None`: all are.
    pub shrink: Option<Tokens>,
    /// Whether the provider is asked why its cache was missed, where a request is changed. `None`: only
    /// Anthropic itself, since what stands in for it may refuse a question that it does not know.
    pub diagnose: Option<bool>,
    /// Whether the client's own compaction is answered from a prepared summary.
    pub answer_compaction: bool,
}

/// Another model, perhaps at another endpoint, that writes summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summariser {
    /// Its name.
    pub model: String,
    /// Its endpoint's base URL; `None`: the agent's.
    pub url: Option<String>,
    /// What the endpoint speaks.
    pub dialect: Option<wire::api::Dialect>,
    /// Its key; `None`: the agent's own. Never printed.
    pub key: Option<Secret>,
}

/// How much may be held at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The largest request body, in bytes.
    pub body: usize,
    /// How long a client may take to send its request.
    pub read: SignedDuration,
    /// How long the provider may be silent.
    pub silence: SignedDuration,
    /// Requests at the same time.
    pub requests: usize,
    /// Bytes of request bodies held at the same time.
    pub bodies: usize,
    /// Conversations held in memory; the one not seen for longest goes first.
    pub conversations: usize,
    /// After how long without a request a conversation leaves memory.
    pub idle: SignedDuration,
    /// Summaries being made at the same time.
    pub preparations: usize,
    /// After how long without a request a conversation is removed from the store; `None`: never.
    pub retention: Option<SignedDuration>,
}

/// A text that is never printed or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
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
    /// What is set for every conversation.
    #[must_use]
    pub fn terms(&self) -> Terms {
        let policy = &self.policy;
        Terms {
            mode: self.mode,
            route: policy.route,
            program: policy.strategy.program(),
            window: policy.window,
            soft: policy.soft,
            hard: policy.hard,
            patience: policy.patience,
            notes: policy.notes,
            shrink: policy.shrink,
            diagnose: policy.diagnose.unwrap_or_else(|| self.asks_anthropic()),
            answer_compaction: policy.answer_compaction,
            pins: PinKeeping::Restated,
            longest_body: self.limits.body,
        }
    }

    /// Whether requests go to Anthropic itself.
    fn asks_anthropic(&self) -> bool {
        let upstream = self.upstream.anthropic.parse::<http::Uri>().ok();
        let host = upstream.as_ref().and_then(http::Uri::host);
        host.is_some_and(|host| host == "anthropic.com" || host.ends_with(".anthropic.com"))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 4000)),
            upstream: Upstreams {
                anthropic: "https://api.anthropic.com".to_owned(),
                openai: "https://api.openai.com".to_owned(),
            },
            store: None,
            mode: Mode::default(),
            policy: Policy::default(),
            limits: ServerLimits::default(),
            tenant_header: None,
            admin_token: None,
            otlp: None,
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
            hard: None,
            patience: SignedDuration::from_secs(0),
            summariser: None,
            notes: true,
            shrink: Some(Tokens::new(16_000)),
            diagnose: None,
            answer_compaction: true,
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
