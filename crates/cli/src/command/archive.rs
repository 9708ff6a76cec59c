//! `ebbtide lost`, `ebbtide recall` and `ebbtide expand`: the way back to what a running gateway's summaries
//! replaced.

use clap::Args;
use context::figures;
use serde_json::Value;

use crate::command::remote::Gateway;
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
#[command(after_help = "\
Each line is a kind, what was said, and the handle that `ebbtide expand` takes.

Examples:
  ebbtide lost CONVERSATION
  ebbtide lost CONVERSATION --mark 1a2b3c4d… --json")]
pub struct LostArgs {
    /// Conversation ID, or its first digits, from the dashboard or the x-ebbtide-conversation header
    pub conversation: String,
    /// Summary to look at instead of the one in use
    #[arg(long, value_name = "ID")]
    pub mark: Option<String>,
    #[command(flatten)]
    pub place: PlaceArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The search is for words, not meanings; the best place comes first.

Examples:
  ebbtide recall CONVERSATION 'connection refused'
  ebbtide recall CONVERSATION src/pool.rs --limit 3")]
pub struct RecallArgs {
    /// Conversation ID, or its first digits, from the dashboard or the x-ebbtide-conversation header
    pub conversation: String,
    /// Words to look for
    #[arg(value_parser = words)]
    pub query: String,
    /// Most places to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub limit: usize,
    #[command(flatten)]
    pub place: PlaceArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Handles:
  turn:14       the 14th message, counted from 1
  turn:14.2     its second part
  turns:13-14   several messages
  call:ID       the result of a tool call

Standard output is the original, byte for byte. If it has several parts, a line \
such as `--- user, tool result (turn:14.2) ---` stands before each; the handle of \
a part prints the part alone.

Examples:
  ebbtide expand CONVERSATION turn:14
  ebbtide expand CONVERSATION call:toolu_01 --range 10-80
  ebbtide expand CONVERSATION call:toolu_01 --range b0-4000")]
pub struct ExpandArgs {
    /// Conversation ID, or its first digits, from the dashboard or the x-ebbtide-conversation header
    pub conversation: String,
    /// What to print
    pub handle: String,
    /// Lines, such as 10-80, or bytes, such as b0-4000
    #[arg(long, value_name = "RANGE")]
    pub range: Option<String>,
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// The end of the help of `ebbtide undo`.
pub const UNDO_HELP: &str = "\
The conversation's next request carries it out. If the whole conversation fits \
into the window, it is shown; otherwise a larger summary replaces the old one. \
`ebbtide redo` shows the old summary again until the next swap.

Examples:
  ebbtide undo CONVERSATION
  ebbtide undo 3058d555";

/// The end of the help of `ebbtide redo`.
pub const REDO_HELP: &str = "\
The conversation's next request carries it out: it shows the summary that \
`ebbtide undo` took back, which replaces the same turns as before. After the next \
swap, there is nothing to redo.

Examples:
  ebbtide redo CONVERSATION
  ebbtide redo 3058d555";

#[derive(Debug, Args)]
pub struct OrderArgs {
    /// Conversation ID, or its first digits, from the dashboard or the x-ebbtide-conversation header
    pub conversation: String,
    /// URL of the gateway
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:4000")]
    pub url: String,
}

#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// URL of the gateway
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:4000")]
    pub url: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn lost(
    args: &LostArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let gateway = Gateway::at(&args.place.url, environment)?;
    let lost = gateway.ask(|it| it.lost(&args.conversation, args.mark.as_deref()))?;
    if args.place.json {
        console.json(&lost)?;
        return Ok(Exit::Success);
    }
    if lost.get("turns").and_then(Value::as_u64) == Some(0) {
        console.note("No summary is in use: nothing was left out.");
    } else if entries(&lost, "entries").next().is_none() {
        console.note("The summary leaves out nothing that is likely to be needed.");
    }
    for loss in entries(&lost, "entries") {
        let (kind, handle) = (text(loss, "kind"), text(loss, "handle"));
        console.line(format!("{kind}: {} ({handle})", shown(loss)))?;
    }
    let more = lost.get("left_out").and_then(Value::as_u64).unwrap_or(0);
    if more > 0 {
        console.note(format!("{more} more are not listed."));
    }
    Ok(Exit::Success)
}

pub fn recall(
    args: &RecallArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let gateway = Gateway::at(&args.place.url, environment)?;
    let found = gateway.ask(|it| it.recall(&args.conversation, &args.query, args.limit))?;
    if args.place.json {
        console.json(&found)?;
        return Ok(Exit::Success);
    }
    if entries(&found, "hits").next().is_none() {
        console.note(
            "No place in the conversation says these words. Try others: a name, a path, part of an error.",
        );
    }
    for hit in entries(&found, "hits") {
        let view = match hit.get("hidden").and_then(Value::as_bool) {
            Some(true) => "replaced by a summary",
            _ => "in view",
        };
        console.line(format!(
            "{} ({}, {view})",
            text(hit, "handle"),
            text(hit, "role")
        ))?;
        for line in text(hit, "text").lines() {
            let line = gateway::dashboard::one_line(line, usize::MAX);
            console.line(format!("  {line}"))?;
        }
    }
    Ok(Exit::Success)
}

pub fn expand(
    args: &ExpandArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let gateway = Gateway::at(&args.place.url, environment)?;
    let range = args.range.as_deref();
    let found = gateway.ask(|it| it.original(&args.conversation, &args.handle, range))?;
    if args.place.json {
        console.json(&found)?;
    } else {
        let (title, original) = (text(&found, "title"), text(&found, "text"));
        let bytes = found.get("bytes").and_then(Value::as_u64).unwrap_or(0);
        console.note(match original {
            "" if bytes > 0 => format!(
                "{title}: nothing is in this range; the whole has {} bytes",
                figures::count(bytes)
            ),
            "" => format!("{title}: empty"),
            _ => format!("{title}, {}", text(&found, "section")),
        });
        for turn in entries(&found, "damaged") {
            console.note(format!(
                "The original of turn:{turn} is damaged in the store."
            ));
        }
        console.original(original.as_bytes())?;
    }
    Ok(Exit::Success)
}

pub fn order(
    order: &str,
    args: &OrderArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let gateway = Gateway::at(&args.url, environment)?;
    gateway.ask(|it| it.order(&args.conversation, order))?;
    console.note("The next request carries it out.");
    Ok(Exit::Success)
}

/// Reads a query, which must say something.
fn words(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("expected at least one word"),
        _ => Ok(text.to_owned()),
    }
}

fn entries<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    let entries = value.get(name).and_then(Value::as_array);
    entries.into_iter().flatten()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The text of an entry on one line, without control characters.
fn shown(entry: &Value) -> String {
    gateway::dashboard::one_line(text(entry, "text"), usize::MAX)
}
