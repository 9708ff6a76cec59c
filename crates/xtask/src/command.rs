//! Runs other programs, and prints messages to standard error.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Prints a message to standard error.
#[expect(clippy::print_stderr, reason = "this is the one place that prints")]
pub fn say(message: &str) {
    eprintln!("{message}");
}

/// Reads an environment variable.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Creates the command of a line, divided at its spaces, that runs in `folder`.
pub fn program(line: &str, folder: &Path) -> Command {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(folder);
    command
}

/// Creates a command for the same `cargo` that runs this program, with the words of a line.
pub fn cargo(line: &str, folder: &Path) -> Command {
    let mut command = Command::new(variable("CARGO").unwrap_or_else(|| "cargo".to_owned()));
    command.args(line.split(' ')).current_dir(folder);
    command
}

/// Builds `ebbtide` and returns the path of the program.
pub fn ebbtide(root: &Path) -> anyhow::Result<PathBuf> {
    // The same targets as the tests. With `--package` alone, the dependencies would get other features,
    // and half of them would compile twice.
    run(cargo(
        "build --quiet --locked --workspace --bins --tests",
        root,
    ))?;
    Ok(root.join("target/debug/ebbtide"))
}

/// Checks that a program is installed and runs.
pub fn answers(mut command: Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs a command and passes its output through.
pub fn run(mut command: Command) -> anyhow::Result<()> {
    let line = line(&command);
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub fn output(mut command: Command) -> anyhow::Result<String> {
    let line = line(&command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not print UTF-8"))
}

/// Renders a command as a person would type it.
pub fn line(command: &Command) -> String {
    let program = command.get_program();
    let name = Path::new(program).file_name().unwrap_or(program);
    let words: Vec<_> = std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    words.join(" ")
}
