//! `cargo xtask clients --conformance`: the server scenarios of the MCP conformance suite against a gateway.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::process::Process;
use crate::command::{self, program, say};

/// The first version that knows the revision 2026-07-28.
const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
/// The scenarios that do not apply.
const BASELINE: &str = "clients/mcp-baseline.yml";

/// Installs the suite and runs it. Without access to npm or with an old Node, it prints a line instead.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("target/clients/conformance");
    fs::create_dir_all(&folder).context("cannot create target/clients/conformance")?;
    // The suite uses `fs.globSync`, which Node has since version 22.
    let node = program(
        "node --eval process.exit(require('fs').globSync?0:1)",
        &folder,
    );
    if !command::answers(node) {
        say("skipped: the MCP conformance suite needs Node 22 or newer");
        return Ok(());
    }
    let mut install = program(
        "npm install --no-audit --no-fund --silent --prefix .",
        &folder,
    );
    install.arg(SUITE);
    if !command::answers(install) {
        say("skipped: npm cannot install the MCP conformance suite here");
        return Ok(());
    }
    let mut gateway = Command::new(command::ebbtide(root)?);
    gateway.args(["serve", "--listen", "127.0.0.1:0", "--store", "memory"]);
    gateway.current_dir(&folder);
    let gateway = Process::start(gateway, folder.join("gateway.txt"))?;
    let mut suite = Command::new(folder.join("node_modules/.bin/conformance"));
    suite.args(["server", "--suite", "all", "--url"]);
    suite.arg(format!("{}/mcp", gateway.url()));
    suite.arg("--expected-failures").arg(root.join(BASELINE));
    suite.env("NO_PROXY", "127.0.0.1").current_dir(&folder);
    let passed = command::run(suite);
    gateway.stop()?;
    passed
}
