//! Checks the licences of all dependencies against a list.
//!
//! `cargo xtask advisories` checks for known vulnerabilities. It is no part of continuous integration,
//! which cannot download the advisory database.

use std::path::Path;

use anyhow::{Context as _, bail};
use spdx::{Expression, LicenseReq, ParseMode};

use crate::command::{self, cargo, say};

/// The accepted licences. They require no more than keeping the notice.
const ACCEPTED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Checks every package in the lock file.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let metadata = command::output(cargo("metadata --format-version 1 --locked", root))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata).context("cargo metadata printed no JSON")?;
    let packages = metadata
        .get("packages")
        .and_then(serde_json::Value::as_array)
        .context("cargo metadata lists no packages")?;
    let mut rejected = Vec::new();
    for package in packages {
        let field = |key: &str| package.get(key).and_then(serde_json::Value::as_str);
        let name = field("name").unwrap_or("unnamed package");
        let licence = field("license").unwrap_or("none");
        if !accepted(licence) {
            rejected.push(format!("{name}: {licence}"));
        }
    }
    if !rejected.is_empty() {
        bail!("unaccepted licences: {}", rejected.join("; "));
    }
    say(&format!(
        "the licences of {} packages are accepted",
        packages.len()
    ));
    Ok(())
}

/// `cargo xtask advisories`: checks the dependencies for known vulnerabilities.
pub fn advisories(root: &Path) -> anyhow::Result<()> {
    let installed = |tool: &str| command::answers(cargo(&format!("{tool} --version"), root));
    if installed("deny") {
        command::run(cargo("deny check advisories", root))
    } else if installed("audit") {
        command::run(cargo("audit", root))
    } else {
        bail!("install cargo-deny or cargo-audit first: `cargo install --locked cargo-deny`")
    }
}

/// Returns true if an SPDX expression offers an accepted choice. A slash is the old form of `OR`.
fn accepted(expression: &str) -> bool {
    let accepts = |licence: &LicenseReq| ACCEPTED.contains(&licence.to_string().as_str());
    let expression = Expression::parse_mode(expression, ParseMode::LAX);
    expression.is_ok_and(|expression| expression.evaluate(accepts))
}

#[cfg(test)]
mod tests {
    use super::accepted;

    #[test]
    fn expressions() {
        for fine in [
            "MIT",
            "MIT OR Apache-2.0",
            "Unlicense/MIT",
            "Apache-2.0 / MIT",
            "MIT OR LGPL-2.1-or-later",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
            "GPL-3.0 AND MIT OR Zlib",
        ] {
            assert!(accepted(fine), "{fine}");
        }
        for refused in [
            "none",
            "",
            "GPL-3.0",
            "MPL-2.0",
            "MIT AND GPL-3.0",
            "GPL-2.0 WITH Classpath-exception-2.0",
            "(MIT",
            "MIT)",
            "MIT MIT",
            "MIT OR",
        ] {
            assert!(!accepted(refused), "{refused}");
        }
    }
}
