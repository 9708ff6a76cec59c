//! `cargo xtask ci`: runs all checks of continuous integration and stops at the first failure.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::command::{self, cargo, say};
use crate::{browser, clients, dist, docs, fuzz, licences, needs, python, storm, tidy};

/// A step's name and function.
type Step = (&'static str, fn(&Path) -> anyhow::Result<()>);

/// The fast steps come first, so that common mistakes show early.
const STEPS: [Step; 16] = [
    ("needs", needs::run),
    ("format", |root| cargo_line("fmt --all --check", root)),
    ("tidy", tidy::run),
    ("licences", licences::run),
    ("crate packages", packages),
    ("clippy", |root| {
        cargo_line(
            "clippy --quiet --workspace --all-targets --locked -- -D warnings",
            root,
        )
    }),
    ("tests", tests),
    ("doc tests", |root| {
        cargo_line("test --quiet --workspace --locked --doc", root)
    }),
    ("documentation", documentation),
    ("generated pages", |root| docs::run(root, docs::Mode::Check)),
    ("clients", clients::run),
    ("python", python::run),
    ("packages to install", |root| dist::run(root, true)),
    ("fuzz", |root| fuzz::run(root, &["--runs", "1"])),
    ("storm", |root| {
        storm::run(root, &["--seconds", "60", "--seed", "1"])
    }),
    ("clean checkout", unchanged),
];

pub fn run(root: &Path) -> anyhow::Result<()> {
    let mut durations = Vec::new();
    for (name, step) in STEPS {
        say(&format!("\n== {name}"));
        let (result, duration) = timed(|| step(root));
        durations.push((name, duration));
        if let Err(error) = result {
            say(&table(&durations));
            return Err(error.context(format!("the step `{name}` failed")));
        }
    }
    say(&table(&durations));
    say("all steps passed");
    Ok(())
}

/// Runs `cargo` with the words of a line.
fn cargo_line(line: &str, root: &Path) -> anyhow::Result<()> {
    command::run(cargo(line, root))
}

/// The duration of each step, and the total.
fn table(taken: &[(&str, Duration)]) -> String {
    let total: Duration = taken.iter().map(|(_, duration)| *duration).sum();
    let mut text = String::new();
    for (name, duration) in taken.iter().copied().chain([("total", total)]) {
        text.push_str(&format!("\n{name:<20}{:>8.1} s", duration.as_secs_f64()));
    }
    text
}

/// Measures the duration of a call.
#[expect(
    clippy::disallowed_methods,
    reason = "people read the duration; nothing depends on it"
)]
pub fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = run();
    (result, start.elapsed())
}

/// Packs every published crate as `cargo publish` would. Fails where a path dependency has no version or the
/// lock file is out of date. Compiles nothing; before a release, run
/// `cargo package --workspace --exclude xtask`, which builds each packed crate too.
fn packages(root: &Path) -> anyhow::Result<()> {
    cargo_line(
        "package --quiet --workspace --exclude xtask --no-verify --allow-dirty --locked",
        root,
    )
}

/// Runs the tests. Nextest prints the failures and a summary.
fn tests(root: &Path) -> anyhow::Result<()> {
    browser::provide(root);
    if !command::answers(cargo("nextest --version", root)) {
        say("installing cargo-nextest");
        cargo_line("install --quiet --locked cargo-nextest", root)?;
    }
    let levels = "--status-level fail --final-status-level slow";
    let line = format!("nextest run --workspace --locked --no-fail-fast {levels}");
    cargo_line(&line, root)
}

fn documentation(root: &Path) -> anyhow::Result<()> {
    let mut command = cargo("doc --quiet --workspace --no-deps --locked", root);
    command.env("RUSTDOCFLAGS", "-D warnings");
    command::run(command)
}

/// Checks that the steps left no changed or untracked file: a test that writes into the checkout, or a
/// snapshot that was not reviewed.
fn unchanged(root: &Path) -> anyhow::Result<()> {
    let status = command::output(command::program("git status --porcelain", root))?;
    if command::variable("CI").is_some() {
        anyhow::ensure!(
            status.is_empty(),
            "the steps changed the checkout:\n{status}"
        );
    } else if !status.is_empty() {
        say(&format!("uncommitted files:\n{}", status.trim_end()));
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
