//! `ebbtide pin`: pins of a conversation in a gateway that runs.

use clap::{Args, Subcommand};
use context::coded::Coded;
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
///
/// # Errors
/// Where no gateway answers, or it refuses.
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
    let lines = runtime.block_on(act(&args.action, &remote));
    for line in lines.map_err(|error| failure(&error))? {
        console.line(line)?;
    }
    Ok(Exit::Done)
}

async fn act(action: &Action, remote: &Remote) -> Result<Vec<String>, RemoteError> {
    match action {
        Action::Add { conversation, text } => {
            let pin = remote.pin(conversation, text).await?;
            Ok(vec![line(&pin)])
        }
        Action::Remove { conversation, pin } => {
            let removed = remote.unpin(conversation, pin).await?;
            let said = if removed {
                "removed"
            } else {
                "there was no such pin"
            };
            Ok(vec![said.to_owned()])
        }
        Action::List { conversation } => {
            let detail = remote.conversation(conversation).await?;
            let pins = detail.get("pins").and_then(Value::as_array);
            Ok(pins.into_iter().flatten().map(line).collect())
        }
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
