//! Programs that the tests use and that a Debian package brings: a browser, and PostgreSQL.

use std::fs;
use std::path::Path;

use crate::command::{self, answers, program, say};

/// A program that the tests use.
pub struct Debian {
    pub name: &'static str,
    /// The package that brings it.
    package: &'static str,
    /// The programs by which it is found.
    programs: &'static [&'static str],
    /// A folder with a folder for each version, whose `bin` may hold the programs too.
    versions: Option<&'static str>,
}

/// For the dashboard's tests, which print a line and are skipped without one.
pub const BROWSER: Debian = Debian {
    name: "Chromium",
    package: "chromium",
    programs: &["chromium", "chromium-browser", "google-chrome", "chrome"],
    versions: None,
};

/// For the Python tests of checkpoints, which start a server of their own.
pub const POSTGRES: Debian = Debian {
    name: "PostgreSQL",
    package: "postgresql",
    programs: &["initdb"],
    versions: Some("/usr/lib/postgresql"),
};

/// The action of [`Debian::provide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// None: the program is there.
    Found,
    /// Installs the package, as root and with apt.
    Install,
    /// None: nothing can be installed here.
    Skip,
}

impl Debian {
    /// Installs it if it is not there. A failure is printed and does not fail the run, since the machine may be
    /// offline.
    pub fn provide(&self, root: &Path) {
        match self.plan(root) {
            Plan::Found => return,
            Plan::Skip => {
                say(&format!("{} is not installed", self.name));
                return;
            }
            Plan::Install => say(&format!("installing {}", self.name)),
        }
        let install = "apt-get install --quiet --yes --no-install-recommends";
        let lines = [
            "apt-get update --quiet".to_owned(),
            format!("{install} {}", self.package),
        ];
        let installed = lines.iter().try_for_each(|line| {
            let mut command = program(line, root);
            command.env("DEBIAN_FRONTEND", "noninteractive");
            command::run(command)
        });
        if let Err(error) = installed {
            say(&format!("{} is not installed: {error:#}", self.name));
        }
    }

    /// Finds out what [`Debian::provide`] does here.
    pub fn plan(&self, root: &Path) -> Plan {
        match (self.is_found(root), may_install(root)) {
            (true, _) => Plan::Found,
            (false, true) => Plan::Install,
            (false, false) => Plan::Skip,
        }
    }

    fn is_found(&self, root: &Path) -> bool {
        let mut programs = self.programs.iter();
        programs.any(|name| {
            let mut versions = self
                .versions
                .and_then(|folder| fs::read_dir(folder).ok())
                .into_iter()
                .flatten()
                .flatten();
            answers(program(&format!("{name} --version"), root))
                || versions.any(|version| version.path().join("bin").join(name).exists())
        })
    }
}

fn may_install(root: &Path) -> bool {
    let user = command::output(program("id -u", root));
    user.is_ok_and(|user| user.trim() == "0") && answers(program("apt-get --version", root))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{BROWSER, Debian};

    #[test]
    fn a_program_is_found_in_the_path_or_in_the_folder_of_a_version() {
        let root = tempfile::tempdir().unwrap();
        let folder: &'static str = root.path().display().to_string().leak();
        let missing = Debian {
            programs: &["no-such-program"],
            versions: Some(folder),
            ..BROWSER
        };
        assert!(!missing.is_found(Path::new(".")));
        std::fs::create_dir_all(root.path().join("15/bin/no-such-program")).unwrap();
        assert!(missing.is_found(Path::new(".")));
        let here = Debian {
            programs: &["no-such-program", "cargo"],
            ..BROWSER
        };
        assert!(here.is_found(Path::new(".")));
    }
}
