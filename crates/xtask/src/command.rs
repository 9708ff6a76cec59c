//! Running other programs, and talking to whoever runs this one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Prints one message to standard error, where every message of this program goes.
#[expect(clippy::print_stderr, reason = "this is the one place that prints")]
pub fn say(message: &str) {
    eprintln!("{message}");
}

/// A variable of the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A program with arguments, to be run in a folder.
pub fn program(name: &str, arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(folder);
    command
}

/// `cargo` with arguments: the same cargo that runs this program.
pub fn cargo(arguments: &[&str], folder: &Path) -> Command {
    let cargo = variable("CARGO").unwrap_or_else(|| "cargo".to_owned());
    program(&cargo, arguments, folder)
}

/// The program `ebbtide`, built as the tests build it: with `--package` alone its dependencies would get
/// other features, and half of them would be compiled a second time.
///
/// # Errors
/// It does not build.
pub fn ebbtide(root: &Path) -> anyhow::Result<PathBuf> {
    run(cargo(
        &[
            "build",
            "--quiet",
            "--locked",
            "--workspace",
            "--bins",
            "--tests",
        ],
        root,
    ))?;
    Ok(root.join("target/debug/ebbtide"))
}

/// Runs a command with its output shown as it comes.
///
/// # Errors
/// The program cannot be started, or ends with a failure.
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

/// Runs a command and returns what it printed to standard output.
///
/// # Errors
/// The program cannot be started, ends with a failure, or prints what is not UTF-8.
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

/// The command as a person would type it.
pub fn line(command: &Command) -> String {
    let mut words = vec![
        Path::new(command.get_program())
            .file_name()
            .unwrap_or(command.get_program())
            .to_string_lossy()
            .into_owned(),
    ];
    words.extend(
        command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    words.join(" ")
}
