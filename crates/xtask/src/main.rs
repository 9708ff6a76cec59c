//! `cargo xtask`: CI, tidiness checks, generated pages, licences, client tests, packages,
//! fuzzing, storms and the first hour.

mod ci;
mod clients;
mod command;
mod debian;
mod dist;
mod docs;
mod fuzz;
mod licences;
mod needs;
mod python;
mod storm;
mod stranger;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};

const HELP: &str = "\
cargo xtask COMMAND

  ci                            run all checks of continuous integration, in order
  tidy                          check the house style: crate edges, lengths, names
  docs [--check]                write the generated pages in docs/, or report stale ones
  clients                       run the official SDKs through the gateway against the
                                simulated provider; needs python3, node, npm and access
                                to their package registries
  clients --real                run the newest Claude Code and Codex the same way, with a
                                rule that every request must hold
  clients --conformance         run the MCP conformance suite against a gateway
  python                        build the wheel and run its tests, with the newest and the
                                oldest frameworks; needs python3 and access to its registry
  python --write                write the generated pages of docs/python
  dist [--quick]                build the packages of this platform into target/packages; with
                                --quick not optimized, and without the library's wheel
  licences                      check the licences of all dependencies
  advisories                    check for known vulnerabilities; needs cargo-deny and
                                network access
  fuzz [TARGET] [--seconds N]   build the fuzz targets and run one, or each, for N seconds
       [--runs N]               (60), or with the same N inputs every time
  storm [--seconds N]           let everything fail at random for N seconds (60): the
        [--seed S]              provider, the process, the store, what is said
  stranger                      follow README in a fresh clone with an empty home and cache;
                                prints times and disk
  help                          print this help
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
        Some((&"storm", rest)) => storm::run(&root()?, rest),
        Some((&"stranger", [])) => stranger::run(&root()?),
        Some((&"ci", [])) => ci::run(&root()?),
        // The same in the environment that the steps need.
        Some((&"ci", ["--steps"])) => ci::steps(&root()?),
        Some((&"ci", ["--aside"])) => ci::aside(&root()?),
        Some((&"tidy", [])) => tidy::run(&root()?),
        Some((&"docs", [])) => docs::run(&root()?, docs::Mode::Write),
        Some((&"docs", ["--check"])) => docs::run(&root()?, docs::Mode::Check),
        Some((&"clients", [])) => clients::run(&root()?),
        Some((&"clients", ["--real"])) => clients::run_real(&root()?),
        Some((&"clients", ["--conformance"])) => clients::run_conformance(&root()?),
        Some((&"python", [])) => python::run(&root()?),
        Some((&"python", ["--write"])) => python::write(&root()?),
        Some((&"dist", [])) => dist::run(&root()?, false),
        Some((&"dist", ["--quick"])) => dist::run(&root()?, true),
        Some((&"licences", [])) => licences::run(&root()?),
        Some((&"advisories", [])) => licences::advisories(&root()?),
        None | Some((&("help" | "--help" | "-h"), _)) => {
            command::say(HELP.trim_end());
            Ok(())
        }
        Some((unknown, _)) => bail!("unknown command `{unknown}`\n\n{HELP}"),
    }
}

/// The workspace's folder, two levels above this crate's.
fn root() -> anyhow::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .context("the crate is not in crates/xtask")
}
