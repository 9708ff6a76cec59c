//! `cargo xtask clients`: tests the official SDKs through the gateway against the simulated provider.
//!
//! The tests are in `clients/`. They run against two real processes, the gateway and the provider.
//! Afterwards the provider's log is compared with what the clients sent, and its count of rejected
//! requests with the number that the tests expect.

mod conformance;
pub mod install;
mod memory;
mod process;
mod real;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

pub use self::conformance::run as run_conformance;
pub use self::real::run as run_real;

use self::process::Process;
use crate::ci::timed;
use crate::command::{self, program, say};

/// The window of every model, in tokens; smaller ones hold little more than one step.
const WINDOW: &str = "24000";

pub fn run(root: &Path) -> anyhow::Result<()> {
    // Before another step beside this one makes cargo wait.
    let ebbtide = command::ebbtide(root)?;
    let (python, took) = timed(|| install::all(root));
    let python = python?;
    say(&format!("packages ready in {:.1} s", took.as_secs_f64()));
    let (result, took) = timed(|| Bench::new(root, ebbtide)?.run(&python));
    result?;
    say(&format!("clients tested in {:.1} s", took.as_secs_f64()));
    Ok(())
}

/// The paths of a test run.
struct Bench {
    root: PathBuf,
    ebbtide: PathBuf,
    /// Holds the files that the processes exchange.
    folder: PathBuf,
}

impl Bench {
    /// Creates an empty folder in `target/`.
    fn new(root: &Path, ebbtide: PathBuf) -> anyhow::Result<Self> {
        let folder = root.join("target/clients/run");
        if folder.exists() {
            fs::remove_dir_all(&folder).context("cannot empty target/clients/run")?;
        }
        fs::create_dir_all(&folder).context("cannot create target/clients/run")?;
        Ok(Self {
            root: root.to_owned(),
            ebbtide,
            folder,
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn run(&self, python: &Path) -> anyhow::Result<()> {
        let provider = self.provider()?;
        let gateway = self.gateway(provider.url())?;
        let tested = self.tests(python, &provider, &gateway);
        let log = gateway.stop();
        let totals = provider.stop()?;
        tested?;
        log?;
        // First: a request that was refused and mended is in the log twice.
        self.check_rejected(&totals)?;
        let environment = [("CLIENTS_PROVIDER_LOG", self.file("provider.jsonl"))];
        self.pytest(python, "received", &environment)
    }

    fn provider(&self) -> anyhow::Result<Process> {
        let mut command = self.ebbtide("sim");
        command.arg("--log").arg(self.file("provider.jsonl"));
        Process::start(command, self.file("provider.txt"))
    }

    fn gateway(&self, upstream: &str) -> anyhow::Result<Process> {
        let mut command = self.ebbtide("serve");
        command.args(["--anthropic-url", upstream, "--openai-url", upstream]);
        command.arg("--store").arg(self.file("history.db"));
        Process::start(command, self.file("gateway.txt"))
    }

    fn ebbtide(&self, server: &str) -> Command {
        let mut command = Command::new(&self.ebbtide);
        command.args([server, "--listen", "127.0.0.1:0", "--window", WINDOW]);
        command.current_dir(&self.folder);
        command
    }

    fn tests(&self, python: &Path, provider: &Process, gateway: &Process) -> anyhow::Result<()> {
        let environment = [
            ("CLIENTS_GATEWAY", PathBuf::from(gateway.url())),
            ("CLIENTS_PROVIDER", PathBuf::from(provider.url())),
        ];
        let typescript = self.root.join("clients/typescript");
        let mut node = program("node --test --test-reporter=dot", &typescript);
        self.surround(&mut node, &environment);
        command::run(node)?;
        self.pytest(python, "tests", &environment)
    }

    fn pytest(
        &self,
        python: &Path,
        folder: &str,
        environment: &[(&str, PathBuf)],
    ) -> anyhow::Result<()> {
        let mut pytest = Command::new(python);
        pytest.args(["-m", "pytest", folder]);
        pytest.current_dir(self.root.join("clients/python"));
        pytest.env("PYTHONDONTWRITEBYTECODE", "1");
        self.surround(&mut pytest, environment);
        command::run(pytest)
    }

    fn surround(&self, command: &mut Command, environment: &[(&str, PathBuf)]) {
        command.env("NO_PROXY", "127.0.0.1");
        command.env("CLIENTS_WINDOW", WINDOW);
        command.env("CLIENTS_CONVERSATIONS", self.file("conversations.jsonl"));
        command.env("CLIENTS_REFUSALS", self.file("refusals.txt"));
        command.env("CLIENTS_EBBTIDE", self.root.join("target/debug/ebbtide"));
        for (name, value) in environment {
            command.env(name, value);
        }
    }

    /// Compares the provider's count of rejected requests with the expected ones, one per line.
    fn check_rejected(&self, totals: &str) -> anyhow::Result<()> {
        let expected = fs::read_to_string(self.file("refusals.txt")).unwrap_or_default();
        let expected = expected.lines().count();
        let rejected = rejected(totals).with_context(|| format!("no totals in `{totals}`"))?;
        say(&format!("provider: {}", totals.trim()));
        ensure!(
            rejected == expected,
            "the provider rejected {rejected} requests instead of {expected}; \
             see target/clients/run/provider.jsonl"
        );
        Ok(())
    }
}

/// The number before `rejected` in the totals that the provider prints.
fn rejected(totals: &str) -> Option<usize> {
    totals
        .split(&[',', ';', '\n'])
        .find_map(|part| part.trim().strip_suffix(" rejected"))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::rejected;

    #[test]
    fn totals_are_read() {
        let totals = "444 requests answered, 10 rejected, 0 summaries; 19 tokens in\n";
        assert_eq!(rejected(totals), Some(10));
        assert_eq!(rejected("nothing was rejected"), None);
    }
}
