//! Processes and programs that are asked like functions.

use std::sync::Arc;
use std::time::Duration;

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
use crate::settings::{Command, Waits};

/// The maximum depth of tools that call tools.
const DEPTH: u32 = 16;

/// A tool as its program declares it.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    serves: Serves,
    waits: Waits,
}

/// The part that answers for a tool.
#[derive(Clone, Debug)]
enum Serves {
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
        let waits = Waits::of(declared);
        let unfit = |why: &str| SetupError::Setting {
            agent: declared.name.clone(),
            why: why.to_owned(),
        };
        if let Some(process) = setting("process").and_then(Value::as_text) {
            return Ok(Self {
                serves: Serves::Process(process.into()),
                waits,
            });
        }
        let servers = setting("mcp").map(Command::all).unwrap_or_default();
        let [by] = servers.as_slice() else {
            return Err(unfit("must name exactly one program in `mcp`"));
        };
        let name = setting("name").and_then(Value::as_text);
        let serves = Serves::Served {
            by: by.clone(),
            name: name.unwrap_or(&declared.name).into(),
            kind: answer::of_itself(kind),
        };
        Ok(Self { serves, waits })
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
        match &self.serves {
            Serves::Process(name) => {
                let answer = process(driver.clone(), name.clone(), message, log.clone());
                let Some(limit) = self.waits.timeout else {
                    return answer.await;
                };
                let answer = tokio::time::timeout(limit, answer).await;
                answer.unwrap_or(Err(FailureReason::TimedOut { limit }))
            }
            Serves::Served { by, name, kind } => {
                let arguments = match &message {
                    Value::Record(..) => message.to_string(),
                    other => format!("{{\"{INPUT}\":{other}}}"),
                };
                let waits = self.waits;
                let call = Call { driver, log, waits };
                let answered = call.served(by, name, &arguments).await;
                let answered = answered.map_err(|why| match waits.timeout {
                    Some(limit) if why == TIMED_OUT => FailureReason::TimedOut { limit },
                    _ => FailureReason::Tool(why),
                })?;
                answer::of_tool(kind, &answered).map_err(|why| {
                    FailureReason::Tool(format!("the answer of `{name}` is of another type: {why}"))
                })
            }
        }
    }
}

/// The time that a program has after the limit of its call.
const SLACK: Duration = Duration::from_secs(1);

/// Says that a tool did not answer in time.
const TIMED_OUT: &str = "it did not answer in time";

/// The field that carries the input of a tool that does not take a record: arguments are objects.
pub(crate) const INPUT: &str = "input";

/// A call of a tool, with its surroundings.
pub(crate) struct Call<'a> {
    pub driver: &'a Driver,
    pub log: &'a Log,
    pub waits: Waits,
}

impl Call<'_> {
    /// Asks a tool of another program. The arguments are a JSON object.
    ///
    /// # Errors
    /// The reason, as a phrase.
    pub async fn served(
        &self,
        by: &Command,
        name: &str,
        arguments: &str,
    ) -> Result<ToolAnswer, String> {
        let arguments = serde_json::from_str(arguments);
        let arguments =
            arguments.map_err(|error| format!("the arguments are not JSON: {error}"))?;
        let server = self.driver.server(by);
        // The limit here also covers the start, and is the one whose error says that time ran out.
        let waits = Waits {
            timeout: self.waits.timeout.map(|limit| limit.saturating_add(SLACK)),
            ..self.waits
        };
        let call = async {
            let mut server = server.lock().await;
            server.call(name, &arguments, (waits, self.log)).await
        };
        match self.waits.timeout {
            Some(limit) => {
                let answer = tokio::time::timeout(limit, call).await;
                answer.unwrap_or_else(|_| Err(TIMED_OUT.to_owned()))
            }
            None => call.await,
        }
    }
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
        let mut troubles = Vec::new();
        while let Some(report) = network.next().await {
            match report {
                Report::Output { port: 0, message } => {
                    // They cost something else than the answer.
                    troubles.into_iter().for_each(|trouble| log.pass(trouble));
                    return Ok(message);
                }
                Report::Fault(_) | Report::Problem(_) => troubles.push(report),
                Report::Output { .. } | Report::Ended { .. } => {}
                other => log.pass(other),
            }
        }
        // The first is the reason of this failure, which the caller reports.
        let mut troubles = troubles.into_iter();
        let first = troubles.next();
        troubles.for_each(|trouble| log.pass(trouble));
        Err(match first {
            Some(Report::Fault(fault)) => failed(format!("gave no answer: {fault}")),
            Some(Report::Problem(problem)) => failed(format!("gave no answer: {problem}")),
            _ => failed("gave no answer".to_owned()),
        })
    })
}
