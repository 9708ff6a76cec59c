//! The licences of everything that is built from, against a list of the ones we take.
//!
//! Known vulnerabilities are another matter: looking them up needs the advisory database from the
//! network, which continuous integration does not have. `cargo xtask advisories` does it where a tool
//! and its database are there.

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::command::{self, cargo, say};

/// The licences we take. None of them asks more of a user than to keep the notice.
const TAKEN: [&str; 13] = [
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

/// Checks every package of the lock file.
///
/// # Errors
/// A package has no licence, or none that we take; or cargo cannot list the packages.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let metadata = command::output(cargo(
        &["metadata", "--format-version", "1", "--locked"],
        root,
    ))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata).context("cargo metadata printed no JSON")?;
    let packages = metadata
        .get("packages")
        .and_then(serde_json::Value::as_array)
        .context("cargo metadata lists no packages")?;
    let mut refused = Vec::new();
    for package in packages {
        let field = |key: &str| package.get(key).and_then(serde_json::Value::as_str);
        let name = field("name").unwrap_or("a package without a name");
        let licence = field("license").unwrap_or("none");
        if !taken(licence) {
            refused.push(format!("{name}: {licence}"));
        }
    }
    if !refused.is_empty() {
        bail!("licences that we do not take: {}", refused.join("; "));
    }
    say(&format!("licences of {} packages are fine", packages.len()));
    Ok(())
}

/// `cargo xtask advisories`: asks for known vulnerabilities of the dependencies.
///
/// # Errors
/// Neither cargo-deny nor cargo-audit is installed, the database cannot be had, or an advisory applies.
pub fn advisories(root: &Path) -> anyhow::Result<()> {
    let installed = |tool: &str| {
        cargo(&[tool, "--version"], root)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if installed("deny") {
        command::run(cargo(&["deny", "check", "advisories"], root))
    } else if installed("audit") {
        command::run(cargo(&["audit"], root))
    } else {
        bail!("needs cargo-deny or cargo-audit: `cargo install --locked cargo-deny`")
    }
}

/// Whether an SPDX expression leaves us a choice of licences that we take. A slash is the old way to
/// write `OR`.
fn taken(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words };
    let answer = reader.any_of();
    reader.words.is_empty() && answer == Some(true)
}

/// Reads an expression from left to right: `OR` binds weaker than `AND`.
struct Reader<'a> {
    words: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn any_of(&mut self) -> Option<bool> {
        let mut answer = self.all_of()?;
        while self.skip("OR") {
            answer |= self.all_of()?;
        }
        Some(answer)
    }

    fn all_of(&mut self) -> Option<bool> {
        let mut answer = self.one()?;
        while self.skip("AND") {
            answer &= self.one()?;
        }
        Some(answer)
    }

    fn one(&mut self) -> Option<bool> {
        if self.skip("(") {
            let answer = self.any_of()?;
            return self.skip(")").then_some(answer);
        }
        let licence = self.word()?;
        if self.skip("WITH") {
            let exception = self.word()?;
            return Some(TAKEN.contains(&format!("{licence} WITH {exception}").as_str()));
        }
        Some(TAKEN.contains(&licence))
    }

    fn skip(&mut self, wanted: &str) -> bool {
        match self.words.split_first() {
            Some((&word, rest)) if word == wanted => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }

    fn word(&mut self) -> Option<&'a str> {
        let (&word, rest) = self.words.split_first()?;
        self.words = rest;
        (!matches!(word, "(" | ")" | "AND" | "OR" | "WITH")).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::taken;

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
            assert!(taken(fine), "{fine}");
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
            assert!(!taken(refused), "{refused}");
        }
    }
}
