//! Errors that keep a program from running, and errors of agents and tools at run time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use context::coded::{self, CodeEntry, Coded, ErrorCode};
use model::ModelError;
use plumb::machine::{Category, Failure, GraphError, error_value};
use plumb::span::Span;
use plumb::value::Value;

/// Why a process cannot run here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// There is no such process, or something is wrong with the program.
    #[error("the program has no process `{name}` that can run")]
    NoProcess {
        /// Its name.
        name: String,
    },
    /// The machine does not take the graph.
    #[error("the process cannot run: {0}")]
    Graph(#[from] GraphError),
    /// An agent or a tool has a setting that cannot be carried out.
    #[error("`{agent}` {why}")]
    Setting {
        /// The agent or tool.
        agent: Arc<str>,
        /// The reason, as a phrase that follows the name.
        why: String,
    },
    /// A file that the program names cannot be read.
    #[error("`{agent}` names {}, which cannot be read: {why}", path.display())]
    Unreadable {
        /// The agent.
        agent: Arc<str>,
        /// The file.
        path: PathBuf,
        /// The system's message, or the mistake in the file.
        why: String,
    },
    /// A model cannot be called.
    #[error("`{agent}` cannot call its model: {source}")]
    Model {
        /// The agent.
        agent: Arc<str>,
        /// Why.
        source: ModelError,
    },
}

/// A message to an agent or a tool that was not answered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{at}: {why}")]
pub struct Problem {
    /// The node: the agent or tool as the network calls it.
    pub at: Arc<str>,
    /// The span of its declaration.
    pub span: Span,
    /// Why.
    pub why: FailureReason,
    /// The message.
    pub message: Option<Value>,
}

/// Why a message was not answered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FailureReason {
    /// The answers were not of the type of the output, as often as it was tried.
    #[error("none of {attempts} answers has the requested type: {detail}")]
    Answer {
        /// The number of answers.
        attempts: u32,
        /// The reason against the last answer.
        detail: String,
    },
    /// A script has no more answers.
    #[error("the script has no more answers")]
    ScriptEnded,
    /// The model could not be had.
    #[error("{0}")]
    Model(Box<ModelError>),
    /// The model ended without an answer.
    #[error("the model gave no answer: {0}")]
    NoAnswer(String),
    /// Models have been called as often as they may be.
    #[error("the limit of {most} model calls is used up")]
    CallsSpent {
        /// The maximum number of calls.
        most: u64,
    },
    /// A tool failed.
    #[error("{0}")]
    Tool(String),
    /// The answer took longer than the program allows.
    #[error("no answer within {}", within(*limit))]
    TimedOut {
        /// The setting `timeout`.
        limit: Duration,
    },
    /// An agent has carried out as many commands in a row as it may.
    #[error("{most} commands in a row without a message between them; nothing ends the loop")]
    CommandsSpent {
        /// The maximum number of commands.
        most: u64,
    },
    /// An agent or a tool has failed as often in a row as it may.
    #[error("{most} messages in a row failed, without an answer or an input between them")]
    FailuresSpent {
        /// The setting `max_failures`.
        most: u32,
    },
    /// The network has come to rest, and messages wait for an agent that is paused.
    #[error(
        "{} for an agent that is paused, and nothing is left that could resume it",
        match waiting {
            1 => "1 message waits".to_owned(),
            several => format!("{several} messages wait"),
        }
    )]
    Paused {
        /// The number of messages.
        waiting: usize,
    },
}

/// A time as text: `30s`, `1.5s`.
fn within(limit: Duration) -> String {
    format!("{}s", limit.as_secs_f64())
}

impl FailureReason {
    /// The word for it in errors.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Answer { .. } => "output_type_mismatch",
            Self::ScriptEnded => "script_ended",
            Self::Model(_) => "model_unavailable",
            Self::NoAnswer(_) => "no_answer",
            Self::CallsSpent { .. } => "calls_spent",
            Self::Tool(_) => "tool_failed",
            Self::TimedOut { .. } => "timed_out",
            Self::CommandsSpent { .. } => "commands_spent",
            Self::FailuresSpent { .. } => "failures_spent",
            Self::Paused { .. } => "paused",
        }
    }

    /// The category of the error.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Answer { .. } => Category::Invalid,
            Self::ScriptEnded => Category::NotFound,
            Self::CallsSpent { .. } => Category::Denied,
            Self::Model(error) => category(error),
            Self::NoAnswer(_) | Self::Tool(_) | Self::TimedOut { .. } => Category::Unavailable,
            Self::Paused { .. } | Self::CommandsSpent { .. } | Self::FailuresSpent { .. } => {
                Category::Internal
            }
        }
    }
}

fn category(error: &ModelError) -> Category {
    match error {
        ModelError::BadUrl { .. } | ModelError::BadHeader { .. } => Category::Config,
        ModelError::Refused(refused) => match refused.status {
            401 | 403 => Category::Denied,
            404 => Category::NotFound,
            _ => Category::Invalid,
        },
        _ => Category::Unavailable,
    }
}

impl Problem {
    /// The failure as data, after so many answers.
    pub(crate) fn failure(&self, attempts: u32) -> Failure {
        Failure {
            error: self.to_string(),
            code: self.why.word().into(),
            attempts,
        }
    }

    /// The record on the error stream; see [`error_value`].
    #[must_use]
    pub fn to_value(&self) -> Value {
        let detail = self.to_string();
        let (word, category) = (self.why.word(), self.why.category());
        error_value(word, category, &detail, self.message.as_ref())
    }
}

/// The error codes of this crate.
pub const CODES: &[CodeEntry] = &[
    entry(
        "E0901",
        "a program has no process of this name that can run",
        "Name one of the program's processes with --process; `ebbtide plumb check` says what is wrong with a program.",
    ),
    entry(
        "E0902",
        "the machine rejects a graph",
        "This is a bug in Ebbtide. Please report it and include the program.",
    ),
    entry(
        "E0903",
        "an agent or a tool has a setting that cannot be used here",
        "docs/plumb/running.md says what each provider needs; the keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY.",
    ),
    entry(
        "E0904",
        "a file that an agent names cannot be read",
        "Paths are read from the folder of the program; a script is JSON, one answer a line.",
    ),
    entry(
        "E0905",
        "an agent's model cannot be called",
        "Check the endpoint and the key.",
    ),
    entry(
        "E0906",
        "a message to an agent or a tool was not answered",
        "The error contains the message; the detail says why. Give the agent or tool the type `!A -> !(B | Failed)`, or wire its port `error`, to handle failures in the program.",
    ),
    entry(
        "E0907",
        "a state file is damaged",
        "Restore the file from a copy, or delete it to start with empty memories.",
    ),
    entry(
        "E0908",
        "a state file was written by a newer version",
        "Run the newer version, or name another file with --state.",
    ),
    entry(
        "E0909",
        "a state file belongs to another program",
        "Name another file with --state. After a change to an agent's declaration, delete the file to start with empty memories.",
    ),
];

const fn entry(code: &'static str, meaning: &'static str, remedy: &'static str) -> CodeEntry {
    CodeEntry {
        code: ErrorCode::new(code),
        meaning,
        remedy,
    }
}

impl Coded for SetupError {
    fn code(&self) -> ErrorCode {
        ErrorCode::new(match self {
            Self::NoProcess { .. } => "E0901",
            Self::Graph(_) => "E0902",
            Self::Setting { .. } => "E0903",
            Self::Unreadable { .. } => "E0904",
            Self::Model { .. } => "E0905",
        })
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}

impl Coded for Problem {
    fn code(&self) -> ErrorCode {
        ErrorCode::new("E0906")
    }

    fn hint(&self) -> Option<String> {
        coded::remedy(CODES, self.code())
    }
}
