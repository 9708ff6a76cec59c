//! `ebbtide mcp`: the memory tools of a running gateway for clients that start an MCP server as a process.
//!
//! Each message from standard input goes to the gateway's `/mcp`, and its answer to standard output, one JSON
//! text a line.

use std::io::{self, BufRead, Read};

use bytes::Bytes;
use clap::Args;
use gateway::config::Secret;
use gateway::{Remote, RemoteError};
use serde_json::{Value, json};

use crate::command::runtime;
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};

/// The longest message, in bytes; the gateway takes no longer one.
const LONGEST: u64 = 1 << 20;

/// The longest value that goes into a header, in bytes.
const HEADER: usize = 4_096;
/// The first revision that wants the name of what a request is about in a header.
const STATELESS: &str = "2026-07-28";

/// JSON-RPC's codes.
const NOT_JSON: i64 = -32_700;
const BAD_PARAMS: i64 = -32_602;
const INTERNAL: i64 = -32_603;

#[derive(Debug, Args)]
#[command(after_help = "\
Clients that speak MCP over HTTP need no process: give them the address \
http://127.0.0.1:4000/mcp. This command is for those that start a process. \
If the gateway requires a token, set EBBTIDE_KEY to the API key that the agent \
uses: then its tools see the conversations of that key and no others. Without \
it, EBBTIDE_ADMIN_TOKEN is sent, which shows the agent all tenants.

Example of a client's settings:
  {\"mcpServers\": {\"ebbtide\": {\"command\": \"ebbtide\", \"args\": [\"mcp\"]}}}")]
pub struct McpArgs {
    /// URL of the gateway
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:4000")]
    pub url: String,
}

pub fn run(
    args: &McpArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    // An agent gets no more to see than its key shows.
    let key = environment.setting("EBBTIDE_KEY");
    let token = key.or_else(|| environment.setting("EBBTIDE_ADMIN_TOKEN"));
    let token = token.map(Secret::new);
    let remote =
        Remote::new(&args.url, token).map_err(|error| Failure::of(&error).exiting(Exit::Failed))?;
    let runtime = runtime()?;
    let mut input = io::stdin().lock();
    let mut version = None;
    loop {
        let mut line = Vec::new();
        let unreadable = |source| Failure::Unreadable {
            path: "-".into(),
            source,
        };
        let read = (&mut input).take(LONGEST).read_until(b'\n', &mut line);
        if read.map_err(unreadable)? == 0 {
            return Ok(Exit::Success);
        }
        let is_too_long = line.len() as u64 == LONGEST && !line.ends_with(b"\n");
        if is_too_long {
            // Its rest is no message of its own.
            input.skip_until(b'\n').map_err(unreadable)?;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match is_too_long {
            true => Some(too_long(&line)),
            false => runtime.block_on(answer(&remote, &line, &mut version)),
        };
        if let Some(answer) = answer {
            console.record(answer.to_string())?;
            console.flush()?;
        }
    }
}

/// The answer to a message; `None` for a notification.
async fn answer(remote: &Remote, line: &[u8], version: &mut Option<String>) -> Option<Value> {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Some(error(
            &Value::Null,
            NOT_JSON,
            "the message is not valid JSON",
        ));
    };
    let at = |place: &str| message.pointer(place).and_then(Value::as_str);
    let revision = at("/params/_meta/io.modelcontextprotocol~1protocolVersion");
    let id = message.get("id");
    // Earlier revisions want no name in front.
    let named = revision
        .filter(|&it| it >= STATELESS)
        .and_then(|_| at(name_of(at("/method"))));
    // A header has room for less than a body.
    let in_headers = [at("/method"), named, revision];
    if in_headers.iter().flatten().any(|it| it.len() > HEADER) {
        let wrong = format!("a method, a name or a revision is longer than {HEADER} bytes");
        return id.map(|id| error(id, BAD_PARAMS, &wrong));
    }
    let mut headers = Vec::new();
    headers.extend(at("/method").map(|method| ("mcp-method", method)));
    // A handshake agrees anew.
    let agreed = version
        .as_deref()
        .filter(|_| at("/method") != Some("initialize"));
    let revision = revision.or(agreed);
    headers.extend(revision.map(|revision| ("mcp-protocol-version", revision)));
    let body = Bytes::copy_from_slice(line.trim_ascii());
    // JSON-RPC forbids an answer to a notification, even to one that is refused.
    let is_notification = at("/method").is_some() && id.is_none();
    match remote.mcp(body, &headers, named).await {
        Ok(_) if is_notification => None,
        Ok(answered) => {
            let agreed = answered.as_ref().and_then(|answer| {
                let agreed = answer.pointer("/result/protocolVersion")?.as_str()?;
                Some(agreed.to_owned())
            });
            if at("/method") == Some("initialize") && agreed.is_some() {
                *version = agreed;
            }
            answered
        }
        Err(failed) => id.map(|id| error(id, INTERNAL, &told(&failed))),
    }
}

/// The place of what a request names, which a proxy may route by.
fn name_of(method: Option<&str>) -> &'static str {
    match method {
        Some("resources/read") => "/params/uri",
        _ => "/params/name",
    }
}

/// The answer to a message that is too long. Its id mostly stands near its beginning.
fn too_long(line: &[u8]) -> Value {
    let text = String::from_utf8_lossy(line);
    let id = text.split_once("\"id\":").and_then(|(_, rest)| {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let id: Value = values.next()?.ok()?;
        (id.is_number() || id.is_string()).then_some(id)
    });
    let message = format!("the message is longer than {LONGEST} bytes");
    error(&id.unwrap_or_default(), INTERNAL, &message)
}

/// The words of an error, with its code and what to do.
fn told(failed: &RemoteError) -> String {
    use context::coded::Coded;
    let hint = failed.hint().unwrap_or_default();
    format!("{}: {failed}. {hint}", failed.code())
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::too_long;

    #[test]
    fn who_sent_too_much_is_told() {
        for (line, id) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"na"#,
                json!(7),
            ),
            (r#"{"id": "a-1", "params": "xxxx"#, json!("a-1")),
            (r#"{"params": "xxxx"#, json!(null)),
        ] {
            let answer = too_long(line.as_bytes());
            assert_eq!(answer["id"], id, "{line}");
            assert_eq!(answer["error"]["code"], -32_603);
        }
    }
}
