//! The files that git knows, and the crates.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;

use crate::command;

/// A text file of the workspace.
#[derive(Clone, Debug)]
pub struct File {
    /// The path from the root, with slashes.
    pub path: String,
    /// Its text.
    pub text: String,
    /// The role of a Rust file.
    pub role: Role,
}

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Code of a crate.
    Production,
    /// Tests, benches, examples, fuzz targets.
    Test,
    /// Not Rust.
    Other,
}

/// A package of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name without the prefix of published packages, which is the name of its folder.
    pub name: String,
    /// Its folder from the root.
    pub folder: String,
    /// The packages of the workspace that it names, each once.
    pub uses: BTreeSet<String>,
}

/// The workspace.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// All text files that are tracked or about to be.
    pub files: Vec<File>,
    /// All packages.
    pub packages: Vec<Package>,
}

impl Tree {
    /// Reads the workspace at `root`.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let tracked = "git ls-files -z --cached --others --exclude-standard";
        let listed = command::output(command::program(tracked, root))?;
        let mut files = Vec::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            // A file that is deleted but not committed so is listed; one that is no text is not ours.
            let Ok(bytes) = fs::read(root.join(path)) else {
                continue;
            };
            let Ok(text) = String::from_utf8(bytes) else {
                continue;
            };
            files.push(File {
                path: path.to_owned(),
                text,
                role: role(path),
            });
        }
        let metadata = "metadata --format-version 1 --no-deps --offline";
        let metadata = command::output(command::cargo(metadata, root))?;
        let packages = packages(root, &metadata)?;
        mark_test_modules(&mut files);
        Ok(Self { files, packages })
    }

    /// The Rust files.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.role != Role::Other)
    }
}

fn role(path: &str) -> Role {
    if !path.ends_with(".rs") {
        return Role::Other;
    }
    let test = path.split('/').any(|part| {
        matches!(
            part,
            "tests" | "tests.rs" | "benches" | "examples" | "fuzz_targets"
        )
    });
    if test { Role::Test } else { Role::Production }
}

/// Files that are only reached through `#[cfg(test)] mod name;` are tests too.
fn mark_test_modules(files: &mut [File]) {
    let mut stems = Vec::new();
    for file in files.iter().filter(|file| file.role == Role::Production) {
        let Some(folder) = module_folder(&file.path) else {
            continue;
        };
        for name in super::source::test_modules(&file.text) {
            stems.push(format!("{folder}/{name}"));
        }
    }
    for file in files
        .iter_mut()
        .filter(|file| file.role == Role::Production)
    {
        let inside = stems.iter().any(|stem| {
            file.path
                .strip_prefix(stem)
                .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
        if inside {
            file.role = Role::Test;
        }
    }
}

/// The folder in which the modules that a file declares lie.
fn module_folder(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/')?;
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => Some(folder),
        _ => path.strip_suffix(".rs"),
    }
}

/// The output of `cargo metadata`, as far as it is read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// The folder, if it is one of the workspace's own packages.
    path: Option<String>,
}

fn packages(root: &Path, metadata: &str) -> anyhow::Result<Vec<Package>> {
    let metadata: Metadata =
        serde_json::from_str(metadata).context("cannot parse the output of cargo metadata")?;
    let short = |name: String| {
        name.strip_prefix("ebbtide-")
            .map_or(name.clone(), str::to_owned)
    };
    let package = |package: Described| {
        let folder = package.manifest_path.parent();
        let folder = folder.and_then(|folder| folder.strip_prefix(root).ok());
        let folder = folder.context("a package lies outside of the workspace")?;
        let own = package.dependencies.into_iter();
        let own = own.filter(|dependency| dependency.path.is_some());
        Ok(Package {
            folder: folder.to_string_lossy().into_owned(),
            uses: own.map(|dependency| short(dependency.name)).collect(),
            name: short(package.name),
        })
    };
    metadata.packages.into_iter().map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::{File, Role, mark_test_modules, module_folder, role};

    #[test]
    fn roles() {
        assert_eq!(role("crates/a/src/lib.rs"), Role::Production);
        assert_eq!(role("crates/a/src/x/tests.rs"), Role::Test);
        assert_eq!(role("crates/a/tests/corpus/main.rs"), Role::Test);
        assert_eq!(role("fuzz/fuzz_targets/a.rs"), Role::Test);
        assert_eq!(role("README.md"), Role::Other);
    }

    #[test]
    fn modules_that_only_tests_reach_are_tests() {
        assert_eq!(module_folder("a/src/lib.rs"), Some("a/src"));
        assert_eq!(module_folder("a/src/b.rs"), Some("a/src/b"));
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
            role: role(path),
        };
        let mut files = [
            file("a/src/lib.rs", "#[cfg(test)]\nmod samples;\nmod code;"),
            file("a/src/samples.rs", ""),
            file("a/src/samples/more.rs", ""),
            file("a/src/code.rs", ""),
        ];
        mark_test_modules(&mut files);
        let roles = files.map(|file| file.role);
        assert_eq!(
            roles,
            [Role::Production, Role::Test, Role::Test, Role::Production]
        );
    }
}
