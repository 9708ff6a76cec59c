//! The configuration of the gateway, from the places of this machine.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use context::coded::Coded;
use gateway::config::{Config, ConfigError, Effective, Flag, Sources};

use crate::environment::Environment;
use crate::failure::{Exit, Failure};

/// The file's name.
const FILE: &str = "ebbtide.toml";

/// The settings that have a flag.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingArgs {
    /// The configuration file, instead of ./ebbtide.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The address to listen on; port 0 takes a free one [127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Where requests to Anthropic's interface go
    #[arg(long, value_name = "URL")]
    pub anthropic_url: Option<String>,
    /// Where requests to OpenAI's interfaces go
    #[arg(long, value_name = "URL")]
    pub openai_url: Option<String>,
    /// The file the history is kept in, or `memory`
    #[arg(long, value_name = "PATH")]
    pub store: Option<String>,
    /// The window of every model, in tokens, instead of its own
    #[arg(long, value_name = "N")]
    pub window: Option<String>,
    /// How summaries are made
    #[arg(long, help = "How summaries are made [auto]", value_parser = PossibleValuesParser::new(["auto", "native", "readable", "extractive"]))]
    pub route: Option<String>,
    /// Which strategy decides when
    #[arg(
        long,
        help = "Which strategy decides when: one that is shipped, or your own [prepared]",
        value_name = "NAME|FILE.plumb"
    )]
    pub strategy: Option<String>,
    /// Whether anything is changed, or only reported what would be
    #[arg(long, help = "Whether anything is changed, or only reported what would be [on]", value_parser = PossibleValuesParser::new(["on", "observe"]))]
    pub mode: Option<String>,
    /// The model that writes summaries, instead of the agent's own
    #[arg(long, value_name = "MODEL")]
    pub summariser: Option<String>,
    /// Where OpenTelemetry spans go, over HTTP
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
}

impl SettingArgs {
    fn flags(&self) -> Vec<Flag> {
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

/// What is in effect: what is built in, the file, the environment, flags.
///
/// # Errors
/// Where the file cannot be read, or something in one of them cannot be used.
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

/// The file's name and text; `None` where none was named and none is there.
fn file(
    flag: Option<&Path>,
    environment: &Environment,
) -> Result<Option<(String, String)>, Failure> {
    let variable = environment
        .settings
        .iter()
        .find(|(name, value)| name == "EBBTIDE_CONFIG" && !value.is_empty())
        .map(|(_, value)| Path::new(value));
    let named = flag.or(variable);
    let read = |path: &Path| match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.display().to_string(), text))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => Ok(None),
        Err(source) => Err(Failure::Unreadable {
            path: path.to_owned(),
            source,
        }),
    };
    if let Some(named) = named {
        return read(named);
    }
    let usual = environment.config_folder.as_ref();
    let places = [
        Some(PathBuf::from(FILE)),
        usual.map(|folder| folder.join(FILE)),
    ];
    for place in places.into_iter().flatten() {
        if let Some(found) = read(&place)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn failure(error: &ConfigError) -> Failure {
    Failure::Reported {
        code: error.code(),
        message: error.to_string(),
        place: error.origin().map(ToString::to_string),
        hint: error.hint(),
        exit: Exit::NotUnderstood,
    }
}
