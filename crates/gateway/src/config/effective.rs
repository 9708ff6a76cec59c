//! Merges the configuration: defaults, then the file, then the environment, then flags. Pure: it takes the
//! texts and returns the configuration.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::error::{ConfigError, position};
use crate::config::read::NOT_LISTED;
use crate::config::setting::{SETTINGS, Setting};
use crate::config::{Config, StrategyChoice};
use context::nearest;

/// `EBBTIDE_` variables that other parts of the program read.
const ELSEWHERE: [&str; 4] = [
    "EBBTIDE_LOG",
    "EBBTIDE_CONFIG",
    "EBBTIDE_CORPUS",
    "EBBTIDE_KEY",
];

/// The sources of the configuration, in order of increasing priority.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The name and the text of the file.
    pub file: Option<(String, String)>,
    /// Environment variables. Those without the prefix `EBBTIDE_` are ignored.
    pub environment: Vec<(String, String)>,
    /// The given flags.
    pub flags: Vec<Flag>,
}

/// A flag given on the command line.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The key of the setting.
    pub key: &'static str,
    /// The flag's name with its dashes.
    pub name: &'static str,
    /// The value as given.
    pub value: String,
}

/// The source of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The built-in default.
    #[default]
    Default,
    /// A place in the file.
    File {
        /// The file's name.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A flag.
    Flag(&'static str),
}

impl Origin {
    fn file(name: &str, text: &str, byte: usize) -> Self {
        let (line, column) = position(text, byte);
        Self::File {
            name: name.to_owned(),
            line,
            column,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A configuration with the origin of each value.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The merged configuration.
    pub config: Config,
    /// Warnings about unknown environment variables.
    pub remarks: Vec<String>,
    origins: BTreeMap<&'static str, Origin>,
}

impl Effective {
    /// Merges the sources over the defaults.
    ///
    /// # Errors
    /// The first unknown key, invalid value or contradiction.
    pub fn of(built_in: Config, sources: &Sources) -> Result<Self, ConfigError> {
        let mut effective = Self {
            config: built_in,
            remarks: Vec::new(),
            origins: BTreeMap::new(),
        };
        if let Some((name, text)) = &sources.file {
            effective.read_file(name, text)?;
        }
        effective.read_environment(&sources.environment)?;
        for flag in &sources.flags {
            if let Some(setting) = Setting::named(flag.key) {
                effective.set(setting, &flag.value, Origin::Flag(flag.name))?;
            }
        }
        effective.complete()?;
        Ok(effective)
    }

    /// The origin of a setting's value.
    #[must_use]
    pub fn origin(&self, setting: &Setting) -> Origin {
        self.origins.get(setting.key).cloned().unwrap_or_default()
    }

    fn read_file(&mut self, name: &str, text: &str) -> Result<(), ConfigError> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            ConfigError::Syntax {
                message: error.message().to_owned(),
                origin: Origin::file(name, text, at),
            }
        })?;
        self.read_table(&|byte| Origin::file(name, text, byte), "", table.get_ref())
    }

    fn read_table(
        &mut self,
        origin_at: &dyn Fn(usize) -> Origin,
        prefix: &str,
        table: &DeTable<'_>,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = match prefix {
                "" => name.get_ref().to_string(),
                prefix => format!("{prefix}.{}", name.get_ref()),
            };
            if let Some(setting) = Setting::named(&key) {
                let origin = origin_at(value.span().start);
                let text = plain(value).ok_or_else(|| ConfigError::Value {
                    key: key.clone(),
                    expected: setting.form.to_owned(),
                    instead: None,
                    origin: origin.clone(),
                })?;
                self.set(setting, &text, origin)?;
            } else if let DeValue::Table(inner) = value.get_ref()
                && is_table(&key)
            {
                self.read_table(origin_at, &key, inner)?;
            } else {
                return Err(ConfigError::Key {
                    nearest: nearest(&key, keys()).map(str::to_owned),
                    origin: origin_at(name.span().start),
                    key,
                });
            }
        }
        Ok(())
    }

    fn read_environment(&mut self, variables: &[(String, String)]) -> Result<(), ConfigError> {
        let ours: Vec<&(String, String)> = variables
            .iter()
            .filter(|(name, value)| name.starts_with("EBBTIDE_") && !value.is_empty())
            .collect();
        for setting in SETTINGS {
            let variable = setting.variable();
            if let Some((_, value)) = ours.iter().find(|(name, _)| *name == variable) {
                self.set(setting, value, Origin::Variable(variable))?;
            }
        }
        let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
        for (name, _) in ours {
            if known.contains(name) || ELSEWHERE.contains(&name.as_str()) {
                continue;
            }
            let close = nearest(name, known.iter().map(String::as_str));
            let meant = close.map_or_else(String::new, |close| format!("; did you mean {close}?"));
            self.remarks.push(format!("{name} is not a setting{meant}"));
        }
        Ok(())
    }

    fn set(
        &mut self,
        setting: &'static Setting,
        text: &str,
        origin: Origin,
    ) -> Result<(), ConfigError> {
        (setting.read)(&mut self.config, text).map_err(|expected| ConfigError::Value {
            key: setting.key.to_owned(),
            expected: if expected == NOT_LISTED {
                setting.form
            } else {
                expected
            }
            .to_owned(),
            instead: (setting.key == "policy.strategy").then(|| StrategyChoice::instead_of(text)),
            origin: origin.clone(),
        })?;
        self.origins.insert(setting.key, origin);
        Ok(())
    }

    /// Checks the rules that concern several values.
    fn complete(&mut self) -> Result<(), ConfigError> {
        let refuse = |what| Err(ConfigError::Contradiction { what });
        let policy = &mut self.config.policy;
        if let (Some(soft), Some(hard)) = (policy.soft, policy.hard)
            && soft >= hard
        {
            return refuse("policy.soft must be smaller than policy.hard");
        }
        if let Some(summariser) = &policy.summariser
            && summariser.model.is_empty()
        {
            if summariser.url.is_some() || summariser.key.is_some() {
                return refuse("summariser.url and summariser.key need a summariser.model");
            }
            policy.summariser = None;
        }
        if let Some(summariser) = &policy.summariser
            && summariser.key.is_none()
            && let Some(url) = &summariser.url
            && ![
                &self.config.upstream.anthropic,
                &self.config.upstream.openai,
            ]
            .iter()
            .any(|upstream| server(upstream) == server(url))
        {
            return refuse(
                "summariser.url points to a different server than the providers, so it needs its own \
                 summariser.key (any text if the server takes none)",
            );
        }
        if self.config.limits.body > self.config.limits.bodies {
            return refuse("limits.body must not exceed limits.bodies");
        }
        Ok(())
    }
}

/// The scheme, host and port of a URL.
fn server(url: &str) -> Option<(String, String)> {
    let url: http::Uri = url.parse().ok()?;
    Some((url.scheme_str()?.to_owned(), url.authority()?.to_string()))
}

fn keys() -> impl Iterator<Item = &'static str> + Clone {
    SETTINGS.iter().map(|setting| setting.key)
}

fn is_table(key: &str) -> bool {
    keys().any(|known| {
        known
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Converts a scalar to the text that an environment variable would hold.
fn plain(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => {
            let value = i64::from_str_radix(number.as_str(), number.radix());
            value.ok().map(|value| value.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(value) => Some(value.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests;
