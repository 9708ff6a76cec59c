//! Says what the checks need, and what they will install, before anything is built or installed.

use std::path::Path;

use anyhow::ensure;

use crate::command::{answers, cargo, program, say};
use crate::debian::{BROWSER, POSTGRES, Plan};

/// The programs without which a step fails, each with the step and what to install.
const REQUIRED: [(&str, &str); 4] = [
    ("python3", "Python 3.11 or newer with the module venv"),
    ("node", "Node 20 or newer"),
    ("npm", "npm"),
    ("c++", "a C++ compiler, for the fuzz targets"),
];

/// Prints the list, and fails where something is missing that is not installed here.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let has = |name: &str| answers(program(&format!("{name} --version"), root));
    let mut lines = Vec::new();
    let mut missing = Vec::new();
    for (name, what) in REQUIRED {
        let is_found = has(name);
        lines.push(line(name, if is_found { "found" } else { "missing" }));
        missing.extend((!is_found).then(|| what.to_owned()));
    }
    let nextest = match answers(cargo("nextest --version", root)) {
        true => "found",
        false => "will be installed with cargo",
    };
    lines.push(line("cargo-nextest", nextest));
    for (program, without) in [
        (BROWSER, Some("the tests in a browser are skipped")),
        (POSTGRES, None),
    ] {
        let state = match (program.plan(root), without) {
            (Plan::Found, _) => "found".to_owned(),
            (Plan::Install, _) => "will be installed with apt-get".to_owned(),
            (Plan::Skip, Some(without)) => format!("missing: {without}"),
            (Plan::Skip, None) => {
                missing.push(program.name.to_owned());
                "missing".to_owned()
            }
        };
        lines.push(line(program.name, &state));
    }
    say(&lines.join("\n"));
    say("The SDKs of the client tests go to target/ and node_modules.");
    ensure!(missing.is_empty(), "install {}", missing.join("; "));
    Ok(())
}

fn line(name: &str, state: &str) -> String {
    format!("{name:<15}{state}")
}
