//! `ebbtide plumb run`: runs a program on standard input and output.

mod input;
mod show;
mod state;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::vec::IntoIter;

use clap::Args;
use driver::{Driver, Network, Surroundings};
use plumb::machine::Refusal;
use plumb::value::Value;

use super::source;
use crate::console::Console;
use crate::environment::{account, clock};
use crate::failure::{Exit, Failure};
use crate::interrupt::interrupted;
use input::{Form, Lines, Malformed};
use show::Printer;
use state::StateFile;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo '3 4 5' | ebbtide plumb run square.plumb
  echo 'I have too many files.' | ebbtide plumb run one.plumb
  ebbtide plumb run debate.plumb --input debate.input.jsonl --log
  ebbtide plumb run two.plumb --process merged < records.jsonl > kept.jsonl

Standard input holds JSON values, one or more per line. If the process takes
strings, a line that is not JSON is a string itself. Standard output has one
JSON value per line. If the process has several inputs or outputs, each value
is an object with one field, the name of its port. Errors are JSON on standard
error: {\"error\": word, \"category\": word, \"detail\": text, \"message\": lost
message}.

The next message is read when every agent and tool is idle; with --ahead, as
soon as there is room. File names in agents are relative to the program's
folder. The providers anthropic and openai need ANTHROPIC_API_KEY or
OPENAI_API_KEY; ANTHROPIC_BASE_URL and OPENAI_BASE_URL override the endpoints.
Ctrl-C closes the input and lets running work finish; a second Ctrl-C stops
immediately.

With --state, agents continue with the memories of the last run: turns, pins,
summaries, and the number of compactions. The file is created if it does not
exist, and is readable only by you. It is replaced when all agents are idle
between two lines of input, on Ctrl-C and SIGTERM, and at the end. A file that is damaged, newer than this
version or from another program is rejected.

Exits with 1 if an error occurred during the run, and with 2 if the program
cannot run.")]
pub struct RunArgs {
    /// Program to run
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Process to run
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub process: String,
    /// Read messages from this file instead of standard input
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Also look for modules in this folder, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
    /// Read messages while earlier ones are in progress
    #[arg(long)]
    pub ahead: bool,
    /// Limit the model calls of all agents together; each call beyond the limit is an error
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Keep the memories of agents in this file from run to run
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Log requests, answers, commands and telemetry of agents to standard error, one JSON object per
    /// line, without message text
    #[arg(long)]
    pub log: bool,
}

pub fn run(args: &RunArgs, console: &mut Console) -> Result<Exit, Failure> {
    let Some(checked) = source::load(&args.file, &args.path, console)? else {
        return Ok(Exit::Invalid);
    };
    // Fails, with the list of processes, if there is no such process.
    source::graph(&checked, &args.file, &args.process)?;
    let form = Form::of(checked.signature(&args.process).as_ref());
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let surroundings = Surroundings {
        anthropic: account("ANTHROPIC"),
        openai: account("OPENAI"),
        max_calls: args.max_calls,
        ..Surroundings::new(folder, clock())
    };
    let driver = Driver::new(checked, surroundings);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().map_err(Failure::NoRuntime)?;
    runtime.block_on(async {
        let network = driver.network(&args.process);
        let mut network = network.map_err(|unfit| Failure::of(&unfit))?;
        let state = args.state.as_deref();
        let state = state.map(|path| StateFile::open(path, &mut network));
        let state = state.transpose()?;
        let lines = Lines::open(args.input.as_deref())?;
        let mut running = Running {
            form,
            ahead: args.ahead,
            printer: Printer::new(&network, args.log),
            lines: 0,
            network,
            state,
            waiting: None,
            idle: false,
        };
        let end = running.drive(lines, &driver, console).await;
        running.save()?;
        let end = end?;
        console.flush()?;
        if end == End::Finished {
            driver.shutdown().await;
        }
        Ok(running.printer.exit())
    })
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// All work is done.
    Finished,
    /// A second interrupt stopped the work in progress.
    Aborted,
}

/// A running network with its input and output.
struct Running {
    network: Network,
    state: Option<StateFile>,
    form: Form,
    ahead: bool,
    printer: Printer,
    /// Lines read so far, for error messages.
    lines: u64,
    /// A message that an input had no room for, with its port.
    waiting: Option<(u32, Value)>,
    /// The network has no work in progress and no report to print.
    idle: bool,
}

impl Running {
    /// Runs until the input has ended and all work that it caused is done.
    async fn drive(
        &mut self,
        mut lines: Lines,
        driver: &Driver,
        console: &mut Console,
    ) -> Result<End, Failure> {
        let sources = &driver.checked().sources;
        let mut interrupt = pin!(interrupted());
        let mut messages = Vec::new().into_iter();
        let mut open = true;
        loop {
            let has_room = self.waiting.is_none() && (self.ahead || !self.network.is_busy());
            if has_room && let Some(message) = messages.next() {
                self.put(message, console);
                continue;
            }
            // An idle network without room stays that way: a paused agent blocks it.
            let over = !open || self.network.ended() || self.waiting.is_some();
            if self.idle && over {
                break;
            }
            if self.idle && has_room {
                // Waiting for more input or not: what was said until now survives a crash.
                self.save()?;
                if open && let Some(line) = lines.read() {
                    messages = self.read(&line?);
                    continue;
                }
                // Output appears before the program waits for input.
                console.flush()?;
            }
            tokio::select! {
                biased;
                () = interrupt.as_mut() => {
                    if !open {
                        self.network.abandon();
                        console.note("Stopped. Work in progress was abandoned.");
                        self.printer.failed = true;
                        return Ok(End::Aborted);
                    }
                    console.note("Finishing work in progress. Press Ctrl-C again to stop immediately.");
                    interrupt.set(interrupted());
                    self.save()?;
                    (open, messages) = (false, Vec::new().into_iter());
                    self.close();
                }
                report = self.network.next(), if !self.idle => match report {
                    Some(report) => {
                        self.printer.report(report, sources, console)?;
                        if let Some((port, message)) = self.waiting.take() {
                            self.push(port, message);
                        }
                    }
                    None => self.idle = true,
                },
                line = lines.next(), if open && has_room => match line {
                    Some(line) => messages = self.read(&line?),
                    None => {
                        open = false;
                        self.close();
                    }
                },
            }
        }
        for problem in self.network.stuck() {
            self.printer.problem(&problem, console);
        }
        Ok(End::Finished)
    }

    /// Writes the memories of the agents to the state file, if there is one.
    fn save(&mut self) -> Result<(), Failure> {
        let state = self.state.as_mut();
        state.map_or(Ok(()), |state| state.save(&self.network))
    }

    /// Parses the messages of a line.
    fn read(&mut self, line: &[u8]) -> IntoIter<Result<Value, Malformed>> {
        self.lines += 1;
        let mut messages = self.form.messages(line);
        for malformed in messages.iter_mut().filter_map(|one| one.as_mut().err()) {
            malformed.detail = format!("line {}: {}", self.lines, malformed.detail);
        }
        messages.into_iter()
    }

    fn close(&mut self) {
        // The waiting message is lost with its input.
        self.waiting = None;
        for port in (0..).take(self.network.inputs().len()) {
            self.network.close(port);
        }
        self.idle = false;
    }

    fn put(&mut self, message: Result<Value, Malformed>, console: &mut Console) {
        let (port, message) = match message {
            Ok(message) => match self.printer.port(message) {
                Ok(found) => found,
                Err((message, detail)) => {
                    let word = "input_type_mismatch";
                    self.printer.error(word, &detail, &message, console);
                    return;
                }
            },
            Err(Malformed { detail, rest }) => {
                let rest = Value::from(rest.as_str());
                let word = "malformed_input";
                self.printer.error(word, &detail, &rest, console);
                return;
            }
        };
        self.push(port, message);
    }

    /// Pushes a message, or keeps it waiting if the input is full. A stopped network or a closed input
    /// drops it.
    fn push(&mut self, port: u32, message: Value) {
        self.idle = false;
        if let Err(refused) = self.network.push(port, message)
            && refused.why == Refusal::Full
        {
            self.waiting = refused.message.map(|message| (port, message));
        }
    }
}
