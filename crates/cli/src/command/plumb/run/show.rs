//! What a network reports, on standard output and standard error.

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

/// Whether the log is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// It is.
    Shown,
    /// Errors only.
    Silent,
}

/// How things are shown.
pub struct Shown {
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
    log: Log,
    /// Whether anything went wrong.
    pub failed: bool,
}

impl Shown {
    /// For this network.
    pub fn new(network: &Network, log: Log) -> Self {
        Self {
            inputs: network.inputs().to_vec(),
            outputs: network.outputs().to_vec(),
            log,
            failed: false,
        }
    }

    /// What the program exits with.
    pub const fn exit(&self) -> Exit {
        if self.failed {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    /// The input that a value goes to, and the message; the value where it names none, and why not.
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
            let detail = format!("expected an object with one field, one of `{names}`");
            (value, detail)
        })
    }

    /// Shows a report.
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
                console.remark(fault.to_value().to_string());
                show_where(&fault, sources, console);
            }
            Report::Warning(fault) => console.remark(fault.to_value().to_string()),
            Report::Problem(problem) => self.problem(&problem, console),
            Report::Control { at, control } => {
                if self.log == Log::Shown {
                    console.remark(logged(&at, &control).to_string());
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

    /// Shows a message that was not answered.
    pub fn problem(&mut self, problem: &Problem, console: &mut Console) {
        self.failed = true;
        console.remark(problem.to_value().to_string());
    }

    /// Shows what is wrong with the input.
    pub fn error(
        &mut self,
        word: &str,
        detail: &str,
        message: Option<&Value>,
        console: &mut Console,
    ) {
        self.failed = true;
        console.remark(error_value(word, Category::Invalid, detail, message).to_string());
    }
}

/// The lines of the program that a fault is about, where it is the program's own and not that of a message.
fn show_where(fault: &Fault, sources: &Sources, console: &mut Console) {
    if matches!(fault.kind, FaultKind::Fuel | FaultKind::Deadlock) {
        let diagnostic = Diagnostic::error(fault.kind.code(), fault.span, fault.to_string());
        source::show(&[diagnostic], sources, console);
    }
}

/// A line of the log.
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
