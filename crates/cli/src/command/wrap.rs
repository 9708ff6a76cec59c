//! `ebbtide wrap`: runs a client through the gateway, and starts a gateway if none runs.

mod joined;
mod upstreams;

use std::ffi::OsString;
use std::path::Path;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use clap::Args;
use context::figures;
use gateway::Running;
use gateway::config::{Effective, Origin, SETTINGS, Setting};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use self::joined::Joined;
use self::upstreams::Upstreams;
use crate::command::doctor::http::ask;
use crate::command::{runtime, serve};
use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::interrupt::{asked_to_end, interrupted, key};
use crate::logs;
use crate::settings::{SettingArgs, effective_anywhere, warn_of_ignored};

#[derive(Debug, Args)]
#[command(after_help = "\
The command runs with ANTHROPIC_BASE_URL and OPENAI_BASE_URL set to the gateway. \
`codex` gets its setting openai_base_url as well. No settings file changes. If a \
gateway already answers at the configured address, the command uses it; \
otherwise one runs until the command ends, and until other commands that use it \
have ended. A base URL that the environment sets already is the upstream, unless \
the settings name one. ./ebbtide.toml is not read, because it may belong to a \
project that you cloned; --config names it.

Examples:
  ebbtide wrap claude
  ebbtide wrap codex resume --last
  ebbtide wrap --window 200k -- python my_agent.py")]
#[command(mut_arg("config", |config| config.help("Configuration file, instead of the user's own")))]
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
    let instead = "To use it, add `--config ./ebbtide.toml`.";
    warn_of_ignored(&args.settings, environment, instead, console);
    let (mut effective, upstreams) = settings(&args.settings, environment)?;
    serve::prepare(&mut effective, console)?;
    // The terminal is the client's.
    logs::start_quietly(environment);
    runtime()?.block_on(async {
        let listen = effective.config.listen;
        let address = format!("http://{listen}");
        let token = environment.setting("EBBTIDE_ADMIN_TOKEN");
        let there = join(&address, environment, listen.port()).await;
        let own = match &there {
            Some((health, _)) => {
                agree(&args.settings, &effective, (&address, token), health).await?;
                None
            }
            None => {
                upstreams.tell(console);
                Some(serve::start(&effective, console).await?)
            }
        };
        let running = own.as_ref().map(|(running, _)| running);
        let url = running.map_or(address, Running::url);
        let before = Tally::at(&url, token).await;
        let ran = run_client(&args.command, (&url, &upstreams.openai(&url))).await;
        let after = Tally::at(&url, token).await;
        console.note(match (before, after) {
            (Ok(before), Ok(after)) => told(&after.since(before), running, &effective),
            (_, Err(mute)) | (Err(mute), Ok(_)) => {
                format!("Ebbtide cannot tell what happened: {mute}.")
            }
        });
        if let Some((running, _claim)) = own {
            let joined = Joined::open(environment, running.address().port());
            let is_asked_to_end = ran
                .as_ref()
                .is_ok_and(|(_, signal)| *signal == Some("TERM"));
            if let (Some(joined), false) = (&joined, is_asked_to_end) {
                outlast(joined, console).await;
            }
            shut_down(running, console).await;
            // Until here, no other command can join.
            if let Some(joined) = joined {
                joined.remove();
            }
        }
        let (status, _) = ran?;
        Ok(exit(status))
    })
}

/// The settings, with the upstreams that the environment's base URLs add.
fn settings(
    args: &SettingArgs,
    environment: &Environment,
) -> Result<(Effective, Upstreams), Failure> {
    let effective = effective_anywhere(args, Vec::new(), environment)?;
    let upstreams = Upstreams::found(&effective);
    let effective = effective_anywhere(args, upstreams.flags(), environment)?;
    Ok((effective, upstreams))
}

/// Joins the gateway at an address, and returns its health and the lock that keeps it up. `None` if none answers.
async fn join(
    address: &str,
    environment: &Environment,
    port: u16,
) -> Option<(Value, Option<Joined>)> {
    let found = health(address).await?;
    let Some(joined) = Joined::open(environment, port) else {
        return Some((found, None));
    };
    joined.share().await;
    // Its owner may have ended it before it was locked.
    Some((health(address).await?, Some(joined)))
}

/// Keeps the gateway up while other commands use it, until Ctrl-C.
async fn outlast(joined: &Joined, console: &mut Console) {
    // Before the line is out, so that no Ctrl-C is missed.
    let interrupt = interrupted();
    if joined.is_alone() {
        return;
    }
    console.note("The gateway stays up while other clients use it. Press Ctrl-C to stop it.");
    tokio::select! {
        () = joined.alone() => {}
        () = interrupt => {}
    }
}

/// The time after which a shutdown is said to take long.
const LONG: Duration = Duration::from_secs(2);

/// Shuts the gateway down. That takes bounded time: it waits for open answers and for the store. The second Ctrl-C
/// ends it at once, and the first one does not, for it may have been meant for the client.
async fn shut_down(running: Running, console: &mut Console) {
    let mut ended = pin!(running.shutdown());
    let mut interrupt = pin!(interrupted());
    tokio::select! {
        () = &mut ended => return,
        () = &mut interrupt => {}
        () = sleep(LONG) => {
            console.note("Ebbtide is finishing responses in progress and storing conversations.");
            tokio::select! {
                () = &mut ended => return,
                () = &mut interrupt => {}
            }
        }
    }
    interrupt.set(interrupted());
    console.note("Shutting down. Press Ctrl-C again to stop immediately.");
    tokio::select! {
        () = ended => {}
        () = interrupt => console.note("Stopped. Responses in progress were cut off."),
    }
}

/// The health that a gateway there tells; `None` if none answers.
async fn health(address: &str) -> Option<Value> {
    let health = ask(&format!("{address}/ebbtide/health"), None).await?;
    let health: Value = serde_json::from_slice(&health).ok()?;
    health.get("version").is_some().then_some(health)
}

/// The settings that a running gateway tells.
const TOLD: [&str; 7] = [
    "mode",
    "upstream.anthropic",
    "upstream.openai",
    "upstream.chatgpt",
    "policy.window",
    "policy.route",
    "policy.strategy",
];

/// Checks that the settings given suit the gateway that runs at an address: options, and what the file or the
/// environment says about where requests go and how it treats conversations.
async fn agree(
    args: &SettingArgs,
    effective: &Effective,
    (address, token): (&str, Option<&str>),
    health: &Value,
) -> Result<(), Failure> {
    let flags = args.flags();
    let given = |setting: &&Setting| {
        let is_flag = flags.iter().any(|flag| flag.key == setting.key);
        let is_told = TOLD.contains(&setting.key);
        // The gateway answers there, so it listens there.
        setting.key != "listen"
            && (is_flag || is_told && effective.origin(setting) != Origin::Default)
    };
    let given: Vec<&Setting> = SETTINGS.iter().filter(given).collect();
    if given.is_empty() {
        return Ok(());
    }
    // Health is public and tells the upstreams.
    let is_public = |setting: &&Setting| setting.key.starts_with("upstream.");
    let overview = match given.iter().all(is_public) {
        true => Value::Null,
        false => overview(address, token)
            .await
            .map_err(|reason| Failure::Mute {
                address: address.to_owned(),
                reason,
            })?,
    };
    let config = &effective.config;
    for setting in given {
        let theirs = |name: &str| overview.get(name).and_then(Value::as_str);
        let upstream = |name: &str| health.pointer(&format!("/upstreams/{name}"))?.as_str();
        let (wanted, theirs) = match setting.key {
            "mode" => (setting.text(config), theirs("mode")),
            "upstream.anthropic" => (setting.text(config), upstream("anthropic")),
            "upstream.openai" => (setting.text(config), upstream("openai")),
            "upstream.chatgpt" => (setting.text(config), upstream("chatgpt").or(Some("none"))),
            "policy.window" => (setting.text(config), theirs("window")),
            "policy.route" => (setting.text(config), theirs("route")),
            "policy.strategy" => {
                let program = config.policy.strategy.program();
                (Some(program.name().to_string()), theirs("strategy"))
            }
            _ => (None, None),
        };
        let is_same = match (&wanted, theirs) {
            (Some(wanted), Some(theirs)) if setting.key.starts_with("upstream.") => {
                upstreams::is_same(wanted, theirs)
            }
            (wanted, theirs) => theirs.is_some() && theirs == wanted.as_deref(),
        };
        if !is_same {
            return Err(Failure::RunsOtherwise {
                address: address.to_owned(),
                setting: match effective.origin(setting) {
                    Origin::Flag(name) => name.to_owned(),
                    _ => setting.key.to_owned(),
                },
                there: theirs.map(str::to_owned),
            });
        }
    }
    Ok(())
}

/// The time that a client has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// Runs the client to its end, with the base URLs of Anthropic and OpenAI. Ctrl-C is the client's; SIGTERM and SIGHUP
/// are passed on and end it. Returns the last one too.
async fn run_client(
    command: &[OsString],
    (anthropic, openai): (&str, &str),
) -> Result<(ExitStatus, Option<&'static str>), Failure> {
    let (name, arguments) = command.split_first().ok_or(Failure::NotStarted {
        command: String::new(),
        source: std::io::ErrorKind::NotFound.into(),
    })?;
    let not_started = |source| Failure::NotStarted {
        command: name.to_string_lossy().into_owned(),
        source,
    };
    // Before the client runs, so that no signal is missed.
    let mut asked = pin!(asked_to_end());
    let mut child: Child = Command::new(name)
        .args(own_arguments(name, openai))
        .args(arguments)
        .env("ANTHROPIC_BASE_URL", anthropic)
        .env("OPENAI_BASE_URL", openai)
        .stdin(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(not_started)?;
    let mut received = None;
    loop {
        tokio::select! {
            status = child.wait() => return Ok((status.map_err(not_started)?, received)),
            () = key() => {}
            signal = &mut asked => {
                received = Some(signal);
                asked.set(asked_to_end());
                end(&mut child, signal).await;
            }
        }
    }
}

/// Asks the client to end, and ends it a while later. It is waited for elsewhere.
async fn end(child: &mut Child, signal: &str) {
    #[cfg(unix)]
    if let Some(id) = child.id() {
        let asked = Command::new("kill")
            .args(["-s", signal, &id.to_string()])
            .status();
        if asked.await.is_ok_and(|status| status.success())
            && timeout(GRACE, child.wait()).await.is_ok()
        {
            return;
        }
    }
    let _ = child.start_kill();
}

/// The arguments that a client needs because it reads no variable.
fn own_arguments(name: &OsString, openai: &str) -> Vec<String> {
    let stem = Path::new(name).file_stem();
    if stem.is_some_and(|stem| stem == "codex") {
        return vec!["-c".to_owned(), format!("openai_base_url=\"{openai}\"")];
    }
    Vec::new()
}

/// The counts of a gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    observes: bool,
    requests: u64,
    /// Requests for an answer that got an error, the provider's or the gateway's.
    refused: u64,
    swaps: u64,
    cost: f64,
    cost_without: f64,
}

impl Tally {
    /// The counts now, or why the gateway does not tell them.
    async fn at(url: &str, token: Option<&str>) -> Result<Self, String> {
        let metrics = ask(&format!("{url}/ebbtide/metrics"), token).await;
        let metrics = metrics.unwrap_or_default();
        let overview = overview(url, token).await?;
        Ok(Self {
            refused: refused(&String::from_utf8_lossy(&metrics)),
            ..Self::of(&overview)
        })
    }

    fn of(overview: &Value) -> Self {
        let total = |name: &str| overview.pointer(&format!("/totals/{name}"));
        let money = |name| total(name).and_then(Value::as_f64).unwrap_or_default();
        let lines = overview.get("conversations").and_then(Value::as_array);
        let swaps = lines.into_iter().flatten();
        let observes = overview.get("mode").is_some_and(|mode| mode == "observe");
        let count = match observes {
            true => "would_have_swapped",
            false => "compactions",
        };
        let swaps = swaps.filter_map(|line| line.get(count)?.as_u64());
        Self {
            observes,
            refused: 0,
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
            observes: self.observes,
            refused: self.refused.saturating_sub(before.refused),
            requests: self.requests.saturating_sub(before.requests),
            swaps: self.swaps.saturating_sub(before.swaps),
            cost: (self.cost - before.cost).max(0.0),
            cost_without: (self.cost_without - before.cost_without).max(0.0),
        }
    }
}

/// The list of conversations that a gateway tells, or why it does not.
async fn overview(url: &str, token: Option<&str>) -> Result<Value, String> {
    let answer = ask(&format!("{url}/ebbtide/api/overview"), token).await;
    let answer = answer.ok_or("the gateway does not answer")?;
    let told: Value = serde_json::from_slice(&answer).unwrap_or_default();
    if told.get("conversations").is_some() {
        return Ok(told);
    }
    Err(reason(&told))
}

/// The reason that a gateway gives for telling nothing.
fn reason(told: &Value) -> String {
    let of = |name: &str| told.pointer(&format!("/error/{name}"))?.as_str();
    match (of("code"), of("message")) {
        (Some(code), _) if code == gateway::UNAUTHENTICATED.as_str() => {
            "the gateway asks for its token (EBBTIDE_ADMIN_TOKEN)".to_owned()
        }
        (Some(code), Some(message)) => format!("{code}: {message}"),
        _ => "the gateway's answer is in no known form".to_owned(),
    }
}

/// The requests for an answer that got an error, from a gateway's metrics.
fn refused(metrics: &str) -> u64 {
    const ENDPOINTS: [&str; 3] = ["messages", "chat_completions", "responses"];
    let counts = metrics.lines().filter_map(|line| {
        let labels = line.strip_prefix("ebbtide_requests_total{endpoint=\"")?;
        let (endpoint, rest) = labels.split_once("\",status=\"")?;
        let (status, count) = rest.split_once("\"} ")?;
        let is_refusal = ENDPOINTS.contains(&endpoint) && status.parse::<u16>().ok()? >= 400;
        is_refusal.then(|| count.trim().parse::<u64>().ok())?
    });
    counts.sum()
}

/// An account of the client's run, in a line or two.
fn told(tally: &Tally, own: Option<&Running>, effective: &Effective) -> String {
    let count = |count: u64, noun| figures::plural(usize::try_from(count).unwrap_or(0), noun);
    let refused = match tally.refused {
        0 => String::new(),
        refused => format!(" {} got an error.", count(refused, "request")),
    };
    if tally.requests == 0 && tally.refused > 0 {
        return format!(
            "Ebbtide: no request was answered.{refused} `ebbtide doctor` finds out why."
        );
    }
    if tally.requests == 0 {
        return "Ebbtide: no request arrived. Does the client use ANTHROPIC_BASE_URL or \
                OPENAI_BASE_URL? `ebbtide connect` changes a client's own settings."
            .to_owned();
    }
    let mut line = format!("Ebbtide: {} answered, ", count(tally.requests, "request"));
    line.push_str(&match tally.observes {
        false => format!(
            "{}, {} (about {} without Ebbtide).",
            count(tally.swaps, "swap"),
            figures::dollars(tally.cost),
            figures::dollars(tally.cost_without),
        ),
        true => format!(
            "would have swapped {}, {}.",
            count(tally.swaps, "time"),
            figures::dollars(tally.cost)
        ),
    });
    line.push_str(&refused);
    if let (Some(_), Some(file)) = (own, &effective.config.store) {
        line.push_str(&format!(" The conversations are in {}.", file.display()));
    }
    line
}

/// The client's exit status; for a signal, 128 and its number, as shells tell it.
fn exit(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let signal = None;
    match status.code().or(signal).map(u8::try_from) {
        Some(Ok(0)) => Exit::Success,
        Some(Ok(code)) => Exit::Passed(code),
        Some(Err(_)) | None => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Tally, own_arguments, reason, refused};

    #[test]
    fn the_reason_is_the_gateways_own_error() {
        let error = |code: &str| json!({"error": {"code": code, "message": "the disk is full"}});
        assert!(reason(&error("E0823")).contains("EBBTIDE_ADMIN_TOKEN"));
        assert_eq!(reason(&error("E0822")), "E0822: the disk is full");
        assert_eq!(
            reason(&json!([])),
            "the gateway's answer is in no known form"
        );
    }

    #[test]
    fn codex_gets_its_setting_and_others_nothing() {
        let url = "http://127.0.0.1:4000/v1";
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
    fn errors_count_where_an_answer_was_asked_for() {
        let metrics = "# TYPE ebbtide_requests counter\n\
            ebbtide_requests_total{endpoint=\"messages\",status=\"200\"} 7\n\
            ebbtide_requests_total{endpoint=\"messages\",status=\"400\"} 2\n\
            ebbtide_requests_total{endpoint=\"responses\",status=\"529\"} 1\n\
            ebbtide_requests_total{endpoint=\"count_tokens\",status=\"404\"} 9\n";
        assert_eq!((refused(metrics), refused("")), (3, 0));
    }

    #[test]
    fn only_what_happened_meanwhile_counts() {
        let overview = |requests: u64, swaps: u64| {
            Tally::of(&json!({
                "totals": {"requests": requests, "cost": 0.5, "cost_without": 0.75},
                "conversations": [
                    {"compactions": swaps, "would_have_swapped": 0},
                    {"compactions": 1, "would_have_swapped": 5},
                ],
            }))
        };
        let since = overview(9, 3).since(overview(4, 1));
        assert_eq!((since.requests, since.swaps), (5, 2));
        assert!(since.cost.abs() < 1e-9);
        assert_eq!(overview(2, 0).since(Tally::default()).swaps, 1);
    }
}
