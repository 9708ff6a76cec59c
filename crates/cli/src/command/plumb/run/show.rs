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

/// Prints reports, and finds the input port of a message.
pub struct Printer {
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
    /// Prints control events too (`--log`).
    verbose: bool,
    /// Set by the first error; the exit status depends on it.
    pub failed: bool,
}

impl Printer {
    pub fn new(network: &Network, verbose: bool) -> Self {
        Self {
            inputs: network.inputs().to_vec(),
            outputs: network.outputs().to_vec(),
            verbose,
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
                if self.verbose {
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
                console.line(format!("{{{name}:{message}}}"))
            }
            None => console.line(message.to_string()),
        }
    }

    /// Prints a message that an agent or tool did not answer.
    pub fn problem(&mut self, problem: &Problem, console: &mut Console) {
        self.failed = true;
        console.note(problem.to_value().to_string());
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

/// One line of the log.
fn logged(at: &str, control: &Control) -> Json {
    match control {
        Control::Asked { port } => json!({"at": at, "asked": &**port}),
        Control::Answered { port } => json!({"at": at, "answered": &**port}),
        Control::Again { why } => json!({"at": at, "again": why}),
        Control::Command { name } => json!({"at": at, "command": &**name}),
        Control::Acknowledged { name } => json!({"at": at, "acknowledged": &**name}),
        Control::Called { tool } => json!({"at": at, "calls": &**tool}),
        Control::Telemetry(record) => {
            let record: Json = serde_json::from_str(&record.to_string()).unwrap_or_default();
            json!({"at": at, "telemetry": record})
        }
    }
}
