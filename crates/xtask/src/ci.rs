//! `cargo xtask ci`: everything that continuous integration runs, in order, until something fails.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::command::{self, cargo, say};
use crate::{browser, clients, docs, fuzz, licences, tidy};

/// One step: its name and what it does.
struct Step {
    name: &'static str,
    run: fn(&Path) -> anyhow::Result<()>,
}

/// The quick ones first, so that what is easily wrong is said early.
const STEPS: [Step; 12] = [
    Step {
        name: "format",
        run: |root| command::run(cargo(&["fmt", "--all", "--check"], root)),
    },
    Step {
        name: "tidy",
        run: tidy::run,
    },
    Step {
        name: "licences",
        run: licences::run,
    },
    Step {
        name: "packages",
        run: packages,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "tests",
        run: tests,
    },
    Step {
        name: "doc tests",
        run: |root| {
            command::run(cargo(
                &["test", "--quiet", "--workspace", "--locked", "--doc"],
                root,
            ))
        },
    },
    Step {
        name: "documentation",
        run: documentation,
    },
    Step {
        name: "generated pages",
        run: |root| docs::run(root, docs::Mode::Check),
    },
    Step {
        name: "clients",
        run: clients::run,
    },
    Step {
        name: "fuzz",
        run: |root| fuzz::run(root, &["--runs", "1"]),
    },
    Step {
        name: "nothing left behind",
        run: unchanged,
    },
];

/// Runs all steps.
///
/// # Errors
/// A step fails; the ones after it are not run.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let mut taken = Vec::new();
    for step in &STEPS {
        say(&format!("\n== {}", step.name));
        let (outcome, duration) = timed(|| (step.run)(root));
        taken.push((step.name, duration));
        if let Err(error) = outcome {
            say(&table(&taken));
            return Err(error.context(format!("the step `{}` failed", step.name)));
        }
    }
    say(&table(&taken));
    say("all steps passed");
    Ok(())
}

/// How long each step took.
fn table(taken: &[(&str, Duration)]) -> String {
    let total: Duration = taken.iter().map(|(_, duration)| *duration).sum();
    let mut text = String::new();
    for (name, duration) in taken.iter().copied().chain([("total", total)]) {
        text.push_str(&format!("\n{name:<20}{:>8.1} s", duration.as_secs_f64()));
    }
    text
}

/// Runs something and measures how long it took.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a step took is only for people to read"
)]
pub fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let outcome = run();
    (outcome, start.elapsed())
}

fn clippy(root: &Path) -> anyhow::Result<()> {
    command::run(cargo(
        &[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
        root,
    ))
}

/// Packs every crate that is published, as `cargo publish` would: fails where a path dependency has no
/// version or the lock file is out of date. Compiles nothing; before a release,
/// `cargo package --workspace --exclude xtask` builds each packed crate too.
fn packages(root: &Path) -> anyhow::Result<()> {
    command::run(cargo(
        &[
            "package",
            "--quiet",
            "--workspace",
            "--exclude",
            "xtask",
            "--no-verify",
            "--allow-dirty",
            "--locked",
        ],
        root,
    ))
}

/// The tests; nextest prints those that fail and a summary of all.
fn tests(root: &Path) -> anyhow::Result<()> {
    browser::provide(root);
    let installed = cargo(&["nextest", "--version"], root)
        .output()
        .is_ok_and(|output| output.status.success());
    if !installed {
        say("cargo-nextest is not installed; installing it");
        command::run(cargo(
            &["install", "--quiet", "--locked", "cargo-nextest"],
            root,
        ))?;
    }
    command::run(cargo(
        &[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "--no-fail-fast",
            "--status-level",
            "fail",
            "--final-status-level",
            "slow",
        ],
        root,
    ))
}

fn documentation(root: &Path) -> anyhow::Result<()> {
    let mut command = cargo(
        &["doc", "--quiet", "--workspace", "--no-deps", "--locked"],
        root,
    );
    command.env("RUSTDOCFLAGS", "-D warnings");
    command::run(command)
}

/// The steps changed no tracked file and left none that git would take: a test that writes into the
/// checkout, a snapshot that was not reviewed.
fn unchanged(root: &Path) -> anyhow::Result<()> {
    let status = command::output(command::program("git", &["status", "--porcelain"], root))?;
    if command::variable("CI").is_some() {
        anyhow::ensure!(status.is_empty(), "the checkout was changed:\n{status}");
    } else if !status.is_empty() {
        say(&format!("not committed:\n{}", status.trim_end()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::table;

    #[test]
    fn durations_line_up() {
        let taken = [
            ("format", Duration::from_millis(1_540)),
            ("tests", Duration::from_secs(100)),
        ];
        assert_eq!(
            table(&taken),
            "\nformat                   1.5 s\ntests                  100.0 s\ntotal                  101.5 s"
        );
    }
}
