//! `ebbtide serve`: the gateway.

use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use context::coded::Coded;
use gateway::config::{Config, Effective, Mode, SETTINGS};
use gateway::{Gateway, Running};
use history::{Engine, Limits, MemoryEngine};
use history_sqlite::Sqlite;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::console::Console;
use crate::environment::{Environment, clock, random};
use crate::failure::{Exit, Failure};
use crate::interrupt::interrupted;
use crate::logs;
use crate::settings::{SettingArgs, effective};
use crate::strategy;

/// What `ebbtide serve` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide serve
  ebbtide serve --mode observe --window 200k
  ANTHROPIC_BASE_URL=http://127.0.0.1:4000 claude
  OPENAI_BASE_URL=http://127.0.0.1:4000/v1 my-agent

Keys stay with the clients: the gateway passes them on and keeps none. What it
keeps is the conversations, in the store. `ebbtide config` shows what is in
effect; docs/settings.md lists every setting, docs/gateway.md every header,
address and metric.")]
pub struct ServeArgs {
    /// What is set on the command line.
    #[command(flatten)]
    pub settings: SettingArgs,
    /// How the log is written to standard error; EBBTIDE_LOG says what of it
    #[arg(long, value_enum, default_value_t = LogForm::Text)]
    pub log: LogForm,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// Serves until it is interrupted.
pub fn run(
    args: &ServeArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let mut effective = effective(&args.settings, environment)?;
    let chosen = &mut effective.config.policy.strategy;
    if let Some(file) = chosen.unread().map(Path::to_owned) {
        chosen.load(strategy::read(&file, console)?);
    }
    for remark in &effective.remarks {
        console.remark(format!("warning: {remark}"));
    }
    logs::start(args.log, environment);
    let engine = engine(effective.config.store.as_deref())?;
    let unusable = |source| Failure::Unlistenable {
        address: effective.config.listen,
        source,
    };
    let runtime = Runtime::new().map_err(unusable)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(effective.config.listen).await;
        let gateway = Gateway {
            config: effective.config.clone(),
            engine,
            clock: clock(),
        };
        let running = gateway::serve(listener.map_err(unusable)?, gateway);
        let running = running.map_err(|error| Failure::refused(&error))?;
        for line in introduction(&running, &effective) {
            console.line(line)?;
        }
        console.flush()?;
        interrupted().await;
        console.remark("stopping; open answers may end; once more ends at once");
        tokio::select! {
            () = running.shutdown() => Ok(Exit::Done),
            () = interrupted() => {
                console.remark("open answers are cut");
                Ok(Exit::Failed)
            }
        }
    })
}

/// The store.
fn engine(store: Option<&Path>) -> Result<Arc<dyn Engine>, Failure> {
    let Some(file) = store else {
        return Ok(Arc::new(MemoryEngine::new(random(), Limits::default())));
    };
    let store = Sqlite::open(file, Limits::NONE).map_err(|error| Failure::Reported {
        code: error.code(),
        message: error.to_string(),
        place: Some(file.display().to_string()),
        hint: error.hint(),
        exit: Exit::Failed,
    })?;
    Ok(Arc::new(store))
}

/// Where it is, how clients are pointed at it, and what it does.
fn introduction(running: &Running, effective: &Effective) -> Vec<String> {
    let Config {
        upstream,
        store,
        mode,
        ..
    } = &effective.config;
    let url = running.url();
    let strategy = SETTINGS
        .iter()
        .find(|setting| setting.key == "policy.strategy")
        .and_then(|setting| setting.text(&effective.config))
        .unwrap_or_default();
    let mode = match mode {
        Mode::On => "on",
        Mode::Observe => "observe: nothing is changed",
    };
    let store = store.as_ref().map_or_else(
        || "in memory only: gone when this ends".to_owned(),
        |file| file.display().to_string(),
    );
    vec![
        format!("listening on {url}"),
        String::new(),
        format!(
            "  ANTHROPIC_BASE_URL={url}     goes to {}",
            upstream.anthropic
        ),
        format!("  OPENAI_BASE_URL={url}/v1     goes to {}", upstream.openai),
        String::new(),
        format!("  dashboard  {url}/ebbtide/"),
        format!("  mode       {mode}"),
        format!("  strategy   {strategy}"),
        format!("  store      {store}"),
    ]
}
