//! Everything that can be set: its key, what it means, how its value is read and shown.

use std::path::PathBuf;

use crate::config::read::{
    address, age, bytes, choice, count, duration, optional, share, switch, tokens, url, window,
};
use crate::config::show::{aged, number, quoted, time, whole_or};
use crate::config::{Config, Mode, RouteChoice, Secret, StrategyChoice, Summariser};

/// The word for nothing where nothing can be set.
pub(super) const NONE: &str = "none";
/// The word for a history that is kept in memory only.
pub(super) const MEMORY: &str = "memory";

/// Something that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its place in `ebbtide.toml`, with dots.
    pub key: &'static str,
    /// What it means, as one phrase.
    pub meaning: &'static str,
    /// What may stand there.
    pub form: &'static str,
    /// Whether it is shown.
    pub shown: Shown,
    /// Reads a value; the error says what is expected.
    pub(super) read: fn(&mut Config, &str) -> Result<(), &'static str>,
    /// The value as it stands in `ebbtide.toml`. `None`: it is not set.
    pub(super) show: fn(&Config) -> Option<String>,
}

/// Whether a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It is.
    Openly,
    /// Only whether it is set.
    AsSet,
}

impl Setting {
    /// The environment variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("EBBTIDE_{}", self.key.replace('.', "_").to_uppercase())
    }

    /// Its value as it stands in `ebbtide.toml`, without quotes. `None` where it is secret or not set.
    #[must_use]
    pub fn text(&self, config: &Config) -> Option<String> {
        let value = (self.show)(config).filter(|_| self.shown == Shown::Openly)?;
        Some(value.trim_matches('"').to_owned())
    }

    /// The setting with this key.
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
            shown: Shown::$shown,
            read: |$config, $text| {
                $read;
                Ok(())
            },
            show: |$from| $show,
        }),*]
    };
}

/// Everything that can be set, in the order in which it is shown.
pub const SETTINGS: &[Setting] = settings![
    "listen", "where to listen; port 0 takes a free one", "address and port", Openly,
        |c, t| c.listen = address(t)?, |c| Some(quoted(&c.listen.to_string()));
    "store", "where the history is kept", "a file, or `memory`", Openly,
        |c, t| c.store = (t != MEMORY).then(|| PathBuf::from(t)),
        |c| Some(quoted(&c.store.as_ref().map_or(MEMORY.into(), |path| path.to_string_lossy())));
    "mode", "whether anything is changed", "`on` or `observe`", Openly,
        |c, t| c.mode = choice(t, &MODES)?, |c| Some(named(&MODES, &c.mode));
    "tenant_header", "a header whose value names the tenant in place of the key, for keys that change; only where whoever sets it is trusted",
        "a header's name, or `none`", Openly,
        |c, t| c.tenant_header = optional(t, header)?,
        |c| Some(quoted(c.tenant_header.as_ref().map_or(NONE, http::HeaderName::as_str)));
    "admin_token", "lets its bearer use the control interface and the dashboard from everywhere, for all tenants",
        "16 characters or more", AsSet,
        |c, t| c.admin_token = optional(t, token)?, |c| c.admin_token.as_ref().map(|_| String::new());
    "otlp", "where spans go: OpenTelemetry over HTTP", "a URL, or `none`", Openly,
        |c, t| c.otlp = optional(t, url)?, |c| Some(quoted(c.otlp.as_deref().unwrap_or(NONE)));

    "upstream.anthropic", "where requests to Anthropic's interface go", "a URL", Openly,
        |c, t| c.upstream.anthropic = url(t)?, |c| Some(quoted(&c.upstream.anthropic));
    "upstream.openai", "where requests to OpenAI's interfaces go", "a URL", Openly,
        |c, t| c.upstream.openai = url(t)?, |c| Some(quoted(&c.upstream.openai));

    "policy.window", "the window of every model, instead of its own", "tokens, such as `200k`, or `none`", Openly,
        |c, t| c.policy.window = optional(t, window)?, |c| Some(whole_or(c.policy.window, NONE));
    "policy.route", "how summaries are made", "`auto`, `native`, `readable` or `extractive`", Openly,
        |c, t| c.policy.route = choice(t, &ROUTES)?, |c| Some(named(&ROUTES, &c.policy.route));
    "policy.strategy", "which strategy decides when",
        "the name of one that is shipped (`prepared`, `stop_the_world`, …), or a file that ends in `.plumb`", Openly,
        |c, t| c.policy.strategy = strategy(t)?, |c| Some(quoted(c.policy.strategy.written()));
    "policy.soft", "the share of the window at which a preparation starts; `none`: the strategy's own",
        "a number between 0 and 1, or `none`", Openly,
        |c, t| c.policy.soft = optional(t, share)?, |c| Some(number(c.policy.soft));
    "policy.hard", "the share of the window at which a summary is swapped in; `none`: the strategy's own",
        "a number between 0 and 1, or `none`", Openly,
        |c, t| c.policy.hard = optional(t, share)?, |c| Some(number(c.policy.hard));
    "policy.patience", "how long a request may be held for a summary that is not ready", "a duration", Openly,
        |c, t| c.policy.patience = duration(t)?, |c| Some(time(c.policy.patience));
    "policy.notes", "whether the agent is told the state of its memory", "`true` or `false`", Openly,
        |c, t| c.policy.notes = switch(t)?, |c| Some(c.policy.notes.to_string());
    "policy.shrink", "the largest tool result that is sent whole", "tokens, or `none`", Openly,
        |c, t| c.policy.shrink = optional(t, tokens)?, |c| Some(whole_or(c.policy.shrink, NONE));
    "policy.diagnose", "whether the provider is asked why its cache was missed, where a request is changed; `none`: only Anthropic itself",
        "`true`, `false` or `none`", Openly,
        |c, t| c.policy.diagnose = optional(t, switch)?,
        |c| Some(c.policy.diagnose.map_or_else(|| quoted(NONE), |asks| asks.to_string()));
    "policy.answer_compaction", "whether the client's own compaction is answered from a prepared summary",
        "`true` or `false`", Openly,
        |c, t| c.policy.answer_compaction = switch(t)?, |c| Some(c.policy.answer_compaction.to_string());

    "summariser.model", "the model that writes summaries; `none`: the agent's own", "a model's name, or `none`", Openly,
        |c, t| summariser(c).model = optional(t, name)?.unwrap_or_default(),
        |c| {
            let model = c.policy.summariser.as_ref().map(|s| s.model.as_str());
            Some(quoted(model.filter(|model| !model.is_empty()).unwrap_or(NONE)))
        };
    "summariser.url", "its endpoint; `none`: the agent's own", "a URL, or `none`", Openly,
        |c, t| summariser(c).url = optional(t, url)?,
        |c| Some(quoted(c.policy.summariser.as_ref().and_then(|s| s.url.as_deref()).unwrap_or(NONE)));
    "summariser.dialect", "what the endpoint speaks; `none`: what the agent speaks",
        "`anthropic`, `chat`, `responses` or `none`", Openly,
        |c, t| summariser(c).dialect = optional(t, |t| choice(t, &DIALECTS))?,
        |c| {
            let dialect = c.policy.summariser.as_ref().and_then(|s| s.dialect);
            Some(dialect.map_or_else(|| quoted(NONE), |dialect| named(&DIALECTS, &dialect)))
        };
    "summariser.key", "its key; not set: the agent's own, where it is the same server", "a key", AsSet,
        |c, t| summariser(c).key = optional(t, |t| name(t).map(Secret::new))?,
        |c| c.policy.summariser.as_ref().and_then(|s| s.key.as_ref()).map(|_| String::new());

    "limits.body", "the largest body of a request", "bytes, such as `32MiB`", Openly,
        |c, t| c.limits.body = bytes(t)?, |c| Some(c.limits.body.to_string());
    "limits.read", "how long a client may take to send its request", "a duration", Openly,
        |c, t| c.limits.read = positive(t)?, |c| Some(time(c.limits.read));
    "limits.silence", "how long a provider may be silent", "a duration", Openly,
        |c, t| c.limits.silence = positive(t)?, |c| Some(time(c.limits.silence));
    "limits.requests", "requests at the same time", "a number", Openly,
        |c, t| c.limits.requests = count(t)?, |c| Some(c.limits.requests.to_string());
    "limits.bodies", "bytes of requests held at the same time", "bytes, such as `512MiB`", Openly,
        |c, t| c.limits.bodies = bytes(t)?, |c| Some(c.limits.bodies.to_string());
    "limits.conversations", "conversations held in memory", "a number", Openly,
        |c, t| c.limits.conversations = count(t)?, |c| Some(c.limits.conversations.to_string());
    "limits.idle", "after how long without a request a conversation leaves memory", "a duration", Openly,
        |c, t| c.limits.idle = positive(t)?, |c| Some(time(c.limits.idle));
    "limits.preparations", "summaries made at the same time", "a number", Openly,
        |c, t| c.limits.preparations = count(t)?, |c| Some(c.limits.preparations.to_string());
    "limits.retention", "after how long without a request a conversation is removed from the store; `none`: never",
        "an age such as `90d`, or `none`", Openly,
        |c, t| c.limits.retention = optional(t, kept_for)?,
        |c| Some(c.limits.retention.map_or_else(|| quoted(NONE), aged));
];

const MODES: [(&str, Mode); 2] = [("on", Mode::On), ("observe", Mode::Observe)];

const ROUTES: [(&str, RouteChoice); 4] = [
    ("auto", RouteChoice::Auto),
    ("native", RouteChoice::Native),
    ("readable", RouteChoice::Readable),
    ("extractive", RouteChoice::Extractive),
];

const DIALECTS: [(&str, wire::api::Dialect); 3] = [
    ("anthropic", wire::api::Dialect::Anthropic),
    ("chat", wire::api::Dialect::Chat),
    ("responses", wire::api::Dialect::Responses),
];

fn kept_for(text: &str) -> Result<jiff::SignedDuration, &'static str> {
    age(text).and_then(|age| {
        age.is_positive()
            .then_some(age)
            .ok_or("an age longer than nothing, such as 90d")
    })
}

fn strategy(text: &str) -> Result<StrategyChoice, &'static str> {
    StrategyChoice::of(text).ok_or("a strategy that is shipped, or a file that ends in `.plumb`")
}

fn named<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> String {
    let name = choices.iter().find(|(_, choice)| choice == value);
    quoted(name.map_or(NONE, |(name, _)| name))
}

/// The summariser that is being put together; one without a model is taken away at the end.
fn summariser(config: &mut Config) -> &mut Summariser {
    config.policy.summariser.get_or_insert_with(|| Summariser {
        model: String::new(),
        url: None,
        dialect: None,
        key: None,
    })
}

fn header(text: &str) -> Result<http::HeaderName, &'static str> {
    text.parse().map_err(|_| "the name of a header")
}

fn name(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err("a name");
    }
    Ok(text.to_owned())
}

fn token(text: &str) -> Result<Secret, &'static str> {
    let fits = text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| Secret::new(text))
        .ok_or("16 characters or more, letters, digits and signs")
}

fn positive(text: &str) -> Result<jiff::SignedDuration, &'static str> {
    duration(text).and_then(|duration| {
        duration
            .is_positive()
            .then_some(duration)
            .ok_or("a duration longer than nothing, such as `30s`")
    })
}

#[cfg(test)]
mod tests {
    use super::{SETTINGS, Shown};
    use crate::config::Config;

    #[test]
    fn what_is_shown_can_be_read_again() {
        let config = Config::default();
        for setting in SETTINGS {
            let Some(shown) = (setting.show)(&config) else {
                assert_eq!(setting.shown, Shown::AsSet, "{}", setting.key);
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
