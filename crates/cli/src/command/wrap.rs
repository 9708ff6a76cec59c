//! `ebbtide wrap`: runs a client through the gateway, and starts a gateway if none runs.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use clap::Args;
use context::figures;
use gateway::Running;
use gateway::config::{Effective, Mode};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::command::doctor::http::ask;
use crate::command::{runtime, serve};
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupt::{key, terminated};
use crate::logs;
use crate::settings::{SettingArgs, effective};

#[derive(Debug, Args)]
#[command(after_help = "\
The command runs with ANTHROPIC_BASE_URL and OPENAI_BASE_URL set to the gateway.
`codex` gets its setting openai_base_url as well. No settings file changes. If a
gateway already answers at the configured address, the command uses it;
otherwise one runs until the command ends.

Examples:
  ebbtide wrap claude
  ebbtide wrap codex resume --last
  ebbtide wrap --window 200k -- python my_agent.py")]
pub struct WrapArgs {
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Command to run, with its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

pub fn run(
    args: &WrapArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let mut effective = effective(&args.settings, environment)?;
    serve::prepare(&mut effective, console)?;
    // The terminal is the client's.
    logs::start_quietly(environment);
    runtime()?.block_on(async {
        let address = format!("http://{}", effective.config.listen);
        let (own, url) = match answers(&address).await {
            true => (None, address),
            false => {
                let started = serve::start(&effective, console).await?;
                let url = started.0.url();
                (Some(started), url)
            }
        };
        let token = environment.setting("EBBTIDE_ADMIN_TOKEN");
        let before = Tally::at(&url, token).await;
        let status = run_client(&args.command, &url).await;
        let after = Tally::at(&url, token).await;
        let running = own.as_ref().map(|(running, _)| running);
        console.note(told(&after.since(before), running, &effective));
        if let Some((running, _claim)) = own {
            running.shutdown().await;
        }
        Ok(exit(status?))
    })
}

/// Returns true if a gateway answers there.
async fn answers(address: &str) -> bool {
    let health = ask(&format!("{address}/ebbtide/health"), None).await;
    let health = health.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    health.is_some_and(|health| health.get("version").is_some())
}

/// Runs the client to its end. Ctrl-C is the client's; SIGTERM ends it.
async fn run_client(command: &[OsString], url: &str) -> Result<ExitStatus, Failure> {
    let (name, arguments) = command.split_first().ok_or(Failure::NotStarted {
        command: String::new(),
        source: std::io::ErrorKind::NotFound.into(),
    })?;
    let not_started = |source| Failure::NotStarted {
        command: name.to_string_lossy().into_owned(),
        source,
    };
    let mut child: Child = Command::new(name)
        .args(own_arguments(name, url))
        .args(arguments)
        .env("ANTHROPIC_BASE_URL", url)
        .env("OPENAI_BASE_URL", format!("{url}/v1"))
        .stdin(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(not_started)?;
    loop {
        tokio::select! {
            status = child.wait() => return status.map_err(not_started),
            () = key() => {}
            () = terminated() => {
                // It is waited for above, whether or not it can be ended.
                let _ = child.start_kill();
            }
        }
    }
}

/// The arguments that a client needs because it reads no variable.
fn own_arguments(name: &OsString, url: &str) -> Vec<String> {
    let stem = Path::new(name).file_stem();
    if stem.is_some_and(|stem| stem == "codex") {
        return vec!["-c".to_owned(), format!("openai_base_url=\"{url}/v1\"")];
    }
    Vec::new()
}

/// The counts of a gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    requests: u64,
    swaps: u64,
    cost: f64,
    cost_without: f64,
}

impl Tally {
    /// The counts now; zeros if the gateway does not tell.
    async fn at(url: &str, token: Option<&str>) -> Self {
        let answer = ask(&format!("{url}/ebbtide/api/overview"), token).await;
        let overview = answer.and_then(|body| serde_json::from_slice(&body).ok());
        Self::of(&overview.unwrap_or_default())
    }

    fn of(overview: &Value) -> Self {
        let total = |name: &str| overview.pointer(&format!("/totals/{name}"));
        let money = |name| total(name).and_then(Value::as_f64).unwrap_or_default();
        let lines = overview.get("conversations").and_then(Value::as_array);
        let swaps = lines.into_iter().flatten();
        let swaps = swaps.filter_map(|line| line.get("compactions")?.as_u64());
        Self {
            requests: total("requests")
                .and_then(Value::as_u64)
                .unwrap_or_default(),
            swaps: swaps.sum(),
            cost: money("cost"),
            cost_without: money("cost_without"),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(before.requests),
            swaps: self.swaps.saturating_sub(before.swaps),
            cost: (self.cost - before.cost).max(0.0),
            cost_without: (self.cost_without - before.cost_without).max(0.0),
        }
    }
}

/// What happened while the client ran, in a line or two.
fn told(tally: &Tally, own: Option<&Running>, effective: &Effective) -> String {
    let count = |count: u64, noun| figures::plural(usize::try_from(count).unwrap_or(0), noun);
    if tally.requests == 0 {
        return "Ebbtide: no request arrived. Does the client use ANTHROPIC_BASE_URL or \
                OPENAI_BASE_URL? `ebbtide connect` changes a client's own settings."
            .to_owned();
    }
    let mut line = format!("Ebbtide: {}, ", count(tally.requests, "request"));
    line.push_str(&match effective.config.mode {
        Mode::On => format!(
            "{}, {} (about {} without Ebbtide).",
            count(tally.swaps, "swap"),
            figures::dollars(tally.cost),
            figures::dollars(tally.cost_without),
        ),
        Mode::Observe => format!(
            "would have swapped {} times, {}.",
            tally.swaps,
            figures::dollars(tally.cost)
        ),
    });
    if let (Some(_), Some(file)) = (own, &effective.config.store) {
        line.push_str(&format!(" The conversations are in {}.", file.display()));
    }
    line
}

/// The client's exit status; a signal counts as a failure.
fn exit(status: ExitStatus) -> Exit {
    match status.code().map(u8::try_from) {
        Some(Ok(0)) => Exit::Success,
        Some(Ok(code)) => Exit::Passed(code),
        Some(Err(_)) | None => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Tally, own_arguments};

    #[test]
    fn codex_gets_its_setting_and_others_nothing() {
        let url = "http://127.0.0.1:4000";
        for name in ["codex", "/usr/bin/codex", "codex.exe"] {
            let own = own_arguments(&name.into(), url);
            assert_eq!(
                own[1], "openai_base_url=\"http://127.0.0.1:4000/v1\"",
                "{name}"
            );
        }
        assert!(own_arguments(&"claude".into(), url).is_empty());
    }

    #[test]
    fn only_what_happened_meanwhile_counts() {
        let overview = |requests: u64, swaps: u64| {
            Tally::of(&json!({
                "totals": {"requests": requests, "cost": 0.5, "cost_without": 0.75},
                "conversations": [{"compactions": swaps}, {"compactions": 1}],
            }))
        };
        let since = overview(9, 3).since(overview(4, 1));
        assert_eq!((since.requests, since.swaps), (5, 2));
        assert!(since.cost.abs() < 1e-9);
        assert_eq!(overview(2, 0).since(Tally::default()).swaps, 1);
    }
}
