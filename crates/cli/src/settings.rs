//! Collects the gateway's configuration from the file, the environment and the flags.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use gateway::config::{Config, ConfigError, Effective, Flag, Sources};

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
    let built_in = Config {
        store: environment
            .data_folder
            .as_ref()
            .map(|data| data.join("history.db")),
        ..Config::default()
    };
    let sources = Sources {
        file: file(args.config.as_deref(), environment)?,
        environment: environment.settings.clone(),
        flags: args.flags(),
    };
    Effective::of(built_in, &sources).map_err(|error| failure(&error))
}

/// Returns the gateway's store file.
pub fn default_store(environment: &Environment) -> Result<PathBuf, Failure> {
    let effective = effective(&SettingArgs::default(), environment)?;
    effective.config.store.ok_or(Failure::NoStore)
}

/// Returns the configuration file's name and text; `None` if none was named and none exists.
fn file(
    flag: Option<&Path>,
    environment: &Environment,
) -> Result<Option<(String, String)>, Failure> {
    let variable = environment.setting("EBBTIDE_CONFIG");
    let named = flag.or(variable.map(Path::new));
    let read = |path: &Path| match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.display().to_string(), text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => Ok(None),
        Err(source) => Err(Failure::unreadable(path)(source)),
    };
    if let Some(named) = named {
        return read(named);
    }
    if let Some(found) = read(Path::new(FILE))? {
        return Ok(Some(found));
    }
    let shared = environment.config_folder.as_ref();
    shared.map_or(Ok(None), |folder| read(&folder.join(FILE)))
}

fn failure(error: &ConfigError) -> Failure {
    let failure = Failure::of(error);
    match error.origin() {
        Some(place) => failure.at(place),
        None => failure,
    }
}
