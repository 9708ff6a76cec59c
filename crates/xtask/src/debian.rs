//! Installs the browser for the dashboard's tests. Without one, they print a line and are skipped.

use std::path::Path;

use crate::command::{self, answers, program, say};

/// The program names that the tests look for.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Installs a browser if there is none, which takes root and apt. A failure is printed and does not fail
/// the run, since the machine may be offline.
pub fn provide(root: &Path) {
    match plan(root) {
        Plan::Found => return,
        Plan::Skip => {
            say("skipping the dashboard's browser tests: Chromium is not installed");
            return;
        }
        Plan::Install => {}
    }
    say("installing Chromium");
    for arguments in [
        "apt-get update --quiet",
        "apt-get install --quiet --yes --no-install-recommends chromium",
    ] {
        let mut command = program(arguments, root);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(error) = command::run(command) {
            say(&format!(
                "skipping the dashboard's browser tests: {error:#}"
            ));
            return;
        }
    }
}

/// What [`provide`] does.
pub enum Plan {
    /// Nothing: there is a browser.
    Found,
    /// It installs Chromium.
    Install,
    /// Nothing: it cannot install one here.
    Skip,
}

/// Finds out what [`provide`] does here.
pub fn plan(root: &Path) -> Plan {
    match (installed(root), may_install(root)) {
        (true, _) => Plan::Found,
        (false, true) => Plan::Install,
        (false, false) => Plan::Skip,
    }
}

fn installed(root: &Path) -> bool {
    NAMES
        .iter()
        .any(|name| answers(program(&format!("{name} --version"), root)))
}

fn may_install(root: &Path) -> bool {
    let user = command::output(program("id -u", root));
    user.is_ok_and(|user| user.trim() == "0") && answers(program("apt-get --version", root))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{answers, program};

    #[test]
    fn a_missing_program_does_not_answer() {
        let here = Path::new(".");
        assert!(answers(program("id -u", here)));
        assert!(!answers(program("no-such-browser --version", here)));
    }
}
