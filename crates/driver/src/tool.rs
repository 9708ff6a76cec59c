//! Processes and programs that are asked like functions.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use plumb::graph::External;
use plumb::value::Value;

use crate::driver::Driver;
use crate::error::{Unfit, Why};
use crate::network::Log;
use crate::report::Report;

/// How deep tools may call tools.
const DEPTH: u32 = 16;

/// A tool as its program declares it.
#[derive(Clone, Debug)]
pub(crate) enum Tool {
    /// A process of the program.
    Process(Arc<str>),
}

impl Tool {
    /// The tool of a declaration.
    ///
    /// # Errors
    /// Where its settings do not say what it runs.
    pub fn new(declared: &External) -> Result<Self, Unfit> {
        let process = declared
            .settings
            .iter()
            .find(|(key, _)| &**key == "process");
        let process = process.and_then(|(_, value)| value.as_text());
        process
            .map(|process| Self::Process(process.into()))
            .ok_or_else(|| Unfit::Setting {
                agent: declared.name.clone(),
                why: "has no `process`".to_owned(),
            })
    }

    /// Asks it.
    ///
    /// # Errors
    /// Where it gives no answer.
    pub async fn call(&self, driver: &Driver, message: Value, log: &Log) -> Result<Value, Why> {
        match self {
            Self::Process(name) => {
                process(driver.clone(), name.clone(), message, log.clone()).await
            }
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
) -> BoxFuture<'static, Result<Value, Why>> {
    Box::pin(async move {
        let failed = |why: String| Why::Tool(format!("`{name}` {why}"));
        if log.depth() >= DEPTH {
            return Err(failed(format!("is called {DEPTH} tools deep")));
        }
        let network = driver.network_within(&name, &log);
        let mut network = network.map_err(|unfit| Why::Tool(unfit.to_string()))?;
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
