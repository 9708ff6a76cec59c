//! `ebbtide plumb run`: runs a program on standard input and output.

mod feed;
mod input;
mod show;
mod state;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;
use std::vec::IntoIter;

use clap::Args;
use driver::{COMMANDS, Driver, Network, Surroundings};
use plumb::value::Value;

use super::source;
use crate::console::Console;
use crate::environment::{account, clock};
use crate::failure::{Exit, Failure};
use crate::interrupt::{exit_after_interrupt, interrupted};
use feed::Feed;
use input::{Form, Lines, Malformed};
use show::{Lost, Printer};
use state::StateFile;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo '3 4 5' | ebbtide plumb run square.plumb
  echo 'I have too many files.' | ebbtide plumb run one.plumb
  ebbtide plumb run debate.plumb --input debate.input.jsonl --log
  ebbtide plumb run two.plumb --process merged < records.jsonl > kept.jsonl

Standard input holds JSON values, one or more per line. If the process takes \
strings, a line that is not JSON is a string itself. Standard output has one \
JSON value per line. If the process has several inputs or outputs, each value \
is an object with one field, the name of its port. Errors are JSON on standard \
error: {\"error\": word, \"category\": word, \"detail\": text, \"message\": lost \
message}.

The next message is read when every agent and tool is idle; with --ahead, as \
soon as there is room. File names in agents are relative to the program's \
folder. The providers anthropic and openai need ANTHROPIC_API_KEY or \
OPENAI_API_KEY; ANTHROPIC_BASE_URL and OPENAI_BASE_URL override the endpoints. \
Ctrl-C or SIGTERM stops the run: work in progress is abandoned, memories are \
saved, and standard error says what was lost.

With --state, agents continue with the memories of the last run: turns, pins, \
summaries, and the number of compactions. The file is created if it does not \
exist, and is readable only by you. It is replaced when all agents are idle \
between two lines of input, on Ctrl-C and SIGTERM, and at the end. A file that \
is damaged, newer than this \
version or from another program is rejected.

The end of the run says how many messages were lost. Exits with 1 if an error \
occurred during the run or messages were lost, and with 2 if the program cannot \
run. Messages that a barrier leaves over at the end are reported and not an \
error.")]
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
    /// End the run after this many commands to agents in a row, without an input, an answer or a pause
    /// between them
    #[arg(long, value_name = "N", default_value_t = COMMANDS)]
    pub max_commands: u64,
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
        max_commands: args.max_commands,
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
        // A consumer that does not read must not keep the run from ending.
        exit_after_interrupt(LONGEST_END);
        let mut running = Running {
            form,
            ahead: args.ahead,
            printer: Printer::new(&network, args.log),
            lines: 0,
            feed: Feed::new(&network),
            network,
            state,
            idle: false,
        };
        let end = running.drive(lines, &driver, console).await;
        running.save()?;
        let end = end?;
        running.account(end, console);
        console.flush()?;
        let (printer, network) = (running.printer, running.network);
        // It holds the programs that serve tools which are in use.
        drop(network);
        match end {
            End::Finished => driver.shutdown().await,
            End::Interrupted { .. } => driver.shutdown_within(GRACE).await,
        }
        Ok(printer.exit())
    })
}

/// The longest time from an interrupt to the end of the process.
const LONGEST_END: Duration = Duration::from_millis(750);

/// The time that programs that serve tools get to exit after an interrupt.
const GRACE: Duration = Duration::from_millis(500);

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// All work is done.
    Finished,
    /// An interrupt stopped the work in progress.
    Interrupted {
        /// The messages that agents and tools have not answered, and those on their way.
        unfinished: usize,
    },
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
    feed: Feed,
    /// The network has no work in progress and no report to print.
    idle: bool,
}

/// The events between two looks at signals. A network that always has a report never waits for anything else.
const EVENTS: u32 = 64;

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
        for event in (0..EVENTS).cycle() {
            if event == 0 {
                tokio::task::yield_now().await;
            }
            let has_room = !self.feed.is_full() && (self.ahead || !self.network.is_busy());
            if has_room && let Some(message) = messages.next() {
                self.put(message, console);
                continue;
            }
            if self.idle && self.is_over(open) {
                self.feed.cut |= open;
                if self.is_done(open) {
                    break;
                }
                open = false;
                continue;
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
                    let unread = messages.len() + lines.drain();
                    return Ok(self.interrupted(unread, console));
                }
                report = self.network.next(), if !self.idle => match report {
                    Some(report) => {
                        self.printer.report(report, sources, console)?;
                        self.feed.drain(&mut self.network);
                    }
                    None => self.idle = true,
                },
                line = lines.next(), if open && has_room => match line {
                    Some(line) => messages = self.read(&line?),
                    None => {
                        open = false;
                        self.idle = false;
                    }
                },
            }
            if !open && messages.len() == 0 && self.feed.close(&mut self.network) {
                self.idle = false;
            }
        }
        for problem in self.network.stuck() {
            self.printer.problem(&problem, console);
        }
        Ok(End::Finished)
    }

    /// Returns true if an idle network gets no more input.
    fn is_over(&self, open: bool) -> bool {
        !open || self.network.ended() || self.feed.is_full()
    }

    /// Returns true if an idle network has nothing left to do. Messages for which there is no room are given
    /// up, since nothing can make room for them any more.
    fn is_done(&mut self, open: bool) -> bool {
        if self.feed.drain(&mut self.network) {
            self.idle = false;
            return false;
        }
        let waited = !self.feed.is_empty();
        self.feed.give_up();
        if self.network.ended() || !(waited || open) {
            return true;
        }
        let closed = self.feed.close(&mut self.network);
        self.idle = !closed;
        !closed
    }

    /// Stops the work in progress.
    fn interrupted(&mut self, unread: usize, console: &mut Console) -> End {
        let (waiting, asked) = self.network.under_way();
        self.network.abandon();
        self.feed.give_up();
        self.feed.discarded += unread as u64;
        console.note("Stopped.");
        End::Interrupted {
            unfinished: waiting + asked,
        }
    }

    /// Says what was lost.
    fn account(&mut self, end: End, console: &mut Console) {
        let counters = self.network.counters();
        for (fault, count) in self.network.left_over() {
            self.printer.left_over(&fault, count, console);
        }
        let abandoned = match end {
            End::Finished => 0,
            End::Interrupted { unfinished } => unfinished as u64,
        };
        self.printer.parted(counters.parted, console);
        self.printer.lost(Lost::Abandoned, abandoned, console);
        let input = match self.feed.cut {
            true => Lost::InputCut,
            false => Lost::Input,
        };
        self.printer.lost(input, self.feed.discarded, console);
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

    /// Puts a message into an input.
    fn push(&mut self, port: u32, message: Value) {
        self.idle = false;
        self.feed.put(&mut self.network, port, message);
    }
}
