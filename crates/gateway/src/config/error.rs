//! Errors of a configuration.

use context::coded::{self, Coded, ErrorCode};

use crate::config::effective::Origin;
use crate::error;
/// An error of a configuration. Values are not shown, since they may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is not valid TOML.
    #[error("the configuration is not valid TOML: {message}")]
    Syntax {
        /// The parser's message.
        message: String,
        /// The place of the error.
        origin: Origin,
    },
    /// The key is unknown.
    #[error("`{key}` is not a configuration key")]
    Key {
        /// The unknown key.
        key: String,
        /// The most similar key.
        nearest: Option<String>,
        /// The place of the key.
        origin: Origin,
    },
    /// The value is invalid.
    #[error("invalid value for `{key}`: expected {expected}")]
    Value {
        /// The setting's key.
        key: String,
        /// The expected form.
        expected: String,
        /// The most similar value, and all of them, where there is a list.
        instead: Option<String>,
        /// The source of the value.
        origin: Origin,
    },
    /// Two values contradict each other.
    #[error("{what}")]
    Contradiction {
        /// The violated rule.
        what: &'static str,
    },
}

impl ConfigError {
    /// The origin of the rejected text, if it has a single one.
    #[must_use]
    pub const fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Syntax { origin, .. } | Self::Key { origin, .. } | Self::Value { origin, .. } => {
                Some(origin)
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
            Self::Value {
                instead: Some(instead),
                ..
            } => Some(instead.clone()),
            other => coded::remedy(error::CODES, other.code()),
        }
    }
}

/// Returns the line and the column of a byte, from 1.
pub(super) fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, 1 + last.chars().count())
}
