//! The table of all settings: key, meaning, parser and formatter of each.

use std::path::PathBuf;

use wire::api::Dialect;

use crate::config::read::{
    address, age, bytes, choice, count, duration, host, list, optional, origin, share, switch,
    tokens, url, window,
};
use crate::config::show::{age_text, listed, number, quoted, time, whole_or};
use crate::config::{Config, Mode, RouteChoice, Secret, StrategyChoice, Summariser, Tenancy};

/// The value of an optional setting that is not set.
pub(super) const NONE: &str = "none";
/// The value of `store` for a history in memory.
pub(super) const MEMORY: &str = "memory";

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key in `ebbtide.toml`, with dots.
    pub key: &'static str,
    /// The meaning, as a phrase.
    pub meaning: &'static str,
    /// The accepted values.
    pub form: &'static str,
    /// The visibility of the value.
    pub shown: Visibility,
    /// Parses a value; the error says what is expected.
    pub(super) read: fn(&mut Config, &str) -> Result<(), &'static str>,
    /// Formats the value as in `ebbtide.toml`; `None` if it is not set.
    pub(super) show: fn(&Config) -> Option<String>,
}

/// The visibility of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The value is shown.
    Openly,
    /// The value is secret; only whether it is set is shown.
    AsSet,
}

impl Setting {
    /// The environment variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("EBBTIDE_{}", self.key.replace('.', "_").to_uppercase())
    }

    /// The value without quotes; `None` if it is secret or not set.
    #[must_use]
    pub fn text(&self, config: &Config) -> Option<String> {
        let value = (self.show)(config).filter(|_| self.shown == Visibility::Openly)?;
        Some(value.trim_matches('"').to_owned())
    }

    /// Returns the setting with this key.
    #[must_use]
    pub fn named(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

macro_rules! settings {
    ($($key:literal, $meaning:literal, $form:literal, $shown:ident,
       |$config:ident, $text:ident| $read:expr, |$from:ident| $show:expr;)*) => {
        &[$(Setting {
            key: $key,
            meaning: $meaning,
            form: $form,
            shown: Visibility::$shown,
            read: |$config, $text| {
                $read;
                Ok(())
            },
            show: |$from| $show,
        }),*]
    };
}

/// All settings, in display order.
pub const SETTINGS: &[Setting] = settings![
    "listen", "the address to listen on; port 0 picks a free port", "address and port", Openly,
        |c, t| c.listen = address(t)?, |c| Some(quoted(&c.listen.to_string()));
    "store", "where the history is stored", "a file, or `memory`", Openly,
        |c, t| c.store = (t != MEMORY).then(|| PathBuf::from(t)),
        |c| Some(quoted(&c.store.as_ref().map_or(MEMORY.into(), |path| path.to_string_lossy())));
    "mode", "whether the gateway changes requests", "`on` or `observe`", Openly,
        |c, t| c.mode = choice(t, &MODES)?, |c| Some(quoted(c.mode_name()));
    "tenants", "which requests share conversations: those with the same key (`keys`), or all (`one`); `auto` is `one` for requests from this machine if the gateway listens on loopback without an admin token, and `keys` otherwise",
        "`auto`, `keys` or `one`", Openly,
        |c, t| c.tenants = choice(t, &TENANCIES)?, |c| Some(named(&TENANCIES, &c.tenants));
    "tenant_header", "a request header that names the tenant instead of the API key, for keys that rotate; set it only if you trust every client that can send it",
        "a header name, or `none`", Openly,
        |c, t| c.tenant_header = optional(t, header)?,
        |c| Some(quoted(c.tenant_header.as_ref().map_or(NONE, http::HeaderName::as_str)));
    "admin_token", "grants its bearer the control API and the dashboard from any machine, for all tenants",
        "at least 16 characters", AsSet,
        |c, t| c.admin_token = optional(t, token)?, |c| c.admin_token.as_ref().map(|_| String::new());
    "hosts", "further names by which the gateway may be addressed, besides `localhost` and IP addresses; on an address that other machines reach, `none` lets programs use any name",
        "host names, separated by commas, or `none`", Openly,
        |c, t| c.sites.hosts = list(t, host)?, |c| Some(listed(&c.sites.hosts));
    "origins", "pages of other sites that may send requests to the provider through the gateway",
        "origins such as `http://localhost:3000`, separated by commas, or `none`", Openly,
        |c, t| c.sites.origins = list(t, origin)?, |c| Some(listed(&c.sites.origins));
    "otlp", "where to export spans: OpenTelemetry over HTTP", "a URL, or `none`", Openly,
        |c, t| c.otlp = optional(t, url)?, |c| Some(quoted(c.otlp.as_deref().unwrap_or(NONE)));

    "upstream.anthropic", "the base URL of the Anthropic API", "a URL", Openly,
        |c, t| c.upstream.anthropic = url(t)?, |c| Some(quoted(&c.upstream.anthropic));
    "upstream.openai", "the base URL of the OpenAI APIs", "a URL", Openly,
        |c, t| c.upstream.openai = url(t)?, |c| Some(quoted(&c.upstream.openai));
    "upstream.chatgpt", "the base URL for requests that are signed in with a ChatGPT plan (Codex), as long as `upstream.openai` is OpenAI itself, which refuses them; `none`: they go there too",
        "a URL, or `none`", Openly,
        |c, t| c.upstream.chatgpt = optional(t, url)?, |c| Some(quoted(c.upstream.chatgpt.as_deref().unwrap_or(NONE)));
    "upstream.openai_dialect", "how Responses requests reach the OpenAI upstream: as they come, or as Chat Completions",
        "`own` or `chat`", Openly,
        |c, t| c.openai_over_chat = choice(t, &BRIDGES)?, |c| Some(named(&BRIDGES, &c.openai_over_chat));

    "policy.window", "the context window of every model, instead of the model's own", "tokens, such as `200k`, or `none`", Openly,
        |c, t| c.policy.window = optional(t, window)?, |c| Some(whole_or(c.policy.window, NONE));
    "policy.route", "how summaries are made", "`auto`, `native`, `readable` or `extractive`", Openly,
        |c, t| c.policy.route = choice(t, &ROUTES)?, |c| Some(named(&ROUTES, &c.policy.route));
    "policy.strategy", "the strategy that decides when to compact",
        "the name of a shipped strategy (`prepared`, `stop_the_world`, …), or a file that ends in `.plumb`", Openly,
        |c, t| c.policy.strategy = strategy(t)?, |c| Some(quoted(c.policy.strategy.written()));
    "policy.soft", "the share of the window that starts a preparation; `none`: the strategy decides",
        "a number between 0 and 1, or `none`", Openly,
        |c, t| c.policy.soft = optional(t, share)?, |c| Some(number(c.policy.soft));
    "policy.adaptive", "whether the soft threshold follows what the agent does: its task list, failed tool results, loops",
        "`true` or `false`", Openly,
        |c, t| c.policy.adaptive = switch(t)?, |c| Some(c.policy.adaptive.to_string());
    "policy.hard", "the share of the window that triggers a swap; `none`: the strategy decides",
        "a number between 0 and 1, or `none`", Openly,
        |c, t| c.policy.hard = optional(t, share)?, |c| Some(number(c.policy.hard));
    "policy.patience", "how long a request may wait for a summary that is not ready", "a duration", Openly,
        |c, t| c.policy.patience = duration(t)?, |c| Some(time(c.policy.patience));
    "policy.slots", "how many requests the model server handles at a time, such as 1 for llama.cpp: summaries then give way to requests; `none`: the gateway notices if it is 1",
        "a number, or `none`", Openly,
        |c, t| c.policy.slots = optional(t, count)?,
        |c| Some(c.policy.slots.map_or_else(|| quoted(NONE), |slots| slots.to_string()));
    "policy.notes", "whether the agent is told about the state of its memory", "`true` or `false`", Openly,
        |c, t| c.policy.notes = switch(t)?, |c| Some(c.policy.notes.to_string());
    "policy.shrink", "the largest tool result to send whole", "tokens, or `none`", Openly,
        |c, t| c.policy.shrink = optional(t, tokens)?, |c| Some(whole_or(c.policy.shrink, NONE));
    "policy.user_words", "the share of the window for the user's own words in front of a summary; at least 2,000 tokens",
        "a number between 0 and 1", Openly,
        |c, t| c.policy.user_words = share(t)?, |c| Some(number(Some(c.policy.user_words)));
    "policy.breakpoints", "whether to place cache breakpoints for clients that set none", "`true` or `false`", Openly,
        |c, t| c.policy.breakpoints = switch(t)?, |c| Some(c.policy.breakpoints.to_string());
    "policy.diagnose", "whether to ask the provider why its cache missed a changed request; `none`: ask only Anthropic itself",
        "`true`, `false` or `none`", Openly,
        |c, t| c.policy.diagnose = optional(t, switch)?,
        |c| Some(c.policy.diagnose.map_or_else(|| quoted(NONE), |asks| asks.to_string()));
    "policy.answer_compaction", "whether to answer the client's own compaction",
        "`true` or `false`", Openly,
        |c, t| c.policy.answer_compaction = switch(t)?, |c| Some(c.policy.answer_compaction.to_string());
    "policy.native_compaction", "whether the provider itself compacts when a client asks; `none`: the model table decides, until the provider refuses",
        "`true`, `false` or `none`", Openly,
        |c, t| c.policy.native_compaction = optional(t, switch)?,
        |c| Some(c.policy.native_compaction.map_or_else(|| quoted(NONE), |knows| knows.to_string()));

    "summariser.model", "the model that writes summaries; `none`: the agent's own", "a model name, or `none`", Openly,
        |c, t| summariser(c).model = optional(t, name)?.unwrap_or_default(),
        |c| {
            let model = c.policy.summariser.as_ref().map(|s| s.model.as_str());
            Some(quoted(model.filter(|model| !model.is_empty()).unwrap_or(NONE)))
        };
    "summariser.url", "the base URL of its API; `none`: the agent's own", "a URL, or `none`", Openly,
        |c, t| summariser(c).url = optional(t, url)?,
        |c| Some(quoted(c.policy.summariser.as_ref().and_then(|s| s.url.as_deref()).unwrap_or(NONE)));
    "summariser.dialect", "the API that it speaks; `none`: the agent's own",
        "`anthropic`, `chat`, `responses` or `none`", Openly,
        |c, t| summariser(c).dialect = optional(t, |t| Dialect::named(t).ok_or("one of the words"))?,
        |c| {
            let dialect = c.policy.summariser.as_ref().and_then(|s| s.dialect);
            Some(dialect.map_or_else(|| quoted(NONE), |dialect| quoted(dialect.facts().name)))
        };
    "summariser.key", "its API key; if not set, the agent's own, which requires the same server", "a key", AsSet,
        |c, t| summariser(c).key = optional(t, |t| name(t).map(Secret::new))?,
        |c| c.policy.summariser.as_ref().and_then(|s| s.key.as_ref()).map(|_| String::new());

    "limits.body", "the largest request body", "bytes, such as `32MiB`", Openly,
        |c, t| c.limits.body = bytes(t)?, |c| Some(c.limits.body.to_string());
    "limits.read", "how long a client may take to send its request", "a duration", Openly,
        |c, t| c.limits.read = positive(t)?, |c| Some(time(c.limits.read));
    "limits.silence", "how long a provider may stay silent", "a duration", Openly,
        |c, t| c.limits.silence = positive(t)?, |c| Some(time(c.limits.silence));
    "limits.requests", "concurrent requests", "a number", Openly,
        |c, t| c.limits.requests = count(t)?, |c| Some(c.limits.requests.to_string());
    "limits.bodies", "bytes of request bodies held at once", "bytes, such as `512MiB`", Openly,
        |c, t| c.limits.bodies = bytes(t)?, |c| Some(c.limits.bodies.to_string());
    "limits.conversations", "conversations kept in memory", "a number", Openly,
        |c, t| c.limits.conversations = count(t)?, |c| Some(c.limits.conversations.to_string());
    "limits.idle", "how long a conversation stays in memory without a request", "a duration", Openly,
        |c, t| c.limits.idle = positive(t)?, |c| Some(time(c.limits.idle));
    "limits.preparations", "summaries prepared at once", "a number", Openly,
        |c, t| c.limits.preparations = count(t)?, |c| Some(c.limits.preparations.to_string());
    "limits.retention", "how long a conversation stays in the store without a request; `none`: forever",
        "an age such as `90d`, or `none`", Openly,
        |c, t| c.limits.retention = optional(t, kept_for)?,
        |c| Some(c.limits.retention.map_or_else(|| quoted(NONE), age_text));
];

const MODES: [(&str, Mode); 2] = [("on", Mode::On), ("observe", Mode::Observe)];

const TENANCIES: [(&str, Tenancy); 3] = [
    ("auto", Tenancy::Auto),
    ("keys", Tenancy::Keys),
    ("one", Tenancy::One),
];

const BRIDGES: [(&str, bool); 2] = [("own", false), ("chat", true)];

const ROUTES: [(&str, RouteChoice); 4] = [
    ("auto", RouteChoice::Auto),
    ("native", RouteChoice::Native),
    ("readable", RouteChoice::Readable),
    ("extractive", RouteChoice::Extractive),
];

fn kept_for(text: &str) -> Result<jiff::SignedDuration, &'static str> {
    age(text).and_then(|age| {
        age.is_positive()
            .then_some(age)
            .ok_or("an age above zero, such as 90d")
    })
}

fn strategy(text: &str) -> Result<StrategyChoice, &'static str> {
    StrategyChoice::of(text).ok_or("a shipped strategy, or a file that ends in `.plumb`")
}

fn named<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> String {
    let name = choices.iter().find(|(_, choice)| choice == value);
    quoted(name.map_or(NONE, |(name, _)| name))
}

/// The summarizer under construction. One without a model is removed at the end.
fn summariser(config: &mut Config) -> &mut Summariser {
    config.policy.summariser.get_or_insert_with(|| Summariser {
        model: String::new(),
        url: None,
        dialect: None,
        key: None,
    })
}

fn header(text: &str) -> Result<http::HeaderName, &'static str> {
    text.parse().map_err(|_| "a header name")
}

fn name(text: &str) -> Result<String, &'static str> {
    Some(text.to_owned())
        .filter(|text| !text.is_empty())
        .ok_or("a name")
}

fn token(text: &str) -> Result<Secret, &'static str> {
    let fits = text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| Secret::new(text))
        .ok_or("at least 16 letters, digits or punctuation characters")
}

fn positive(text: &str) -> Result<jiff::SignedDuration, &'static str> {
    duration(text).and_then(|time| {
        time.is_positive()
            .then_some(time)
            .ok_or("a duration above zero, such as `30s`")
    })
}

#[cfg(test)]
mod tests {
    use super::{SETTINGS, Visibility};
    use crate::config::Config;

    #[test]
    fn what_is_shown_can_be_read_again() {
        let config = Config::default();
        for setting in SETTINGS {
            let Some(shown) = (setting.show)(&config) else {
                assert_eq!(setting.shown, Visibility::AsSet, "{}", setting.key);
                continue;
            };
            let mut again = config.clone();
            (setting.read)(&mut again, shown.trim_matches('"')).unwrap();
            assert_eq!((setting.show)(&again), Some(shown), "{}", setting.key);
        }
    }

    #[test]
    fn keys_are_unique_and_so_are_variables() {
        let mut variables: Vec<String> = SETTINGS.iter().map(super::Setting::variable).collect();
        variables.sort();
        variables.dedup();
        assert_eq!(variables.len(), SETTINGS.len());
    }
}
