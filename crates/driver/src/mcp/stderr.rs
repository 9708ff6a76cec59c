//! Captures the end of a tool server's standard error, which explains why the server exited.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The number of final bytes that are kept.
const KEPT: usize = 4 << 10;

/// The maximum number of lines in an error message.
const LINES: usize = 8;

/// The time that a program gets to exit after it closes its output.
const GRACE: Duration = Duration::from_millis(500);

/// The last bytes of the output so far.
#[derive(Debug)]
pub(super) struct StderrTail {
    tail: Arc<Mutex<Vec<u8>>>,
    /// The task that reads; it ends with this.
    reading: JoinSet<()>,
}

impl StderrTail {
    /// Reads from now on, so that the program never waits for a reader.
    pub fn of(written: Option<ChildStderr>) -> Self {
        let tail = Arc::new(Mutex::new(Vec::new()));
        let mut reading = JoinSet::new();
        if let Some(written) = written {
            reading.spawn(read(written, Arc::clone(&tail)));
        }
        Self { tail, reading }
    }

    /// Describes how a program exited, with the last lines of its standard error.
    pub async fn ended(&mut self, child: &mut Child) -> String {
        let status = timeout(GRACE, child.wait()).await;
        // The last lines may still be on their way, or a child of the program may keep the pipe open.
        let _ = timeout(GRACE, self.reading.join_next()).await;
        let mut told = "it has ended".to_owned();
        if let Ok(Ok(status)) = status {
            told = format!("{told} ({status})");
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let mut last: Vec<&str> = lines
            .into_iter()
            .rev()
            .filter(|one| !one.is_empty())
            .collect();
        last.truncate(LINES);
        last.reverse();
        match last.as_slice() {
            [] => told,
            lines => format!("{told}: {}", lines.join("\n")),
        }
    }
}

async fn read(mut written: ChildStderr, tail: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 1 << 10];
    while let Ok(count) = written.read(&mut piece).await {
        if count == 0 {
            return;
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(piece.get(..count).unwrap_or_default());
        let surplus = tail.len().saturating_sub(KEPT);
        tail.drain(..surplus);
    }
}
