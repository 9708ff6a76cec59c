//! Tests of the binary: output, streams and exit codes.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails where it stands"
)]

mod again;
mod behaviour;
mod compact;
#[cfg(unix)]
mod connect;
mod corpus;
mod demo;
#[cfg(unix)]
mod doctor;
mod failures;
mod foreign;
mod help;
#[cfg(unix)]
mod home;
mod inspect;
#[cfg(unix)]
mod listening;
mod lsp;
#[cfg(unix)]
mod mcp;
#[cfg(unix)]
mod originals;
#[cfg(unix)]
mod plugin;
mod plumb;
mod plumb_run;
mod plumb_state;
#[cfg(unix)]
mod plumb_stop;
mod purge;
mod replay;
#[cfg(unix)]
mod serve;
mod sessions;
#[cfg(unix)]
mod sim;
mod store;
#[cfg(unix)]
mod wrap;

#[path = "../../../lab/tests/corpus/locate.rs"]
mod locate;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a run.
struct Ran {
    stdout: String,
    stderr: String,
    exit: i32,
}

impl Ran {
    /// The whole result, for snapshots.
    fn shown(&self) -> String {
        format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            self.exit, self.stdout, self.stderr
        )
    }
}

/// The folder with the hand-written sessions; tests run in it, so that paths are short.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// A home folder that does not exist. Not even root can make a folder there.
const NO_HOME: &str = "/proc/nonexistent";

/// The program with these arguments, at 80 columns, without a home folder.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebbtide"));
    command
        .args(arguments)
        .current_dir(data())
        .env_clear()
        .env("HOME", NO_HOME)
        .env("COLUMNS", "80")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command, with this on its standard input.
fn run(mut command: Command, input: &[u8]) -> Ran {
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // All input is read before anything is written, so this cannot block; a program that stops before
    // it has read everything is what some tests are about.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    Ran {
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        exit: output.status.code().expect("an exit code"),
    }
}

fn ebbtide(arguments: &[&str]) -> Ran {
    run(program(arguments), b"")
}
