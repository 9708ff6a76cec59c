//! The Model Context Protocol over standard input and output, as far as tools need it: start a program, ask
//! which tools it serves, call them.
//!
//! Messages are JSON-RPC 2.0, one a line. Requests go one after the other. Requests of the program are refused,
//! except `ping`; its notifications are ignored. The end of its standard error is kept for the message about its
//! exit.

mod stderr;
mod supervised;
mod wire;

use std::io::ErrorKind;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::settings::Command;
use stderr::StderrTail;
pub(crate) use supervised::Supervised;
use wire::Incoming;

/// The version of the protocol that is asked for; a server answers with one that it speaks.
const VERSION: &str = "2025-06-18";

/// The timeout for an answer.
const PATIENCE: Duration = Duration::from_mins(2);

/// The longest message that is read, in bytes.
const LONGEST: usize = 16 << 20;

/// The maximum number of pages of tools.
const PAGES: usize = 64;

/// Why a request has no answer.
enum NoReply {
    /// The program has exited.
    Ended,
    /// Something else, as a phrase.
    Because(String),
}

impl From<String> for NoReply {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

/// A tool as a server lists it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedTool {
    pub name: String,
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolAnswer {
    /// The texts, one a line; other content as its type in brackets.
    pub text: String,
    /// The answer as a value, where the tool gives one.
    pub value: Option<Value>,
}

/// A program that serves tools, running.
#[derive(Debug)]
pub(crate) struct Server {
    name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The part of the current line that has been read.
    line: Vec<u8>,
    /// True while the rest of a line that is too long is skipped.
    skips: bool,
    /// The number of the last request.
    last: u64,
    /// True if a write was canceled in the middle of a message. The connection is unusable then.
    torn: bool,
    /// True if it has been seen to have ended.
    gone: bool,
    tools: Vec<ListedTool>,
    stderr: StderrTail,
}

impl Server {
    /// Starts a program in a folder, and asks which tools it serves.
    ///
    /// # Errors
    /// The reason, as a phrase.
    pub async fn start(command: &Command, folder: &Path) -> Result<Self, String> {
        let name = command.program.clone();
        let mut program = tokio::process::Command::new(&command.program);
        program
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if !folder.as_os_str().is_empty() {
            program.current_dir(folder);
        }
        let mut child = program
            .spawn()
            .map_err(|error| format!("`{name}` does not start: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("cannot connect to `{name}`"));
        };
        let stderr = StderrTail::of(child.stderr.take());
        let mut server = Self {
            name,
            stderr,
            child,
            input,
            output: BufReader::new(output),
            line: Vec::new(),
            skips: false,
            last: 0,
            torn: false,
            gone: false,
            tools: Vec::new(),
        };
        server.initialise().await?;
        server.tools = server.list().await?;
        Ok(server)
    }

    /// The tools that it serves.
    pub fn tools(&self) -> &[ListedTool] {
        &self.tools
    }

    /// Returns true if it can still be asked.
    pub fn is_alive(&mut self) -> bool {
        !self.gone && !self.torn && matches!(self.child.try_wait(), Ok(None))
    }

    /// Calls a tool, and waits so long.
    ///
    /// # Errors
    /// The reason, as a phrase; the tool's own error message verbatim.
    pub async fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        patience: Option<Duration>,
    ) -> Result<ToolAnswer, String> {
        let parameters = json!({"name": tool, "arguments": arguments});
        let patience = patience.unwrap_or(PATIENCE);
        let result = self.ask_within("tools/call", &parameters, patience).await?;
        let answered = wire::answered(&result);
        match result.get("isError") {
            Some(Value::Bool(true)) => Err(answered.text),
            _ => Ok(answered),
        }
    }

    /// Ends the program: closes its input, and kills it if it does not exit.
    pub async fn shutdown(mut self, grace: Duration) {
        drop(self.input);
        if timeout(grace, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }

    async fn initialise(&mut self) -> Result<(), String> {
        let parameters = json!({
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "ebbtide", "version": env!("CARGO_PKG_VERSION")},
        });
        self.ask("initialize", &parameters).await?;
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        match self.tell(&told).await {
            Ok(()) => Ok(()),
            Err(silent) => Err(self.told(silent).await),
        }
    }

    async fn list(&mut self) -> Result<Vec<ListedTool>, String> {
        let mut tools = Vec::new();
        let mut parameters = json!({});
        for _ in 0..PAGES {
            let page = self.ask("tools/list", &parameters).await?;
            tools.extend(wire::listed(&page));
            match page.get("nextCursor") {
                Some(Value::String(cursor)) => parameters = json!({"cursor": cursor}),
                _ => break,
            }
        }
        Ok(tools)
    }

    async fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value, String> {
        self.ask_within(method, parameters, PATIENCE).await
    }

    async fn ask_within(
        &mut self,
        method: &str,
        parameters: &Value,
        patience: Duration,
    ) -> Result<Value, String> {
        self.last += 1;
        let id = self.last;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters});
        let answer = async {
            self.tell(&request).await?;
            loop {
                match Incoming::read(&self.read().await?) {
                    Incoming::Result { of, result } if of == id => return Ok(result),
                    Incoming::Error { of, message } if of == id => return Err(message.into()),
                    Incoming::Request { answer } => self.tell(&answer).await?,
                    // Answers to requests that timed out, and notifications.
                    _ => {}
                }
            }
        };
        let answer = timeout(patience, answer).await;
        let late = || NoReply::Because(format!("no answer within {patience:?}"));
        match answer.unwrap_or_else(|_| Err(late())) {
            Ok(answer) => Ok(answer),
            Err(silent) => Err(self.told(silent).await),
        }
    }

    /// The reason for a missing answer, as a phrase.
    async fn told(&mut self, silent: NoReply) -> String {
        let why = match silent {
            NoReply::Ended => {
                self.gone = true;
                self.stderr.ended(&mut self.child).await
            }
            NoReply::Because(why) => why,
        };
        format!("`{}`: {why}", self.name)
    }

    async fn tell(&mut self, message: &Value) -> Result<(), NoReply> {
        if std::mem::replace(&mut self.torn, true) {
            return Err("a message to it was interrupted".to_owned().into());
        }
        let line = format!("{message}\n");
        let mut written = self.input.write_all(line.as_bytes()).await;
        if written.is_ok() {
            written = self.input.flush().await;
        }
        // A program that has gone takes nothing more, and says so each time.
        self.torn = false;
        written.map_err(|error| match error.kind() {
            // It ended before it was asked: the same as if it ended instead of an answer.
            ErrorKind::BrokenPipe => NoReply::Ended,
            _ => NoReply::Because(format!("the connection broke: {error}")),
        })
    }

    /// Reads the next line. Canceling it keeps the part that has been read.
    async fn read(&mut self) -> Result<Vec<u8>, NoReply> {
        loop {
            let piece = self.output.fill_buf().await;
            let piece = piece.map_err(|error| format!("the connection broke: {error}"))?;
            if piece.is_empty() {
                return Err(NoReply::Ended);
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let (taken, used) = match end {
                Some(end) => (piece.get(..end).unwrap_or_default(), end + 1),
                None => (piece, piece.len()),
            };
            self.line.extend_from_slice(taken);
            self.output.consume(used);
            if self.skips || self.line.len() > LONGEST {
                self.line = Vec::new();
                self.skips = end.is_none();
                if end.is_some() {
                    let why = format!("its message has more than {LONGEST} bytes");
                    return Err(NoReply::Because(why));
                }
            } else if end.is_some() {
                return Ok(std::mem::take(&mut self.line));
            }
        }
    }
}
