//! `ebbtide config`: the configuration that is in effect.

use clap::Args;

use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::settings::{SettingArgs, effective};

/// What `ebbtide config` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints an ebbtide.toml that says the same, each value with where it comes from.
Stronger sources win: what is built in, then the file, then the environment
(EBBTIDE_POLICY_WINDOW for policy.window, and so on), then flags. The file is
the one that --config or EBBTIDE_CONFIG names, else ./ebbtide.toml, else
ebbtide/ebbtide.toml in the folder of configurations. Secrets are not shown.

Examples:
  ebbtide config
  ebbtide config > ebbtide.toml
  ebbtide config --mode observe --json")]
pub struct ConfigArgs {
    /// What is set on the command line.
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints it.
pub fn run(
    args: &ConfigArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let effective = effective(&args.settings, environment)?;
    for remark in &effective.remarks {
        console.remark(format!("warning: {remark}"));
    }
    if args.json {
        console.json(&effective.as_json())?;
    } else {
        console.data(effective.as_toml().as_bytes())?;
    }
    Ok(Exit::Done)
}
