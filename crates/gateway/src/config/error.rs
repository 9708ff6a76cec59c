//! What can be wrong with a configuration.

use std::fmt;

use context::coded::{self, Coded, ErrorCode};

use crate::error;

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the file.
    File {
        /// The file.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
    },
    /// In a variable of the environment.
    Variable(String),
    /// In a flag.
    Flag(&'static str),
}

impl Place {
    pub(super) fn file(name: &str, line: usize, column: usize) -> Self {
        Self::File {
            name: name.to_owned(),
            line,
            column,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// What is wrong with a configuration. Values are not told: they may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is not TOML.
    #[error("the configuration is not TOML: {message}")]
    Syntax {
        /// What the reader says.
        message: String,
        /// Where.
        place: Place,
    },
    /// A key is not known.
    #[error("`{key}` is not a key of the configuration")]
    Key {
        /// The key.
        key: String,
        /// The key that was probably meant.
        nearest: Option<String>,
        /// Where.
        place: Place,
    },
    /// A value cannot be used.
    #[error("the value of `{key}` cannot be used: expected {expected}")]
    Value {
        /// The key.
        key: String,
        /// What is expected.
        expected: String,
        /// Where.
        place: Place,
    },
    /// Values do not go together.
    #[error("{what}")]
    Contradiction {
        /// What has to hold.
        what: &'static str,
    },
}

impl ConfigError {
    /// Where it is wrong.
    #[must_use]
    pub const fn place(&self) -> Option<&Place> {
        match self {
            Self::Syntax { place, .. } | Self::Key { place, .. } | Self::Value { place, .. } => {
                Some(place)
            }
            Self::Contradiction { .. } => None,
        }
    }
}

impl Coded for ConfigError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Syntax { .. } => error::NOT_TOML,
            Self::Key { .. } => error::UNKNOWN_KEY,
            Self::Value { .. } => error::BAD_VALUE,
            Self::Contradiction { .. } => error::CONTRADICTION,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Key {
                nearest: Some(nearest),
                ..
            } => Some(format!("did you mean `{nearest}`?")),
            other => coded::remedy(error::CODES, other.code()),
        }
    }
}

/// Line and column of a byte, from 1.
pub(super) fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, 1 + last.chars().count())
}
