//! Prints the reports of a running network: messages to standard output, the rest to standard error.

use std::sync::Arc;

use driver::{Control, Network, Problem, Report};
use plumb::diagnostic::Diagnostic;
use plumb::machine::{Category, Fault, FaultKind, error_value};
use plumb::source::Sources;
use plumb::value::Value;
use serde_json::{Value as Json, json};

use crate::command::plumb::source;
use crate::console::Console;
use crate::failure::{Exit, Failure};

/// The messages that were lost at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Messages of the input that the network did not take.
    Input,
    /// The same, where the rest of the input was not read.
    InputCut,
    /// Messages that an interrupt kept from being answered or from arriving.
    Abandoned,
}

/// Prints reports, and finds the input port of a message.
pub struct Printer {
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
    /// Prints control events too (`--log`).
    verbose: bool,
    /// The failures that the program does not handle.
    unanswered: u64,
    /// Set by the first error; the exit status depends on it.
    pub failed: bool,
}

impl Printer {
    pub fn new(network: &Network, verbose: bool) -> Self {
        Self {
            inputs: network.inputs().to_vec(),
            outputs: network.outputs().to_vec(),
            verbose,
            unanswered: 0,
            failed: false,
        }
    }

    pub const fn exit(&self) -> Exit {
        if self.failed {
            Exit::Failed
        } else {
            Exit::Success
        }
    }

    /// Returns the input port and the message for it. If the value names no port, returns the value and
    /// the reason.
    pub fn port(&self, value: Value) -> Result<(u32, Value), (Value, String)> {
        if self.inputs.len() <= 1 {
            return Ok((0, value));
        }
        let named = match value.fields() {
            Some([(name, message)]) => {
                let port = (0..).zip(&self.inputs).find(|(_, input)| *input == name);
                port.map(|(port, _)| (port, message.clone()))
            }
            _ => None,
        };
        named.ok_or_else(|| {
            let names = self.inputs.join("`, `");
            let detail = format!("expected an object with one of the fields `{names}`");
            (value, detail)
        })
    }

    pub fn report(
        &mut self,
        report: Report,
        sources: &Sources,
        console: &mut Console,
    ) -> Result<(), Failure> {
        match report {
            Report::Output { port, message } => self.output(port, &message, console)?,
            Report::Ended { .. } => {}
            Report::Fault(fault) => {
                self.failed = true;
                console.note(fault.to_value().to_string());
                show_source(&fault, sources, console);
            }
            Report::Warning(fault) => console.note(fault.to_value().to_string()),
            Report::Problem(problem) => self.problem(&problem, console),
            Report::Control { at, control } => {
                if let Control::Restarted { .. } = control {
                    console.note(restarted(&at, &control).to_string());
                } else if self.verbose {
                    console.note(logged(&at, &control).to_string());
                }
            }
        }
        Ok(())
    }

    fn output(&self, port: u32, message: &Value, console: &mut Console) -> Result<(), Failure> {
        let name = self.outputs.get(port as usize);
        match name.filter(|_| self.outputs.len() > 1) {
            Some(name) => {
                let name = Value::Text(name.clone());
                console.record(format!("{{{name}:{message}}}"))
            }
            None => console.record(message.to_string()),
        }
    }

    /// Prints a message that an agent or tool did not answer.
    pub fn problem(&mut self, problem: &Problem, console: &mut Console) {
        self.failed = true;
        self.unanswered += u64::from(problem.message.is_some());
        console.note(problem.to_value().to_string());
    }

    /// Prints what a barrier left over at the end, which is no error.
    pub fn left_over(&self, fault: &Fault, count: u64, console: &mut Console) {
        console.note(summary(fault.kind, &fault.to_string(), count));
    }

    /// Prints how many messages were dropped together with failed ones, and how many failed.
    pub fn parted(&self, count: u64, console: &mut Console) {
        if self.unanswered > 0 {
            let detail = counted(self.unanswered, "was not answered", "were not answered");
            console.note(summary(FaultKind::Unanswered, &detail, self.unanswered));
        }
        if count > 0 {
            let were = "dropped, since what it belongs to had failed";
            let detail = counted(count, &format!("was {were}"), &format!("were {were}"));
            console.note(summary(FaultKind::Parted, &detail, count));
        }
    }

    /// Prints how many messages were lost.
    pub fn lost(&mut self, what: Lost, count: u64, console: &mut Console) {
        if count == 0 {
            return;
        }
        self.failed = true;
        let (word, detail) = match what {
            Lost::Input | Lost::InputCut => {
                let were = counted(
                    count,
                    "of the input was discarded",
                    "of the input were discarded",
                );
                let cut = ", and the rest was not read";
                let rest = if what == Lost::InputCut { cut } else { "" };
                ("input_discarded", were + rest)
            }
            Lost::Abandoned => (
                "abandoned",
                counted(count, "was abandoned", "were abandoned"),
            ),
        };
        let category = Category::Unavailable.word();
        let line = json!({
            "error": word, "code": REFUSED, "category": category, "detail": detail, "count": count,
        });
        console.note(line.to_string());
    }

    /// Prints an error in the input.
    pub fn error(&mut self, word: &str, detail: &str, message: &Value, console: &mut Console) {
        self.failed = true;
        console.note(error_value(word, Category::Invalid, detail, Some(message)).to_string());
    }
}

/// Shows the source lines of a fault that the program causes, not a single message.
fn show_source(fault: &Fault, sources: &Sources, console: &mut Console) {
    if matches!(fault.kind, FaultKind::Fuel | FaultKind::Deadlock) {
        let diagnostic = Diagnostic::error(fault.kind.code(), fault.span, fault.to_string());
        source::show(&[diagnostic], sources, console);
    }
}

/// The code of messages that the machine did not take.
const REFUSED: &str = "P0812";

/// `1 message was …`, `2 messages were …`.
fn counted(count: u64, one: &str, several: &str) -> String {
    match count {
        1 => format!("1 message {one}"),
        count => format!("{count} messages {several}"),
    }
}

/// A line about the whole run.
fn summary(kind: FaultKind, detail: &str, count: u64) -> String {
    let (word, category) = (kind.word(), kind.category().word());
    let code = kind.code().0;
    let line = json!({
        "error": word, "code": code, "category": category, "detail": detail, "count": count,
    });
    line.to_string()
}

/// A program that serves tools was started again.
fn restarted(at: &str, control: &Control) -> Json {
    let Control::Restarted {
        program,
        attempt,
        most,
    } = control
    else {
        return Json::Null;
    };
    let detail = format!("{at}: `{program}` had ended; starting it again ({attempt} of {most})");
    let category = Category::Unavailable.word();
    json!({"error": "server_restarted", "category": category, "detail": detail})
}

/// One line of the log.
fn logged(at: &str, control: &Control) -> Json {
    match control {
        Control::Asked { port } => json!({"at": at, "asked": &**port}),
        Control::Answered { port } => json!({"at": at, "answered": &**port}),
        Control::Again { why } => json!({"at": at, "again": why}),
        Control::Command { name } => json!({"at": at, "command": &**name}),
        Control::Acknowledged { name } => json!({"at": at, "acknowledged": &**name}),
        Control::Called { tool } => json!({"at": at, "calls": &**tool}),
        Control::Failed { code } => json!({"at": at, "failed": &**code}),
        Control::Restarted { .. } => restarted(at, control),
        Control::Telemetry(record) => {
            let record: Json = serde_json::from_str(&record.to_string()).unwrap_or_default();
            json!({"at": at, "telemetry": record})
        }
    }
}
