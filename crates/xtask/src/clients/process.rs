//! A server of the program as a process of its own.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::command::{self, program};

/// What stands in front of the URL in the first line that a server prints.
const READY: &str = "listening on ";

/// A server that runs. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    line: String,
    url: String,
    errors: PathBuf,
    /// Kept open: a server may print more.
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a server and waits until it says where it listens. What it writes to standard error goes
    /// to a file.
    ///
    /// # Errors
    /// It does not start, or ends before it listens.
    pub fn start(mut command: Command, errors: PathBuf) -> anyhow::Result<Self> {
        let line = command::line(&command);
        let file =
            File::create(&errors).with_context(|| format!("cannot write {}", errors.display()))?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start `{line}`"))?;
        let output = child.stdout.take().context("there is no pipe")?;
        let mut process = Self {
            child,
            line,
            url: String::new(),
            errors,
            output: BufReader::new(output),
        };
        let mut first = String::new();
        process.output.read_line(&mut first)?;
        let said = process.said();
        let url = first.trim().strip_prefix(READY);
        process.url = url
            .with_context(|| format!("`{}` does not listen: {first}{said}", process.line))?
            .to_owned();
        Ok(process)
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks it to end, waits for it, and returns what it wrote to standard error.
    ///
    /// # Errors
    /// It cannot be asked, or ends with a failure.
    pub fn stop(mut self) -> anyhow::Result<String> {
        let id = self.child.id().to_string();
        command::run(program("kill", &["-TERM", &id], Path::new(".")))?;
        let status = self.child.wait()?;
        let said = self.said();
        ensure!(
            status.success(),
            "`{}` failed ({status}): {said}",
            self.line
        );
        Ok(said)
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.errors).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended cannot be killed; that is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
