//! `cargo xtask clients --conformance`: the MCP conformance suite against a gateway, whole and by revision.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::process::Process;
use crate::command::{self, program, say};

/// The first version that knows the revision 2026-07-28.
const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
/// The runs of the suite: its arguments, and the file with the scenarios that do not apply. The first run has all
/// scenarios, the others those that a revision requires.
const RUNS: [(&[&str], &str); 3] = [
    (&["--suite", "all"], "clients/mcp-baseline.yml"),
    (
        &["--requirements", "2025-11-25"],
        "clients/mcp-baseline-2025-11-25.yml",
    ),
    (
        &["--requirements", "2026-07-28"],
        "clients/mcp-baseline-2026-07-28.yml",
    ),
];

/// The Node that runs the suite, which uses `fs.globSync`: an older one has none.
const NODE: &str = "node@22";

/// Installs the suite and runs it. Without access to npm, it prints a line instead.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("target/clients/conformance");
    fs::create_dir_all(&folder).context("cannot create target/clients/conformance")?;
    let mut install = program(
        "npm install --no-audit --no-fund --silent --prefix .",
        &folder,
    );
    install.args([SUITE, NODE]);
    if !command::answers(install) {
        say("skipped: npm cannot install the MCP conformance suite here");
        return Ok(());
    }
    let mut gateway = Command::new(command::ebbtide(root)?);
    gateway.args(["serve", "--listen", "127.0.0.1:0", "--store", "memory"]);
    gateway.current_dir(&folder);
    let gateway = Process::start(gateway, folder.join("gateway.txt"))?;
    let programs = folder.join("node_modules/.bin");
    let passed = RUNS.iter().try_for_each(|(which, baseline)| {
        say(&format!("conformance: {}", which.join(" ")));
        let mut suite = Command::new(programs.join("node"));
        suite.arg(programs.join("conformance")).arg("server");
        suite.args(*which).arg("--url");
        suite.arg(format!("{}/mcp", gateway.url()));
        suite.arg("--expected-failures").arg(root.join(baseline));
        suite.env("NO_PROXY", "127.0.0.1").current_dir(&folder);
        command::run(suite)
    });
    gateway.stop()?;
    passed
}
