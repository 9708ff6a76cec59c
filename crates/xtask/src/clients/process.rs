//! Starts and stops `ebbtide` servers as child processes.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::command::{self, program};

/// The text before the URL in the first line that a server prints.
const READY: &str = "listening on ";

/// A running server. Dropping it kills the process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    line: String,
    url: String,
    errors: PathBuf,
    /// Kept open, since the server may print more.
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a server and waits for its URL. Standard error goes to the file `errors`.
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
        let output = child
            .stdout
            .take()
            .context("standard output is not a pipe")?;
        let mut process = Self {
            child,
            line,
            url: String::new(),
            errors,
            output: BufReader::new(output),
        };
        let mut first = String::new();
        process.output.read_line(&mut first)?;
        let stderr = process.stderr();
        let url = first.trim().strip_prefix(READY);
        process.url = url
            .with_context(|| format!("`{}` does not listen: {first}{stderr}", process.line))?
            .to_owned();
        Ok(process)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends SIGTERM, waits for the end, and returns the standard error output.
    pub fn stop(mut self) -> anyhow::Result<String> {
        let id = self.child.id().to_string();
        command::run(program(&format!("kill -TERM {id}"), Path::new(".")))?;
        let status = self.child.wait()?;
        let stderr = self.stderr();
        ensure!(
            status.success(),
            "`{}` failed ({status}): {stderr}",
            self.line
        );
        Ok(stderr)
    }

    fn stderr(&self) -> String {
        fs::read_to_string(&self.errors).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the process has ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
