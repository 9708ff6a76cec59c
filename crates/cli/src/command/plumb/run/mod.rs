//! `ebbtide plumb run`: a program on standard input and output.

mod input;
mod show;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::vec::IntoIter;

use clap::Args;
use driver::{Driver, Network, Surroundings};
use plumb::machine::Refusal;
use plumb::value::Value;

use super::modules::Folders;
use super::source;
use crate::console::Console;
use crate::environment::{accounts, clock};
use crate::failure::{Exit, Failure};
use crate::interrupt::interrupted;
use input::{Form, Lines, Malformed};
use show::{Log, Shown};

/// What `ebbtide plumb run` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo '3 4 5' | ebbtide plumb run square.plumb
  echo 'I have too many files.' | ebbtide plumb run one.plumb
  ebbtide plumb run debate.plumb --input debate.input.jsonl --log
  ebbtide plumb run two.plumb --process merged < records.jsonl > kept.jsonl

Standard input is JSON, one value a line, or several; where the process takes strings,
a line that is no JSON string is one as it stands. Standard output is JSON, one value
a line. Where the process has several inputs or outputs, each value is an object with
one field, the name of its port. Errors are JSON on standard error:
{\"error\": word, \"category\": word, \"detail\": text, \"message\": what was lost}.

The next message is read when no agent and no tool is at work on those before it;
with --ahead as soon as there is room. Files that agents name are looked for in the
folder of the program. Agents of provider anthropic and openai need a key in
ANTHROPIC_API_KEY or OPENAI_API_KEY; ANTHROPIC_BASE_URL and OPENAI_BASE_URL say
where models are called. An interrupt ends the input and lets what is under way come to
its end; a second one does not wait for it.

Exits with 1 where there was an error while it ran, with 2 where the program cannot
run.")]
pub struct RunArgs {
    /// The program
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The process to run
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub process: String,
    /// Read messages from this file instead of standard input
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Look for modules here as well, after the program's own folder
    #[arg(long, value_name = "FOLDER")]
    pub path: Vec<PathBuf>,
    /// Read messages while those before them are worked on
    #[arg(long)]
    pub ahead: bool,
    /// Let agents call their models at most so often, all together; each call beyond is an error
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Say on standard error who is asked and who answers, which commands are given and
    /// acknowledged, and what telemetry says; a JSON object a line, without messages
    #[arg(long)]
    pub log: bool,
}

/// Runs a process until its input ends or it does.
pub fn run(args: &RunArgs, console: &mut Console) -> Result<Exit, Failure> {
    let text = source::read(&args.file)?;
    let name = source::name(&args.file);
    let checked = plumb::check::check(&name, &text, &Folders::of(&args.file, &args.path));
    source::show(&checked.diagnostics, &checked.sources, console);
    if !checked.is_sound() {
        return Ok(Exit::NotUnderstood);
    }
    // Where there is no such process, this says which there are.
    source::graph(&checked, &args.file, &args.process)?;
    let form = Form::of(checked.signature(&args.process).as_ref());
    let folder = args.file.parent().unwrap_or(Path::new(""));
    let accounts = accounts();
    let surroundings = Surroundings {
        anthropic: accounts.anthropic,
        openai: accounts.openai,
        max_calls: args.max_calls,
        ..Surroundings::new(folder, clock())
    };
    let driver = Driver::new(checked, surroundings);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|source| Failure::Unreadable {
        path: args.file.clone(),
        source,
    })?;
    runtime.block_on(async {
        let network = driver.network(&args.process);
        let network = network.map_err(|unfit| Failure::refused(&unfit))?;
        let lines = Lines::open(args.input.as_deref())?;
        let log = if args.log { Log::Shown } else { Log::Silent };
        let mut running = Running {
            form,
            ahead: args.ahead,
            shown: Shown::new(&network, log),
            lines: 0,
            network,
            waiting: None,
            rest: false,
        };
        let ended = running.whole(lines, &driver, console).await?;
        console.flush()?;
        if ended == Ended::InOrder {
            driver.shutdown().await;
        }
        Ok(running.shown.exit())
    })
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Nothing was under way any more.
    InOrder,
    /// What was under way was left.
    AtOnce,
}

/// A network with its surroundings.
struct Running {
    network: Network,
    form: Form,
    ahead: bool,
    shown: Shown,
    /// How many lines were read.
    lines: u64,
    /// A message for which there was no room, with its input.
    waiting: Option<(u32, Value)>,
    /// Nothing is worked on, waited for or to be shown.
    rest: bool,
}

impl Running {
    /// Until the input has ended and all that it led to.
    async fn whole(
        &mut self,
        mut lines: Lines,
        driver: &Driver,
        console: &mut Console,
    ) -> Result<Ended, Failure> {
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
            // At rest without room there will never be any: a paused agent holds it all.
            let over = !open || self.network.ended() || self.waiting.is_some();
            if self.rest && over {
                break;
            }
            if self.rest && has_room {
                if open && let Some(line) = lines.read() {
                    messages = self.read(&line?);
                    continue;
                }
                // What was said is shown before something new is waited for.
                console.flush()?;
            }
            tokio::select! {
                biased;
                () = interrupt.as_mut() => {
                    if !open {
                        self.network.abandon();
                        console.remark("interrupted again: what was under way is left");
                        self.shown.failed = true;
                        return Ok(Ended::AtOnce);
                    }
                    console.remark("interrupted: what is under way comes to its end; interrupt again to leave it");
                    interrupt.set(interrupted());
                    (open, messages) = (false, Vec::new().into_iter());
                    self.close();
                }
                report = self.network.next(), if !self.rest => match report {
                    Some(report) => {
                        self.shown.report(report, sources, console)?;
                        self.again();
                    }
                    None => self.rest = true,
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
            self.shown.problem(&problem, console);
        }
        Ok(Ended::InOrder)
    }

    /// The messages of the next line.
    fn read(&mut self, line: &[u8]) -> IntoIter<Result<Value, Malformed>> {
        self.lines += 1;
        let mut messages = self.form.messages(line);
        for malformed in messages.iter_mut().filter_map(|one| one.as_mut().err()) {
            malformed.detail = format!("line {}: {}", self.lines, malformed.detail);
        }
        messages.into_iter()
    }

    fn close(&mut self) {
        // What there was no room for is lost with its input.
        self.waiting = None;
        for port in (0..).take(self.network.inputs().len()) {
            self.network.close(port);
        }
        self.rest = false;
    }

    /// Puts in what there was no room for before.
    fn again(&mut self) {
        if let Some((port, message)) = self.waiting.take() {
            self.push(port, message);
        }
    }

    fn put(&mut self, message: Result<Value, Malformed>, console: &mut Console) {
        let (port, message) = match message {
            Ok(message) => match self.shown.port(message) {
                Ok(found) => found,
                Err((message, detail)) => {
                    let word = "input_type_mismatch";
                    self.shown.error(word, &detail, Some(&message), console);
                    return;
                }
            },
            Err(Malformed { detail, rest }) => {
                let rest = Value::from(rest.as_str());
                let word = "malformed_input";
                self.shown.error(word, &detail, Some(&rest), console);
                return;
            }
        };
        self.push(port, message);
    }

    /// Puts a message in; where there is no room, it waits. A network that has stopped or an input that was
    /// closed takes none.
    fn push(&mut self, port: u32, message: Value) {
        self.rest = false;
        if let Err(refused) = self.network.push(port, message)
            && refused.why == Refusal::Full
        {
            self.waiting = refused.message.map(|message| (port, message));
        }
    }
}
