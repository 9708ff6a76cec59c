//! The browser in which the dashboard is tested. Its tests are skipped, and say so, where there is none.

use std::path::Path;

use crate::command::{self, program, say};

/// Names under which it is installed; those that the tests look for.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Makes sure that there is a browser, or says that there is none. Installing one takes root and apt; a
/// failure is said and does not fail the run, since the machine may be offline.
pub fn provide(root: &Path) {
    if installed(root) {
        return;
    }
    if !may_install(root) {
        say("Chromium is not installed, so the dashboard is not tested in a browser");
        return;
    }
    say("Chromium is not installed; installing it");
    let steps: [&[&str]; 2] = [
        &["update", "--quiet"],
        &[
            "install",
            "--quiet",
            "--yes",
            "--no-install-recommends",
            "chromium",
        ],
    ];
    for arguments in steps {
        let mut command = program("apt-get", arguments, root);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(error) = command::run(command) {
            say(&format!(
                "{error:#}; the dashboard is not tested in a browser"
            ));
            return;
        }
    }
}

fn installed(root: &Path) -> bool {
    NAMES
        .iter()
        .any(|name| answers(program(name, &["--version"], root)))
}

fn may_install(root: &Path) -> bool {
    let user = command::output(program("id", &["-u"], root));
    user.is_ok_and(|user| user.trim() == "0") && answers(program("apt-get", &["--version"], root))
}

/// Whether a program is there and ends well.
fn answers(mut command: std::process::Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{answers, program};

    #[test]
    fn a_program_that_is_not_there_does_not_answer() {
        let here = Path::new(".");
        assert!(answers(program("id", &["-u"], here)));
        assert!(!answers(program("no-such-browser", &["--version"], here)));
    }
}
