//! A program that serves tools, started again if it has ended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;

use super::{Server, ToolAnswer};
use crate::network::Log;
use crate::report::Control;
use crate::settings::{Command, Waits};

/// The pause before the first restart; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause before a restart.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A program that serves tools. It starts when it is first asked.
#[derive(Debug)]
pub(crate) struct Supervised {
    command: Command,
    folder: PathBuf,
    server: Option<Server>,
    /// A start that is under way.
    starting: JoinSet<Result<Server, String>>,
    /// True if it has been started, or should have been.
    started: bool,
    /// The number of restarts since it last answered.
    restarts: u32,
    /// Why it was last missing.
    last: String,
}

impl Supervised {
    /// A program that has not been started.
    pub fn new(command: &Command, folder: &Path) -> Self {
        Self {
            command: command.clone(),
            folder: folder.to_owned(),
            server: None,
            starting: JoinSet::new(),
            started: false,
            restarts: 0,
            last: String::new(),
        }
    }

    /// The program, started if it does not run.
    ///
    /// # Errors
    /// If it does not start, or has been started again too often, as a phrase.
    pub async fn ready(&mut self, most: u32, log: &Log) -> Result<&mut Server, String> {
        let alive = self.server.as_mut().is_some_and(Server::is_alive);
        if !alive {
            self.server = None;
            match self.started(most, log).await {
                Ok(server) => self.server = Some(server),
                Err(why) => {
                    self.last.clone_from(&why);
                    return Err(why);
                }
            }
        }
        let missing = || format!("`{}` does not run", self.command.program);
        self.server.as_mut().ok_or_else(missing)
    }

    /// The program after a start, or after the one that is under way: a start may take longer than a call may.
    async fn started(&mut self, most: u32, log: &Log) -> Result<Server, String> {
        if self.starting.is_empty() {
            if std::mem::replace(&mut self.started, true) {
                self.pause(most, log).await?;
            }
            let (command, folder) = (self.command.clone(), self.folder.clone());
            self.starting
                .spawn(async move { Server::start(&command, &folder).await });
        }
        match self.starting.join_next().await {
            Some(Ok(started)) => started,
            _ => Err(format!("`{}` does not start", self.command.program)),
        }
    }

    /// Waits before a restart, and tells of it.
    async fn pause(&mut self, most: u32, log: &Log) -> Result<(), String> {
        if self.restarts >= most {
            return Err(match most {
                0 => self.last.clone(),
                _ => format!("{}; it has been started again {most} times", self.last),
            });
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << self.restarts.min(16));
        self.restarts += 1;
        log.tell(Control::Restarted {
            program: self.command.program.as_str().into(),
            attempt: self.restarts,
            most,
        });
        tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
        Ok(())
    }

    /// Calls a tool. A call during which the program ends is not repeated: it may have done its work.
    ///
    /// # Errors
    /// The reason, as a phrase; the tool's own error message verbatim.
    pub async fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        (waits, log): (Waits, &Log),
    ) -> Result<ToolAnswer, String> {
        let server = self.ready(waits.restarts, log).await?;
        let answer = server.call(tool, arguments, waits.timeout).await;
        if server.is_alive() {
            self.restarts = 0;
        } else if let Err(why) = &answer {
            self.last.clone_from(why);
        }
        answer
    }

    /// Ends the program: closes its input, and kills it if it does not exit in time.
    pub async fn shutdown(self, grace: Duration) {
        if let Some(server) = self.server {
            server.shutdown(grace).await;
        }
    }
}
