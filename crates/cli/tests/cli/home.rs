//! A temporary home folder, with clients in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Ran, program, run};

/// A home folder.
pub struct Home(TempDir);

impl Home {
    pub fn empty() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect(name)
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect(name)
    }

    /// All folders and files below the home folder, with the files' bytes; without Ebbtide's own.
    pub fn state(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut state = BTreeMap::new();
        gather(self.0.path(), &mut state);
        state.retain(|path, _| !path.starts_with(self.path(".local")));
        state
    }

    /// The program with these arguments, in this home folder.
    pub fn program(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command.env("HOME", self.0.path());
        command
    }

    /// Runs `ebbtide connect`, which must not print a secret.
    pub fn connect(&self, arguments: &[&str]) -> Ran {
        let ran = run(self.program(&[&["connect"], arguments].concat()), b"");
        for said in [&ran.stdout, &ran.stderr] {
            assert!(!said.contains("secret"), "{said}");
        }
        ran
    }

    /// Runs the command, which must succeed, and returns what it printed.
    #[track_caller]
    pub fn connected(&self, arguments: &[&str]) -> String {
        let ran = self.connect(arguments);
        assert_eq!(ran.exit, 0, "{}", ran.stderr);
        ran.stdout
    }

    pub fn record(&self, client: &str) -> PathBuf {
        self.path(&format!(".local/share/ebbtide/connect/{client}.json"))
    }
}

fn gather(folder: &Path, state: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, state);
            state.insert(path, None);
        } else {
            let bytes = fs::read(&path).expect("a file");
            state.insert(path, Some(bytes));
        }
    }
}
