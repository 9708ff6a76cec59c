//! `ebbtide config`: prints the gateway's effective configuration.

use clap::Args;

use crate::console::Console;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::settings::{SettingArgs, effective};

#[derive(Debug, Args)]
#[command(after_help = "\
Prints a complete ebbtide.toml with the source of each value. Flags override the \
environment (EBBTIDE_POLICY_WINDOW sets policy.window, and so on), which \
overrides the file, which overrides the defaults. The file is the one that \
--config or EBBTIDE_CONFIG names, or ./ebbtide.toml, or ebbtide/ebbtide.toml in \
the user's configuration folder. Secrets are not shown.

Examples:
  ebbtide config
  ebbtide config > ebbtide.toml
  ebbtide config --mode observe --json")]
pub struct ConfigArgs {
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(
    args: &ConfigArgs,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let effective = effective(&args.settings, environment)?;
    for remark in &effective.remarks {
        console.note(format!("warning: {remark}"));
    }
    if args.json {
        console.json(&effective.as_json())?;
    } else {
        console.data(effective.as_toml().as_bytes())?;
    }
    Ok(Exit::Success)
}
