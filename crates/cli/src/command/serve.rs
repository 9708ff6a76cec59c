//! `ebbtide serve`: runs the gateway.

use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use context::coded::Coded as _;
use gateway::config::{Config, Effective, Mode, SETTINGS};
use gateway::{Gateway, Running};
use history::{Engine, HistoryError, Limits, MemoryEngine};
use history_sqlite::{Claim, Sqlite};
use tokio::net::TcpListener;

use crate::command::runtime;
use crate::console::Console;
use crate::environment::{Environment, clock, random};
use crate::failure::{Exit, Failure};
use crate::interrupt::interrupted;
use crate::logs;
use crate::settings::{SettingArgs, effective};
use crate::strategy;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ebbtide serve
  ebbtide serve --mode observe --window 200k
  ANTHROPIC_BASE_URL=http://127.0.0.1:4000 claude
  OPENAI_BASE_URL=http://127.0.0.1:4000/v1 my-agent
  codex -c 'openai_base_url=\"http://127.0.0.1:4000/v1\"'

The gateway forwards the clients' API keys and stores none. It stores the \
conversations. `ebbtide config` prints the effective configuration. See \
docs/settings.md for all settings, and docs/gateway.md for all headers, paths \
and metrics.")]
pub struct ServeArgs {
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Format of the log on standard error; EBBTIDE_LOG filters it
    #[arg(long, value_enum, default_value_t = LogForm::Text)]
    pub log: LogForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// Readable lines
    Text,
    /// One JSON object per line
    Json,
}

pub fn run(
    args: &ServeArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let mut effective = effective(&args.settings, environment)?;
    prepare(&mut effective, console)?;
    logs::start(args.log, environment);
    runtime()?.block_on(async {
        let (running, _claim) = start(&effective, console).await?;
        // A reader of the address may stop this immediately.
        let interrupt = interrupted();
        console.lines(introduction(&running, &effective))?;
        console.flush()?;
        interrupt.await;
        console.note("Shutting down. Press Ctrl-C again to stop immediately.");
        tokio::select! {
            () = running.shutdown() => Ok(Exit::Success),
            () = interrupted() => {
                console.note("Stopped. Responses in progress were cut off.");
                Ok(Exit::Failed)
            }
        }
    })
}

/// Reads the strategy's file, if one is named, and prints the remarks about the settings.
pub fn prepare(effective: &mut Effective, console: &mut Console) -> Result<(), Failure> {
    let chosen = &mut effective.config.policy.strategy;
    if let Some(file) = chosen.unread().map(Path::to_owned) {
        chosen.load(strategy::read(&file, console)?);
    }
    for remark in &effective.remarks {
        console.note(format!("warning: {remark}"));
    }
    Ok(())
}

/// Starts a gateway with this configuration. The claim is on its store, for as long as the gateway runs.
pub async fn start(
    effective: &Effective,
    console: &mut Console,
) -> Result<(Running, Option<Claim>), Failure> {
    let store = effective.config.store.as_deref();
    let engine = engine(store)?;
    let claim = claim(store, console);
    if let Some(reason) = engine.state().instead_of_file {
        console.note(format!(
            "warning: {reason}: conversations are kept in memory and lost on exit"
        ));
    }
    let unusable = |source| Failure::Unlistenable {
        address: effective.config.listen,
        source,
    };
    let listener = TcpListener::bind(effective.config.listen).await;
    let gateway = Gateway {
        config: effective.config.clone(),
        engine,
        clock: clock(),
    };
    let running = gateway::serve(listener.map_err(unusable)?, gateway);
    let running = running.map_err(|error| Failure::of(&error))?;
    Ok((running, claim))
}

/// Claims the store, and warns where another gateway has.
fn claim(store: Option<&Path>, console: &mut Console) -> Option<Claim> {
    let store = store?;
    match Claim::of(store) {
        Ok(None) => {
            console.note(format!(
                "warning: another gateway is running on {}: each keeps conversations in its memory and does not see \
                 what the other one decides. Give one of them another file with --store",
                store.display()
            ));
            None
        }
        Ok(claim) => claim,
        // The folder may not exist yet, or the file system may have no locks; opening the store says more.
        Err(_) => None,
    }
}

fn engine(store: Option<&Path>) -> Result<Arc<dyn Engine>, Failure> {
    let Some(file) = store else {
        return Ok(Arc::new(MemoryEngine::new(random(), Limits::default())));
    };
    let failed = |error| {
        Failure::of(&error)
            .at(&file.display())
            .exiting(Exit::Failed)
    };
    match Sqlite::open(file, Limits::NONE) {
        Ok(store) => Ok(Arc::new(store)),
        // Named by mistake: nothing is lost if it is told before the start.
        Err(error @ (HistoryError::NotAStore { .. } | HistoryError::Newer { .. })) => {
            Err(failed(error))
        }
        // Requests must pass, whatever the disk says. Health says it too.
        Err(error) => {
            let mut reason = format!("{error} ({})", error.code());
            if matches!(error, HistoryError::Corrupt { .. }) {
                reason.push_str("; `ebbtide store repair` keeps what is intact");
            }
            Ok(Arc::new(MemoryEngine::instead_of_file(random(), reason)))
        }
    }
}

/// The lines printed at the start: the address, the client variables, the configuration.
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
        Mode::Observe => "observe (requests pass through unchanged)",
    };
    let state = running.core().parts().engine.state();
    let file = store.as_ref().filter(|_| state.instead_of_file.is_none());
    let store = file.map_or_else(
        || "in memory (lost on exit)".to_owned(),
        |file| file.display().to_string(),
    );
    vec![
        format!("listening on {url}"),
        String::new(),
        format!("  ANTHROPIC_BASE_URL={url}  →  {}", upstream.anthropic),
        format!("  OPENAI_BASE_URL={url}/v1  →  {}", upstream.openai),
        format!("  openai_base_url = \"{url}/v1\"  in Codex's config.toml"),
        String::new(),
        format!("  dashboard  {url}/ebbtide/"),
        format!("  mode       {mode}"),
        format!("  strategy   {strategy}"),
        format!("  store      {store}"),
    ]
}
