//! Processes and programs that are asked like functions.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use plumb::graph::External;
use plumb::types::Type;
use plumb::value::Value;

use crate::answer;
use crate::driver::Driver;
use crate::error::{FailureReason, SetupError};
use crate::mcp::ToolAnswer;
use crate::network::Log;
use crate::report::Report;
use crate::settings::Command;

/// The maximum depth of tools that call tools.
const DEPTH: u32 = 16;

/// A tool as its program declares it.
#[derive(Clone, Debug)]
pub(crate) enum Tool {
    /// A process of the program.
    Process(Arc<str>),
    /// A tool of another program.
    Served {
        /// The program.
        by: Command,
        /// The tool's name in that program.
        name: Arc<str>,
        /// The type of its answers.
        kind: Type,
    },
}

impl Tool {
    /// The tool of a declaration, whose answers are of type `kind`.
    ///
    /// # Errors
    /// If its settings do not name a process or a program.
    pub fn new(declared: &External, kind: Type) -> Result<Self, SetupError> {
        let setting = |name: &str| {
            let mut settings = declared.settings.iter();
            let found = settings.find(|(key, _)| &**key == name);
            found.map(|(_, value)| value)
        };
        let unfit = |why: &str| SetupError::Setting {
            agent: declared.name.clone(),
            why: why.to_owned(),
        };
        if let Some(process) = setting("process").and_then(Value::as_text) {
            return Ok(Self::Process(process.into()));
        }
        let servers = setting("mcp").map(Command::all).unwrap_or_default();
        let [by] = servers.as_slice() else {
            return Err(unfit("must name exactly one program in `mcp`"));
        };
        let name = setting("name").and_then(Value::as_text);
        Ok(Self::Served {
            by: by.clone(),
            name: name.unwrap_or(&declared.name).into(),
            kind,
        })
    }

    /// Asks it.
    ///
    /// # Errors
    /// If it gives no answer, or one of another type.
    pub async fn call(
        &self,
        driver: &Driver,
        message: Value,
        log: &Log,
    ) -> Result<Value, FailureReason> {
        match self {
            Self::Process(name) => {
                process(driver.clone(), name.clone(), message, log.clone()).await
            }
            Self::Served { by, name, kind } => {
                let arguments = match &message {
                    Value::Record(..) => message.to_string(),
                    other => format!("{{\"{INPUT}\":{other}}}"),
                };
                let answered = served(driver, by, name, &arguments).await;
                let answered = answered.map_err(FailureReason::Tool)?;
                answer::of_tool(kind, &answered).map_err(|why| {
                    FailureReason::Tool(format!("the answer of `{name}` is of another type: {why}"))
                })
            }
        }
    }
}

/// The field that carries the input of a tool that does not take a record: arguments are objects.
pub(crate) const INPUT: &str = "input";

/// Asks a tool of another program. The arguments are a JSON object.
///
/// # Errors
/// The reason, as a phrase.
pub(crate) async fn served(
    driver: &Driver,
    by: &Command,
    name: &str,
    arguments: &str,
) -> Result<ToolAnswer, String> {
    let arguments = serde_json::from_str(arguments);
    let arguments = arguments.map_err(|error| format!("the arguments are not JSON: {error}"))?;
    let server = driver.server(by).await?;
    let mut server = server.lock().await;
    server.call(name, &arguments).await
}

/// Asks a process: a network of its own, which is given the one message and whose first output is the
/// answer. So a call knows nothing of the one before it.
pub(crate) fn process(
    driver: Driver,
    name: Arc<str>,
    message: Value,
    log: Log,
) -> BoxFuture<'static, Result<Value, FailureReason>> {
    Box::pin(async move {
        let failed = |why: String| FailureReason::Tool(format!("`{name}` {why}"));
        if log.depth() >= DEPTH {
            return Err(failed(format!("is called {DEPTH} tools deep")));
        }
        let network = driver.network_within(&name, &log);
        let mut network = network.map_err(|unfit| FailureReason::Tool(unfit.to_string()))?;
        if let Err(refused) = network.push(0, message) {
            return Err(failed(format!("does not take the message: {refused}")));
        }
        for port in 0..network.inputs().len() {
            network.close(u32::try_from(port).unwrap_or(u32::MAX));
        }
        let mut trouble = None;
        while let Some(report) = network.next().await {
            match report {
                Report::Output { port: 0, message } => return Ok(message),
                Report::Fault(fault) => {
                    trouble.get_or_insert_with(|| fault.to_string());
                    log.pass(Report::Fault(fault));
                }
                Report::Problem(problem) => {
                    trouble.get_or_insert_with(|| problem.to_string());
                    log.pass(Report::Problem(problem));
                }
                Report::Output { .. } | Report::Ended { .. } => {}
                other => log.pass(other),
            }
        }
        Err(match trouble {
            Some(trouble) => failed(format!("gave no answer: {trouble}")),
            None => failed("gave no answer".to_owned()),
        })
    })
}
