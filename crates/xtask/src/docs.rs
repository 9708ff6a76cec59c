//! `cargo xtask docs`: writes or checks the generated pages in `docs/`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command::{self, say};

/// The pages: their names for `ebbtide docs`, and their paths.
const PAGES: [(&str, &str); 9] = [
    ("cli", "docs/cli.md"),
    ("errors", "docs/errors.md"),
    ("settings", "docs/settings.md"),
    ("plumb-codes", "docs/plumb/codes.md"),
    ("plumb-commands", "docs/plumb/commands.md"),
    ("mem", "crates/plumb/src/modules/mem.plumb"),
    ("claude-hooks", "plugins/ebbtide/hooks/claude-code.json"),
    ("claude-mcp", "plugins/ebbtide/.mcp.json"),
    ("plugin-mcp", "plugins/ebbtide/mcp.json"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Write,
    /// Fail if a page is stale.
    Check,
}

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
                fs::create_dir_all(root.join("docs/plumb")).context("cannot create docs/")?;
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
        bail!("stale pages: {}; run `cargo xtask docs`", stale.join(", "));
    }
    Ok(())
}
