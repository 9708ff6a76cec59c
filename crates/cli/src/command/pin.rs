//! `ebbtide pin`: pins of a conversation in a gateway that runs.

use clap::{Args, Subcommand};
use context::coded::Coded;
use context::pin::PinError;
use gateway::config::Secret;
use gateway::{Remote, RemoteError};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

/// What `ebbtide pin` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
A pinned text stays verbatim in what the model sees, whatever is compacted.
The id of a conversation stands in the header x-ebbtide-conversation of each
answer, and in the dashboard. Where the gateway has an admin token, it is read
from EBBTIDE_ADMIN_TOKEN.

Examples:
  ebbtide pin list CONVERSATION
  ebbtide pin add CONVERSATION 'never touch the table users'
  ebbtide pin remove CONVERSATION 1a2b3c4d")]
pub struct PinArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
    /// The gateway's URL
    #[arg(
        long,
        global = true,
        value_name = "URL",
        default_value = "http://127.0.0.1:4000"
    )]
    pub url: String,
}

/// What to do with pins.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Pin a text
    Add {
        /// The conversation's id
        conversation: String,
        /// The text
        text: String,
    },
    /// Remove a pin
    Remove {
        /// The conversation's id
        conversation: String,
        /// The pin's id
        pin: String,
    },
    /// List the pins
    List {
        /// The conversation's id
        conversation: String,
    },
}

/// Does it.
pub fn run(
    args: &PinArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let token = environment
        .settings
        .iter()
        .find(|(name, value)| name == "EBBTIDE_ADMIN_TOKEN" && !value.is_empty())
        .map(|(_, value)| Secret::new(value.as_str()));
    let remote = Remote::new(&args.url, token).map_err(|error| failure(&error))?;
    let runtime = Runtime::new().map_err(|source| Failure::Output { source })?;
    for line in runtime.block_on(act(&args.action, &remote))? {
        console.line(line)?;
    }
    Ok(Exit::Done)
}

async fn act(action: &Action, remote: &Remote) -> Result<Vec<String>, Failure> {
    let failed = |error| failure(&error);
    match action {
        Action::Add { conversation, text } => {
            let pin = remote.pin(conversation, text).await.map_err(failed)?;
            Ok(vec![line(&pin)])
        }
        Action::Remove { conversation, pin } => {
            let removed = remote.unpin(conversation, pin).await.map_err(failed)?;
            match removed {
                true => Ok(vec!["removed".to_owned()]),
                false => Err(not_there(pin)),
            }
        }
        Action::List { conversation } => {
            let detail = remote.conversation(conversation).await.map_err(failed)?;
            let pins = detail.get("pins").and_then(Value::as_array);
            Ok(pins.into_iter().flatten().map(line).collect())
        }
    }
}

/// Nothing was removed.
fn not_there(pin: &str) -> Failure {
    Failure::Reported {
        code: PinError::UNKNOWN,
        message: format!("no pin `{pin}` that can be removed from here"),
        place: None,
        hint: Some(
            "`ebbtide pin list` shows the pins; one with the origin `user` is removed by an `#unpin` line"
                .to_owned(),
        ),
        exit: Exit::Failed,
    }
}

/// A pin in one line: its id, who set it, its text.
fn line(pin: &Value) -> String {
    let text = |name: &str| pin.get(name).and_then(Value::as_str).unwrap_or_default();
    let shown = gateway::dashboard::one_line(text("text"), usize::MAX);
    format!("{}  {:5}  {shown}", text("id"), text("origin"))
}

fn failure(error: &RemoteError) -> Failure {
    Failure::Reported {
        code: error.code(),
        message: error.to_string(),
        place: None,
        hint: error.hint(),
        exit: Exit::Failed,
    }
}
