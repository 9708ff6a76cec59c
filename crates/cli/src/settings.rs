//! Collects the gateway's configuration from the file, the environment and the flags.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use gateway::config::{Config, ConfigError, Effective, Flag, Sources};

use crate::console::Console;
use crate::environment::Environment;
use crate::failure::Failure;

const FILE: &str = "ebbtide.toml";

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingArgs {
    /// Configuration file, instead of ./ebbtide.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address to listen on; port 0 picks a free one [127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Upstream for requests to the Anthropic API
    #[arg(long, value_name = "URL")]
    pub anthropic_url: Option<String>,
    /// Upstream for requests to the OpenAI APIs
    #[arg(long, value_name = "URL")]
    pub openai_url: Option<String>,
    /// History file, or `memory`
    #[arg(long, value_name = "PATH")]
    pub store: Option<String>,
    /// Context window in tokens for every model, instead of its own
    #[arg(long, value_name = "N")]
    pub window: Option<String>,
    #[arg(long, help = "How to make summaries [auto]", value_parser = PossibleValuesParser::new(["auto", "native", "readable", "extractive"]))]
    pub route: Option<String>,
    #[arg(
        long,
        help = "Memory strategy: a shipped one, or your own file [prepared]",
        value_name = "NAME|FILE.plumb"
    )]
    pub strategy: Option<String>,
    #[arg(long, help = "Change requests, or only report what would change [on]", value_parser = PossibleValuesParser::new(["on", "observe"]))]
    pub mode: Option<String>,
    /// Model that writes summaries, instead of the agent's own
    #[arg(long, value_name = "MODEL")]
    pub summariser: Option<String>,
    /// OTLP/HTTP endpoint for OpenTelemetry spans
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
}

impl SettingArgs {
    /// The settings that were given on the command line.
    pub fn flags(&self) -> Vec<Flag> {
        let given = [
            ("listen", "--listen", &self.listen),
            ("upstream.anthropic", "--anthropic-url", &self.anthropic_url),
            ("upstream.openai", "--openai-url", &self.openai_url),
            ("store", "--store", &self.store),
            ("policy.window", "--window", &self.window),
            ("policy.route", "--route", &self.route),
            ("policy.strategy", "--strategy", &self.strategy),
            ("mode", "--mode", &self.mode),
            ("summariser.model", "--summariser", &self.summariser),
            ("otlp", "--otlp", &self.otlp),
        ];
        given
            .into_iter()
            .filter_map(|(key, name, value)| {
                let value = value.clone()?;
                Some(Flag { key, name, value })
            })
            .collect()
    }
}

/// Merges the defaults, the file, the environment and the flags; the later ones win.
pub fn effective(args: &SettingArgs, environment: &Environment) -> Result<Effective, Failure> {
    let file = match named(args.config.as_deref(), environment) {
        Some(path) => Some(read(path)?),
        None => match read_if_there(Path::new(FILE))? {
            Some(found) => Some(found),
            None => users(environment)?,
        },
    };
    merge(file, args.flags(), environment)
}

/// Merges the settings like [`effective`], but ignores `./ebbtide.toml`: the working folder may be a clone of a
/// foreign project, whose file must not decide where keys and prompts go or what is deleted. `more` counts as flags.
pub fn effective_anywhere(
    args: &SettingArgs,
    more: Vec<Flag>,
    environment: &Environment,
) -> Result<Effective, Failure> {
    let file = match named(args.config.as_deref(), environment) {
        Some(path) => Some(read(path)?),
        None => users(environment)?,
    };
    let mut flags = args.flags();
    flags.extend(more);
    merge(file, flags, environment)
}

/// Prints a warning if [`effective_anywhere`] ignores a file; `instead` says how to use it.
pub fn warn_of_ignored(
    args: &SettingArgs,
    environment: &Environment,
    instead: &str,
    console: &mut Console,
) {
    let here = Path::new(FILE);
    if named(args.config.as_deref(), environment).is_some() || !here.exists() {
        return;
    }
    // In the configuration folder itself, the file is read.
    let folder = environment.config_folder.as_ref();
    let users = folder.and_then(|folder| folder.join(FILE).canonicalize().ok());
    if users.is_some() && users == here.canonicalize().ok() {
        return;
    }
    console.note(format!(
        "warning: ./{FILE} is ignored, because this command may run in any folder. {instead}"
    ));
}

fn merge(
    file: Option<(String, String)>,
    flags: Vec<Flag>,
    environment: &Environment,
) -> Result<Effective, Failure> {
    let built_in = Config {
        store: environment
            .data_folder
            .as_ref()
            .map(|data| data.join("history.db")),
        ..Config::default()
    };
    let sources = Sources {
        file,
        environment: environment.settings.clone(),
        flags,
    };
    Effective::of(built_in, &sources).map_err(|error| failure(&error))
}

/// Returns the gateway's store file, whatever the working folder contains.
pub fn default_store(environment: &Environment, console: &mut Console) -> Result<PathBuf, Failure> {
    let args = SettingArgs::default();
    let instead =
        format!("To use it, set EBBTIDE_CONFIG=./{FILE}, or name the store with --store.");
    warn_of_ignored(&args, environment, &instead, console);
    let effective = effective_anywhere(&args, Vec::new(), environment)?;
    effective.config.store.ok_or(Failure::NoStore)
}

/// The configuration file that a flag or a variable names.
fn named<'a>(flag: Option<&'a Path>, environment: &'a Environment) -> Option<&'a Path> {
    flag.or(environment.setting("EBBTIDE_CONFIG").map(Path::new))
}

/// The file in the user's configuration folder, if there is one.
fn users(environment: &Environment) -> Result<Option<(String, String)>, Failure> {
    let folder = environment.config_folder.as_ref();
    folder.map_or(Ok(None), |folder| read_if_there(&folder.join(FILE)))
}

/// Returns a file's name and text.
fn read(path: &Path) -> Result<(String, String), Failure> {
    let text = std::fs::read_to_string(path).map_err(Failure::unreadable(path))?;
    Ok((path.display().to_string(), text))
}

fn read_if_there(path: &Path) -> Result<Option<(String, String)>, Failure> {
    match read(path) {
        Err(Failure::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(None)
        }
        other => other.map(Some),
    }
}

fn failure(error: &ConfigError) -> Failure {
    let failure = Failure::of(error);
    match error.origin() {
        Some(place) => failure.at(place),
        None => failure,
    }
}
