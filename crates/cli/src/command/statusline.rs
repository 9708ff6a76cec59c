//! `ebbtide statusline`: one line about a session's memory, for the status line of Claude Code.

use std::io::{self, Read};

use clap::Args;
use serde_json::Value;

use crate::command::doctor::http::ask;
use crate::command::runtime;
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

/// The longest description of a session to read, in bytes.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Claude Code runs a command for its status line and passes a description of the \
session. In ~/.claude/settings.json:
  {\"statusLine\": {\"type\": \"command\", \"command\": \"ebbtide statusline\"}}

The line shows how full the window is, whether a summary is ready, and the number \
of pins: `62 % · summary ready · 2 pins`. If the gateway requires an admin token, \
set EBBTIDE_ADMIN_TOKEN.")]
pub struct StatuslineArgs {
    /// URL of the gateway
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:4000")]
    pub url: String,
}

pub fn run(
    args: &StatuslineArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let mut described = Vec::new();
    let read = io::stdin().lock().take(LONGEST).read_to_end(&mut described);
    read.map_err(|source| Failure::Unreadable {
        path: "-".into(),
        source,
    })?;
    let described: Value = serde_json::from_slice(&described).unwrap_or_default();
    let session = described.get("session_id").and_then(Value::as_str);
    let token = environment.setting("EBBTIDE_ADMIN_TOKEN");
    let url = args.url.trim_end_matches('/');
    let line = runtime()?.block_on(async {
        let overview = json(&format!("{url}/ebbtide/api/overview"), token).await?;
        let id = find(&overview, session.unwrap_or_default())?;
        json(&format!("{url}/ebbtide/api/conversations/{id}"), token).await
    });
    // A status line has no place for errors.
    console.line(line.map_or_else(|| "Ebbtide: –".to_owned(), |detail| told(&detail)))?;
    Ok(Exit::Success)
}

async fn json(url: &str, token: Option<&str>) -> Option<Value> {
    serde_json::from_slice(&ask(url, token).await?).ok()
}

/// The newest conversation of the session's main agent.
fn find(overview: &Value, session: &str) -> Option<String> {
    let lines = overview.get("conversations")?.as_array()?;
    let named = |line: &&Value| line.get("name").and_then(Value::as_str) == Some(session);
    let found = lines.iter().find(named)?;
    Some(found.get("id")?.as_str()?.to_owned())
}

/// The line: how full the window is, the state of the summary, the pins.
fn told(detail: &Value) -> String {
    let number = |place: &str| detail.pointer(place).and_then(Value::as_u64).unwrap_or(0);
    let (tokens, window) = (number("/line/gauge/tokens"), number("/line/gauge/window"));
    let mut parts = vec![match (tokens * 100).checked_div(window) {
        Some(percent) if tokens > 0 => format!("{percent} %"),
        _ => "–".to_owned(),
    }];
    let state = detail.pointer("/line/state").and_then(Value::as_str);
    parts.extend(match state {
        Some("preparing") => Some("preparing a summary".to_owned()),
        Some("ready") => Some("summary ready".to_owned()),
        Some("stopped") => Some("compaction stopped".to_owned()),
        _ => None,
    });
    let pins = detail
        .get("pins")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    if pins > 0 {
        parts.push(context::figures::plural(pins, "pin"));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{find, told};

    #[test]
    fn the_line_says_how_full_what_is_ready_and_the_pins() {
        let detail = |tokens, state, pins| {
            json!({
                "line": {"gauge": {"tokens": tokens, "window": 200_000}, "state": state},
                "pins": vec![0; pins],
            })
        };
        let cases = [
            ((124_000, "ready", 2), "62 % · summary ready · 2 pins"),
            ((150_000, "preparing", 0), "75 % · preparing a summary"),
            ((20_000, "idle", 1), "10 % · 1 pin"),
            ((0, "idle", 0), "–"),
        ];
        for ((tokens, state, pins), expected) in cases {
            assert_eq!(told(&detail(tokens, state, pins)), expected);
        }
        assert_eq!(told(&json!({})), "–");
    }

    #[test]
    fn the_sessions_newest_conversation_counts_and_no_subagents() {
        let overview = json!({"conversations": [
            {"name": "s · explore", "id": "1"}, {"name": "s", "id": "2"}, {"name": "s", "id": "3"},
        ]});
        assert_eq!(find(&overview, "s").as_deref(), Some("2"));
        assert_eq!(find(&overview, "t"), None);
    }
}
