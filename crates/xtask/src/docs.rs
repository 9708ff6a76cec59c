//! The pages of `docs/` that the program writes about itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command::{self, say};

/// The generated files: their names in `ebbtide docs`, and their paths.
const PAGES: [(&str, &str); 6] = [
    ("cli", "docs/cli.md"),
    ("errors", "docs/errors.md"),
    ("settings", "docs/settings.md"),
    ("plumb-codes", "docs/plumb/codes.md"),
    ("plumb-commands", "docs/plumb/commands.md"),
    ("mem", "crates/plumb/src/modules/mem.plumb"),
];

/// Whether the pages are written or compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Write them.
    Write,
    /// Say which differ.
    Check,
}

/// Makes the pages and writes them, or compares them with what is there.
///
/// # Errors
/// The program does not build, a page cannot be read or written, or a page is not up to date.
pub fn run(root: &Path, mode: Mode) -> anyhow::Result<()> {
    let program = command::ebbtide(root)?;
    let mut stale = Vec::new();
    for (page, path) in PAGES {
        let mut command = Command::new(&program);
        command.args(["docs", page]).current_dir(root);
        let text = command::output(command)?;
        let file = root.join(path);
        match mode {
            Mode::Write => {
                fs::create_dir_all(root.join("docs/plumb")).context("cannot make docs/")?;
                fs::write(&file, text).with_context(|| format!("cannot write {path}"))?;
                say(&format!("wrote {path}"));
            }
            Mode::Check => {
                if fs::read_to_string(&file).ok().as_deref() != Some(&text) {
                    stale.push(path);
                }
            }
        }
    }
    if !stale.is_empty() {
        bail!(
            "not up to date: {}; run `cargo xtask docs`",
            stale.join(", ")
        );
    }
    Ok(())
}
