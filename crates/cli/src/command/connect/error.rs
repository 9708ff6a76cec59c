//! The errors of connecting a client.

use std::path::PathBuf;

use context::coded::{self, Coded, ErrorCode};

use super::document::{Format, Malformed};
use super::edit::Clash;
use crate::failure::{Exit, Failure};

/// The reason that a client cannot be connected or disconnected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{} is not valid {}: {}", path.display(), format.name(), malformed.reason)]
    Malformed {
        path: PathBuf,
        format: Format,
        malformed: Malformed,
    },
    #[error("{} has no {} at {}", path.display(), clash.expected, shown(&clash.keys))]
    Clash { path: PathBuf, clash: Clash },
    #[error("{} changed in the meantime", .0.display())]
    Changed(PathBuf),
    #[error("{} is not a record of this version: {reason}", path.display())]
    Record { path: PathBuf, reason: String },
    #[error("the home folder is unknown")]
    NoHome,
    // Without the value, which may be a key.
    #[error("--key-variable is not the name of an environment variable in capitals")]
    KeyVariable,
}

context::error_codes! {
    /// The error codes of `ebbtide connect`.
    pub CODES:
    MALFORMED = "E0020", "a client's settings file has a syntax error",
        "Correct the file at that place and run the command again. Nothing was changed.";
    CLASH = "E0021", "a client's settings file has a value of another type where a setting belongs",
        "Correct or remove that value and run the command again. Nothing was changed.";
    CHANGED = "E0022", "another program changed a settings file while Ebbtide was changing it",
        "Close the client and run the command again. Nothing was changed.";
    RECORD = "E0023", "the record of a connected client is damaged",
        "Remove Ebbtide's keys from the client's settings by hand, then delete the record.";
    NO_HOME = "E0024", "the home folder is unknown",
        "Set HOME to your home folder.";
    KEY_VARIABLE = "E0025", "--key-variable is not the name of an environment variable in capitals",
        "Give the name of the variable that holds the key, such as ANTHROPIC_API_KEY, without a $ in front.";
}

impl Coded for ConnectError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed { .. } => MALFORMED,
            Self::Clash { .. } => CLASH,
            Self::Changed(_) => CHANGED,
            Self::Record { .. } => RECORD,
            Self::NoHome => NO_HOME,
            Self::KeyVariable => KEY_VARIABLE,
        }
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let failure = Self::of(&error);
        match &error {
            ConnectError::Malformed {
                path, malformed, ..
            } => {
                let Malformed { line, column, .. } = malformed;
                failure.at(&format!("{}:{line}:{column}", path.display()))
            }
            ConnectError::Changed(_) => failure.exiting(Exit::Failed),
            _ => failure,
        }
    }
}

fn shown(keys: &[String]) -> String {
    match keys.is_empty() {
        true => "its top level".to_owned(),
        false => format!("`{}`", keys.join(".")),
    }
}
