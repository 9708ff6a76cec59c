//! Installs the SDKs: a virtual environment in `target/`, and `node_modules` next to the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command::{self, program};

/// Installs the missing packages, and returns the Python interpreter of the virtual environment.
pub fn all(root: &Path) -> anyhow::Result<PathBuf> {
    require(root, "node", "Node 20 or newer")?;
    require(root, "npm", "npm")?;
    let python = python(root).context("cannot install the Python packages of clients/python")?;
    node(root).context("cannot install the packages of clients/typescript")?;
    Ok(python)
}

fn require(root: &Path, name: &str, what: &str) -> anyhow::Result<()> {
    if !command::answers(program(&format!("{name} --version"), root)) {
        bail!("`{name}` is missing: the tests with real clients need {what}");
    }
    Ok(())
}

/// Creates the virtual environment of the clients.
fn python(root: &Path) -> anyhow::Result<PathBuf> {
    let requirements = root.join("clients/python/requirements.txt");
    let folder = root.join("target/clients/python");
    environment(root, None, (&requirements, &folder))
}

/// Creates a virtual environment, again whenever its requirements change, and returns its interpreter. `python` is
/// the interpreter behind it, by default `python3`.
pub fn environment(
    root: &Path,
    python: Option<&Path>,
    (requirements, environment): (&Path, &Path),
) -> anyhow::Result<PathBuf> {
    if python.is_none() {
        require(root, "python3", "Python 3.11 or newer with the module venv")?;
    }
    let behind = python.unwrap_or(Path::new("python3"));
    let python = environment.join("bin/python");
    once(requirements, &environment.join("installed.txt"), || {
        let mut create = Command::new(behind);
        create.args(["-m", "venv", "--clear"]).arg(environment);
        command::run(create)?;
        let mut pip = Command::new(&python);
        let quiet = ["--quiet", "--disable-pip-version-check", "--require-hashes"];
        pip.args(["-m", "pip", "install"]).args(quiet);
        pip.arg("--requirement").arg(requirements).current_dir(root);
        command::run(pip)
    })?;
    Ok(python)
}

/// Creates `node_modules`, again whenever the lock file changes.
fn node(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("clients/typescript");
    let stamp = folder.join("node_modules/.installed.json");
    once(&folder.join("package-lock.json"), &stamp, || {
        command::run(program(
            "npm ci --no-audit --no-fund --ignore-scripts",
            &folder,
        ))
    })
}

/// Runs `install` unless `stamp`, a copy of the list from the last run, equals `list`.
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
    fn failures_are_retried() {
        let folder = tempfile::tempdir().unwrap();
        let (list, stamp) = (folder.path().join("list"), folder.path().join("stamp"));
        fs::write(&list, "a").unwrap();
        assert!(once(&list, &stamp, || anyhow::bail!("no network")).is_err());
        assert!(!stamp.exists());
    }
}
