//! The memories of a network's agents as a text that outlives the process.
//!
//! The text is JSON: the format's name and version, a hash over the agents, and an entry for each of them by
//! the name of its node, with a hash of its declaration and its memory.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use context::coded::{self, Coded, ErrorCode};
use context::turn::Digest;
use plumb::graph::External;
use plumb::types::Type;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::CODES;
use crate::memory::SavedMemory;

/// The name of the format.
const FORMAT: &str = "ebbtide.plumb.state";
/// The version that is written, and the newest that is read.
const VERSION: u64 = 1;

/// Why a state cannot be taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The text is no state, or not the one that was written.
    #[error("the state is damaged: {why}")]
    Damaged {
        /// The reason.
        why: String,
    },
    /// A later version of the program wrote it.
    #[error("the state has version {version}; this program reads versions up to {VERSION}")]
    Newer {
        /// Its version.
        version: u64,
    },
    /// An agent in it is not declared in the program, or otherwise.
    #[error("the state belongs to another program: {why}")]
    Foreign {
        /// The difference.
        why: String,
    },
}

impl StateError {
    fn damaged(why: &dyn std::fmt::Display) -> Self {
        Self::Damaged {
            why: why.to_string(),
        }
    }
}

impl Coded for StateError {
    fn code(&self) -> ErrorCode {
        ErrorCode::new(match self {
            Self::Damaged { .. } => "E0907",
            Self::Newer { .. } => "E0908",
            Self::Foreign { .. } => "E0909",
        })
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

/// The fields that tell whether the rest can be read.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: String,
    version: u64,
    digest: String,
    agents: Box<RawValue>,
}

/// The entries of a state, by the name of the agent's node.
pub(crate) type Entries = BTreeMap<String, Entry>;

/// An agent in a state.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// The hash of its declaration.
    pub declared: String,
    pub memory: SavedMemory,
}

/// Writes a state. It ends with a line feed.
///
/// # Errors
/// If JSON cannot hold it, which is a bug.
pub(crate) fn write(entries: &Entries) -> Result<String, StateError> {
    let agents =
        serde_json::value::to_raw_value(entries).map_err(|error| StateError::damaged(&error))?;
    let document = Document {
        format: FORMAT.to_owned(),
        version: VERSION,
        digest: hexadecimal(Digest::of(agents.get().as_bytes())),
        agents,
    };
    let text = serde_json::to_string(&document).map_err(|error| StateError::damaged(&error))?;
    Ok(text + "\n")
}

/// Reads a state.
///
/// # Errors
/// If it is damaged or newer.
pub(crate) fn read(text: &str) -> Result<Entries, StateError> {
    let head: Head = serde_json::from_str(text).map_err(|error| StateError::damaged(&error))?;
    if head.format != FORMAT {
        return Err(StateError::damaged(&"it has another format"));
    }
    if head.version > VERSION {
        return Err(StateError::Newer {
            version: head.version,
        });
    }
    let document: Document =
        serde_json::from_str(text).map_err(|error| StateError::damaged(&error))?;
    if document.digest != hexadecimal(Digest::of(document.agents.get().as_bytes())) {
        return Err(StateError::damaged(&"its hash does not fit its content"));
    }
    serde_json::from_str(document.agents.get()).map_err(|error| StateError::damaged(&error))
}

/// The hash of a declaration: its name, its settings and the type of its answers. A memory fits the agent that
/// is declared like this, wherever it stands in the program.
pub(crate) fn declaration(declared: &External, answers: &Type) -> String {
    let mut text = format!("{}\n{answers}\n", declared.name);
    for (key, value) in &declared.settings {
        let _ = writeln!(text, "{key}: {value}");
    }
    hexadecimal(Digest::of(text.as_bytes()))
}

fn hexadecimal(digest: Digest) -> String {
    let bytes = digest.as_bytes().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
