//! `cargo xtask ci`: runs all checks of continuous integration and stops at the first failure. A step that runs beside
//! others ends first.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::command::{self, cargo, say};
use crate::{clients, debian, dist, docs, fuzz, licences, needs, python, storm, tidy};

/// A step's name and function.
type Step = (&'static str, fn(&Path) -> anyhow::Result<()>);

/// The fast steps come first, so that common mistakes show early.
const STEPS: [Step; 15] = [
    ("needs", needs::run),
    ("format", |root| cargo_line("fmt --all --check", root)),
    ("tidy", tidy::run),
    ("licences", licences::run),
    ("crate packages", packages),
    ("build and lint", |root| {
        cargo_line("build --quiet --workspace --all-targets --locked", root)
    }),
    ("tests", tests),
    ("doc tests", |root| {
        cargo_line("test --quiet --workspace --locked --doc", root)
    }),
    ("documentation", documentation),
    ("generated pages", |root| docs::run(root, docs::Mode::Check)),
    ("clients", clients::run),
    ("packages to install", |root| dist::run(root, true)),
    ("fuzz", |root| fuzz::run(root, &["--runs", "1"])),
    ("storm", |root| {
        storm::run(root, &["--seconds", "60", "--seed", "1"])
    }),
    ("clean checkout", unchanged),
];

/// The step that runs in a process of its own, beside those from the first of `BESIDE` until the last: it and they
/// use one core for most of their time.
const ASIDE: &str = "python";
const BESIDE: (&str, &str) = ("clients", "fuzz");

/// Runs all steps in a process of its own, in which `cargo` compiles and lints the workspace at once: a separate
/// `cargo clippy` would read all of it once more.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["ci", "--steps"]).current_dir(root);
    // Nothing is built twice here. In one unit, the code is faster and takes less time to compile.
    command.env("CARGO_INCREMENTAL", "0");
    command.env("CARGO_PROFILE_DEV_CODEGEN_UNITS", "1");
    // Line tables serve backtraces only; a panic names its place without them.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    // The form in which `cargo clippy -- -D warnings` passes its arguments on.
    let separator = "__CLIPPY_HACKERY__";
    command.env("CLIPPY_ARGS", format!("-D{separator}warnings{separator}"));
    command::run(command)
}

/// Runs the steps and stops at the first that fails.
pub fn steps(root: &Path) -> anyhow::Result<()> {
    let mut durations = Vec::new();
    let (result, total) = timed(|| each_step(root, &mut durations));
    durations.push(("total", total));
    say(&table(&durations));
    result?;
    say("all steps passed");
    Ok(())
}

fn each_step(root: &Path, durations: &mut Vec<(&str, Duration)>) -> anyhow::Result<()> {
    let mut aside = None;
    for (name, step) in STEPS {
        say(&format!("\n== {name}"));
        if name == BESIDE.0 {
            aside = Some(Aside::begin(root)?);
        }
        let (result, duration) = timed(|| step(root));
        durations.push((name, duration));
        let ends = name == BESIDE.1 || result.is_err();
        let beside = aside.take_if(|_| ends).map(Aside::end);
        durations.extend(beside.iter().map(|(_, duration)| (ASIDE, *duration)));
        result.with_context(|| format!("the step `{name}` failed"))?;
        if let Some((result, _)) = beside {
            result?;
        }
    }
    Ok(())
}

/// Runs the one step that a process of its own has been started for.
pub fn aside(root: &Path) -> anyhow::Result<()> {
    python::run(root)
}

/// The step that runs beside others. Its output is shown once it has ended.
struct Aside {
    printed: PathBuf,
    running: JoinHandle<(anyhow::Result<()>, Duration)>,
}

impl Aside {
    fn begin(root: &Path) -> anyhow::Result<Self> {
        let printed = root.join("target/ci-aside.txt");
        let file = File::create(&printed).context("cannot create target/ci-aside.txt")?;
        // The steps before have built this program anew, so that it is no longer where it was started from.
        let mut command = Command::new(root.join("target/debug/xtask"));
        command.args(["ci", "--aside"]).current_dir(root);
        command.stdout(file.try_clone()?).stderr(file);
        let running = thread::Builder::new().name(ASIDE.to_owned());
        let running = running.spawn(|| timed(|| command::run(command)))?;
        Ok(Self { printed, running })
    }

    /// Waits for its end, and prints what it has printed.
    fn end(self) -> (anyhow::Result<()>, Duration) {
        say(&format!(
            "\n== {ASIDE} (beside the steps from `{}` on)",
            BESIDE.0
        ));
        let (result, duration) = match self.running.join() {
            Ok(ended) => ended,
            Err(_) => (Err(anyhow::anyhow!("its thread panicked")), Duration::ZERO),
        };
        let printed = fs::read(&self.printed).unwrap_or_default();
        say(String::from_utf8_lossy(&printed).trim_end());
        let result = result.with_context(|| format!("the step `{ASIDE}` failed"));
        (result, duration)
    }
}

/// Runs `cargo` with the words of a line.
fn cargo_line(line: &str, root: &Path) -> anyhow::Result<()> {
    command::run(cargo(line, root))
}

/// The duration of each step.
fn table(taken: &[(&str, Duration)]) -> String {
    let mut text = String::new();
    for (name, duration) in taken {
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
/// lock file is out of date. Compiles nothing: to verify a packed crate builds it and all its dependencies once more,
/// in a target of its own, which takes as long as all else here. Before a release, run
/// `cargo package --workspace --exclude xtask`, which does.
fn packages(root: &Path) -> anyhow::Result<()> {
    cargo_line(
        "package --quiet --workspace --exclude xtask --no-verify --allow-dirty --locked",
        root,
    )
}

/// Runs the tests. Nextest prints the failures and a summary.
fn tests(root: &Path) -> anyhow::Result<()> {
    debian::BROWSER.provide(root);
    if !command::answers(cargo("nextest --version", root)) {
        say("installing cargo-nextest");
        // It only starts tests: optimizing it, or building its self-updater, takes three times as long.
        let parts = "--debug --no-default-features --features default-no-update";
        let line = format!("install --quiet --locked {parts} cargo-nextest");
        let mut install = cargo(&line, root);
        // Others' code is not ours to lint.
        install.env_remove("RUSTC_WORKSPACE_WRAPPER");
        command::run(install)?;
    }
    let levels = "--status-level fail --final-status-level slow";
    // Some tests wait for most of their time.
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
    let line = format!(
        "nextest run --workspace --locked --no-fail-fast --test-threads {threads} {levels}"
    );
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
            ("total", Duration::from_secs(100)),
        ];
        assert_eq!(
            table(&taken),
            "\nformat                   1.5 s\ntotal                  100.0 s"
        );
    }
}
