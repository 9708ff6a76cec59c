//! Puts the configuration together: what is built in, then the file, then the environment, then flags.
//! Pure: the texts come in, the configuration goes out.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::Config;
use crate::config::error::{ConfigError, Place, position};
use crate::config::nearest::nearest;
use crate::config::setting::{SETTINGS, Setting};

/// Variables that begin as ours do and are read elsewhere.
const ELSEWHERE: [&str; 3] = ["EBBTIDE_LOG", "EBBTIDE_CONFIG", "EBBTIDE_CORPUS"];

/// What the configuration is made of, each part stronger than the one before.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The file's name and text.
    pub file: Option<(String, String)>,
    /// Variables of the environment; those that do not begin with `EBBTIDE_` are not looked at.
    pub environment: Vec<(String, String)>,
    /// Flags.
    pub flags: Vec<Flag>,
}

/// A flag that was given.
#[derive(Clone, Debug)]
pub struct Flag {
    /// What it sets.
    pub key: &'static str,
    /// Its name, with its dashes.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// Where a value comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// It is built in.
    #[default]
    Default,
    /// A line of the file.
    File {
        /// The file.
        name: String,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Variable(String),
    /// A flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A configuration, and where each value comes from.
#[derive(Clone, Debug)]
pub struct Effective {
    /// What is in effect.
    pub config: Config,
    /// What was given and is not known, in words: variables of the environment.
    pub remarks: Vec<String>,
    origins: BTreeMap<&'static str, Origin>,
}

impl Effective {
    /// Puts the sources together over what is built in.
    ///
    /// # Errors
    /// The first key that is not known, value that cannot be used, or contradiction.
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
                let place = Place::Flag(flag.name);
                effective.set(setting, &flag.value, place, Origin::Flag(flag.name))?;
            }
        }
        effective.complete()?;
        Ok(effective)
    }

    /// Where a value comes from.
    #[must_use]
    pub fn origin(&self, setting: &Setting) -> Origin {
        self.origins.get(setting.key).cloned().unwrap_or_default()
    }

    fn read_file(&mut self, name: &str, text: &str) -> Result<(), ConfigError> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let (line, column) = position(text, at);
            ConfigError::Syntax {
                message: error.message().to_owned(),
                place: Place::file(name, line, column),
            }
        })?;
        let file = File { name, text };
        self.read_table(&file, "", table.get_ref())
    }

    fn read_table(
        &mut self,
        file: &File<'_>,
        prefix: &str,
        table: &DeTable<'_>,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = match prefix {
                "" => name.get_ref().to_string(),
                prefix => format!("{prefix}.{}", name.get_ref()),
            };
            if let Some(setting) = Setting::named(&key) {
                let place = file.place(value.span().start);
                let text = plain(value).ok_or_else(|| ConfigError::Value {
                    key: key.clone(),
                    expected: setting.form.to_owned(),
                    place: place.clone(),
                })?;
                let (line, _) = position(file.text, value.span().start);
                let origin = Origin::File {
                    name: file.name.to_owned(),
                    line,
                };
                self.set(setting, &text, place, origin)?;
            } else if let DeValue::Table(inner) = value.get_ref()
                && is_table(&key)
            {
                self.read_table(file, &key, inner)?;
            } else {
                return Err(ConfigError::Key {
                    nearest: nearest(&key, keys()).map(str::to_owned),
                    place: file.place(name.span().start),
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
                let place = Place::Variable(variable.clone());
                self.set(setting, value, place, Origin::Variable(variable))?;
            }
        }
        let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
        for (name, _) in ours {
            if known.contains(name) || ELSEWHERE.contains(&name.as_str()) {
                continue;
            }
            let close = nearest(name, known.iter().map(String::as_str));
            let meant = close.map_or_else(String::new, |close| format!("; did you mean {close}?"));
            self.remarks.push(format!("{name} sets nothing{meant}"));
        }
        Ok(())
    }

    fn set(
        &mut self,
        setting: &'static Setting,
        text: &str,
        place: Place,
        origin: Origin,
    ) -> Result<(), ConfigError> {
        (setting.read)(&mut self.config, text).map_err(|expected| ConfigError::Value {
            key: setting.key.to_owned(),
            expected: if expected == "one of the words" {
                setting.form.to_owned()
            } else {
                expected.to_owned()
            },
            place,
        })?;
        self.origins.insert(setting.key, origin);
        Ok(())
    }

    /// What no single value can be asked for.
    fn complete(&mut self) -> Result<(), ConfigError> {
        let policy = &mut self.config.policy;
        if let (Some(soft), Some(hard)) = (policy.soft, policy.hard)
            && soft >= hard
        {
            return Err(ConfigError::Contradiction {
                what: "policy.soft has to be smaller than policy.hard",
            });
        }
        if let Some(summariser) = &policy.summariser
            && summariser.model.is_empty()
        {
            let more = summariser.url.is_some() || summariser.key.is_some();
            if more {
                return Err(ConfigError::Contradiction {
                    what: "summariser.url and summariser.key need a summariser.model",
                });
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
            return Err(ConfigError::Contradiction {
                what: "summariser.url is at another server than the agents' providers, so it needs a \
                       summariser.key of its own (any text where it takes none)",
            });
        }
        if self.config.limits.body > self.config.limits.bodies {
            return Err(ConfigError::Contradiction {
                what: "limits.body has to be at most limits.bodies",
            });
        }
        Ok(())
    }
}

/// The scheme, host and port of a URL.
fn server(url: &str) -> Option<(String, String)> {
    let url: http::Uri = url.parse().ok()?;
    Some((url.scheme_str()?.to_owned(), url.authority()?.to_string()))
}

struct File<'a> {
    name: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn place(&self, byte: usize) -> Place {
        let (line, column) = position(self.text, byte);
        Place::file(self.name, line, column)
    }
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

/// A single value as it could stand in a variable.
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
