//! Continuous integration, tidiness checks, generated pages and fuzzing: `cargo xtask help` says what there is.

mod browser;
mod ci;
mod clients;
mod command;
mod docs;
mod fuzz;
mod licences;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};

const HELP: &str = "\
cargo xtask COMMAND

  ci                            everything that continuous integration runs, in order
  tidy                          checks the house style: crate edges, lengths, names
  docs [--check]                writes the generated pages of docs/, or says which differ
  clients                       runs the official SDKs through the gateway to the strict provider;
                                needs python3, node, npm and their package registries
  licences                      checks the licences of all dependencies
  advisories                    asks for known vulnerabilities; needs cargo-deny and the network
  fuzz [TARGET] [--seconds N]   builds the fuzz targets and runs one, or each, for N seconds (60);
       [--runs N]               or for N inputs, the same each time
  help                          prints this
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            command::say(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> anyhow::Result<()> {
    match arguments.split_first() {
        Some((&"fuzz", rest)) => fuzz::run(&root()?, rest),
        Some((&"ci", [])) => ci::run(&root()?),
        Some((&"tidy", [])) => tidy::run(&root()?),
        Some((&"docs", [])) => docs::run(&root()?, docs::Mode::Write),
        Some((&"docs", ["--check"])) => docs::run(&root()?, docs::Mode::Check),
        Some((&"clients", [])) => clients::run(&root()?),
        Some((&"licences", [])) => licences::run(&root()?),
        Some((&"advisories", [])) => licences::advisories(&root()?),
        None | Some((&("help" | "--help" | "-h"), _)) => {
            command::say(HELP.trim_end());
            Ok(())
        }
        Some((unknown, _)) => bail!("unknown command `{unknown}`\n\n{HELP}"),
    }
}

/// The workspace's folder: two above this crate's.
fn root() -> anyhow::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .context("the crate lies in crates/xtask")
}
