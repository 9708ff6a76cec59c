//! `ebbtide pin`: adds, lists and removes pins in a running gateway.

use clap::{ArgGroup, Args, Subcommand};
use context::pin::{PinError, Subject};
use serde_json::Value;

use crate::command::remote::Gateway;
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
A pinned text stays in the model's context verbatim, through every compaction. \
One pin may take 15 % of the window, and all pins together 25 %. \
The x-ebbtide-conversation header of each response holds the conversation's ID; \
the dashboard shows it too. If the gateway requires an admin token, set \
EBBTIDE_ADMIN_TOKEN.

Examples:
  ebbtide pin list CONVERSATION
  ebbtide pin add CONVERSATION 'never touch the table users'
  ebbtide pin add CONVERSATION --turn 14
  ebbtide pin add CONVERSATION --path src/a.rs
  ebbtide pin remove CONVERSATION 1a2b3c4d")]
pub struct PinArgs {
    #[command(subcommand)]
    pub action: Action,
    /// URL of the gateway
    #[arg(
        long,
        global = true,
        value_name = "URL",
        default_value = "http://127.0.0.1:4000"
    )]
    pub url: String,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// Pin a text, a turn of the conversation, or the last read of a file
    #[command(
        group = ArgGroup::new("subject").required(true).args(["text", "turn", "path"]),
        override_usage = "ebbtide pin add [OPTIONS] <CONVERSATION> <TEXT|--turn <N>|--path <FILE>>"
    )]
    Add {
        /// Conversation ID, or its first digits
        conversation: String,
        /// Text to pin
        text: Option<String>,
        /// Turn to pin, counted from 1 as in the dashboard
        #[arg(long, value_name = "N")]
        turn: Option<usize>,
        /// Number of turns to pin, ending with --turn
        #[arg(long, value_name = "N", requires = "turn", default_value_t = 1)]
        turns: usize,
        /// File whose last read to pin, as the tool call names it
        #[arg(long, value_name = "FILE")]
        path: Option<String>,
    },
    /// Remove a pin
    Remove {
        /// Conversation ID, or its first digits
        conversation: String,
        /// Pin ID
        pin: String,
    },
    /// List the pins
    List {
        /// Conversation ID, or its first digits
        conversation: String,
    },
}

pub fn run(
    args: &PinArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let gateway = Gateway::at(&args.url, environment)?;
    console.lines(act(&args.action, &gateway)?)?;
    Ok(Exit::Success)
}

fn act(action: &Action, gateway: &Gateway) -> Result<Vec<String>, Failure> {
    match action {
        Action::Add {
            conversation,
            text,
            turn,
            turns,
            path,
        } => {
            let subject = match (turn, path) {
                (Some(turn), _) => Subject::Turns(*turn, *turns),
                (None, Some(path)) => Subject::File(path.clone()),
                (None, None) => Subject::Text(text.clone().unwrap_or_default()),
            };
            let pin = gateway.ask(|it| it.pin(conversation, &subject))?;
            Ok(vec![line(&pin)])
        }
        Action::Remove { conversation, pin } => {
            match gateway.ask(|it| it.unpin(conversation, pin))? {
                true => Ok(vec!["removed".to_owned()]),
                false => Err(no_such_pin(pin)),
            }
        }
        Action::List { conversation } => {
            let detail = gateway.ask(|it| it.conversation(conversation))?;
            let pins = detail.get("pins").and_then(Value::as_array);
            Ok(pins.into_iter().flatten().map(line).collect())
        }
    }
}

fn no_such_pin(pin: &str) -> Failure {
    let hint = "`ebbtide pin list` shows the pins. To remove a pin with the origin `user`, send an \
                `#unpin` line in the conversation.";
    Failure::Reported {
        code: PinError::UNKNOWN,
        message: format!("no pin `{pin}` that this command can remove"),
        place: None,
        hint: Some(hint.to_owned()),
        exit: Exit::Failed,
    }
}

/// One line: the pin's ID, its origin, its text.
fn line(pin: &Value) -> String {
    let text = |name: &str| pin.get(name).and_then(Value::as_str).unwrap_or_default();
    let shown = gateway::dashboard::one_line(text("text"), usize::MAX);
    format!("{}  {:5}  {shown}", text("id"), text("origin"))
}
