//! The SDKs: a virtual environment below `target/`, and `node_modules` beside the tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::command::{self, program};

/// What was installed.
pub struct Installed {
    /// The interpreter of the virtual environment.
    pub python: PathBuf,
}

/// Installs what is not there yet.
///
/// # Errors
/// A program is missing, or the package registry cannot be reached.
pub fn all(root: &Path) -> anyhow::Result<Installed> {
    needed(root, "python3", "Python 3.11 or newer with its module venv")?;
    needed(root, "node", "Node 20 or newer")?;
    needed(root, "npm", "npm")?;
    let python = python(root).context("the Python packages of clients/python are not installed")?;
    node(root).context("the packages of clients/typescript are not installed")?;
    Ok(Installed { python })
}

/// Fails with a word on what is missing.
fn needed(root: &Path, name: &str, what: &str) -> anyhow::Result<()> {
    let there = program(name, &["--version"], root)
        .output()
        .is_ok_and(|output| output.status.success());
    if !there {
        bail!("`{name}` is missing: the tests with real clients need {what}");
    }
    Ok(())
}

/// The virtual environment, made anew when the requirements changed.
fn python(root: &Path) -> anyhow::Result<PathBuf> {
    let environment = root.join("target/clients/python");
    let python = environment.join("bin/python");
    let requirements = root.join("clients/python/requirements.txt");
    once(&requirements, &environment.join("installed.txt"), || {
        let folder = environment.to_string_lossy();
        let file = requirements.to_string_lossy();
        command::run(program(
            "python3",
            &["-m", "venv", "--clear", &folder],
            root,
        ))?;
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        let mut pip = program(&python.to_string_lossy(), &install, root);
        pip.args(["--require-hashes", "--requirement", &file]);
        command::run(pip)
    })?;
    Ok(python)
}

/// `node_modules`, made anew when the lock file changed.
fn node(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("clients/typescript");
    let stamp = folder.join("node_modules/.installed.json");
    once(&folder.join("package-lock.json"), &stamp, || {
        let arguments = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
        command::run(program("npm", &arguments, &folder))
    })
}

/// Runs `install`, unless `stamp` says that it has been run for this very `list`.
fn once(
    list: &Path,
    stamp: &Path,
    install: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let wanted =
        fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    if fs::read_to_string(stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install()?;
    fs::write(stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::once;

    #[test]
    fn a_list_is_installed_once() {
        let folder = tempfile::tempdir().unwrap();
        let (list, stamp) = (folder.path().join("list"), folder.path().join("stamp"));
        let installed = Cell::new(0);
        let install = || {
            installed.set(installed.get() + 1);
            Ok(())
        };
        for text in ["a", "a", "b"] {
            fs::write(&list, text).unwrap();
            once(&list, &stamp, install).unwrap();
        }
        assert_eq!(installed.get(), 2);
    }

    #[test]
    fn what_failed_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let (list, stamp) = (folder.path().join("list"), folder.path().join("stamp"));
        fs::write(&list, "a").unwrap();
        assert!(once(&list, &stamp, || anyhow::bail!("no network")).is_err());
        assert!(!stamp.exists());
    }
}
