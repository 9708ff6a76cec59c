//! The tools of an agent.

use std::sync::Arc;

use plumb::machine::mismatch;
use plumb::types::{Field, Type};
use plumb::value::Value;

use super::Agent;
use crate::driver::Driver;
use crate::error::{FailureReason, SetupError};
use crate::memory::shown;
use crate::provider::ToolDescription;
use crate::schema::schema;
use crate::settings::{Command, Waits};
use crate::tool::{self, Call, INPUT};

/// Something an agent can call.
#[derive(Clone, Debug)]
pub(crate) enum Offered {
    /// A process of the program.
    Process {
        name: Arc<str>,
        /// The type of its input.
        takes: Type,
    },
    /// A tool of another program.
    Served {
        /// The program.
        by: Command,
        /// The tool's name in that program.
        name: String,
    },
}

/// The processes that an agent may call, each with its description.
///
/// # Errors
/// If one of them cannot run.
pub(super) fn processes(
    names: &[Arc<str>],
    driver: &Driver,
) -> Result<Vec<(ToolDescription, Offered)>, SetupError> {
    let mut all: Vec<(ToolDescription, Offered)> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        if names.iter().take(place).any(|before| before == name) {
            continue;
        }
        let (mut card, offered) = process(name, driver)?;
        card.name = free(card.name, |name| {
            all.iter().any(|(card, _)| card.name == name)
        });
        all.push((card, offered));
    }
    Ok(all)
}

fn process(name: &Arc<str>, driver: &Driver) -> Result<(ToolDescription, Offered), SetupError> {
    let signature = driver.checked().signature(name);
    let input = signature.and_then(|signature| signature.inputs.into_iter().next());
    let takes = input.map_or(Type::Json, |port| port.kind);
    let described = driver.description(name)?;
    let card = ToolDescription {
        name: allowed(name),
        description: described.unwrap_or_else(|| format!("Asks the process {name}.")),
        schema: match &takes {
            Type::Record(_) => schema(&takes),
            other => schema(&Type::record(vec![Field::required(INPUT, other.clone())])),
        },
    };
    let name = Arc::clone(name);
    Ok((card, Offered::Process { name, takes }))
}

/// A name that models may call.
fn allowed(name: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    name.chars().map(letter).take(64).collect()
}

/// A name that none of the tools has: this one, or this one with a number.
fn free(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    if !is_taken(&name) {
        return name;
    }
    let numbered = (2_u32..).map(|number| format!("{}_{number}", name.get(..56).unwrap_or(&name)));
    let mut free = numbered.filter(|name| !is_taken(name));
    free.next().unwrap_or(name)
}

impl Agent {
    /// Asks the programs of `mcp` which tools they serve, before the first message. Of two tools of one name
    /// the later one gets a number.
    ///
    /// # Errors
    /// If a program does not start or does not speak the protocol.
    pub(super) async fn offer(&mut self) -> Result<(), FailureReason> {
        // A server is off the list when its tools are known: the time may run out before.
        while let Some(by) = self.settings.servers.first().cloned() {
            let server = self.driver.server(&by);
            let waits = self.settings.limits.waits;
            let mut server = server.lock().await;
            let served = server.ready(waits.restarts, &self.log).await;
            let listed = served.map_err(FailureReason::Tool)?.tools().to_vec();
            drop(server);
            self.settings.servers.remove(0);
            for listed in &listed {
                let name = free(allowed(&listed.name), |name| {
                    self.cards.iter().any(|card| card.name == name)
                });
                self.cards.push(ToolDescription {
                    name,
                    description: listed.description.clone(),
                    schema: listed.schema.clone(),
                });
                self.tools.push(Offered::Served {
                    by: by.clone(),
                    name: listed.name.clone(),
                });
            }
        }
        Ok(())
    }

    /// Calls a tool with arguments as a model gives them.
    ///
    /// # Errors
    /// The reason, for the model.
    pub(super) async fn use_tool(&self, name: &str, arguments: &str) -> Result<String, String> {
        let mut cards = self.cards.iter().zip(&self.tools);
        let Some((_, found)) = cards.find(|(card, _)| card.name == name) else {
            return Err(format!("there is no tool `{name}`"));
        };
        let arguments = if arguments.trim().is_empty() {
            "{}"
        } else {
            arguments
        };
        match found {
            Offered::Served { by, name } => {
                // The time of the whole message is the agent's own.
                let waits = Waits {
                    timeout: None,
                    ..self.settings.limits.waits
                };
                let call = Call {
                    driver: &self.driver,
                    log: &self.log,
                    waits,
                };
                let answered = call.served(by, name, arguments).await?;
                Ok(answered.text)
            }
            Offered::Process { name, takes } => {
                let message = taken(takes, arguments)?;
                let (driver, log) = (self.driver.clone(), self.log.clone());
                let result = tool::process(driver, name.clone(), message, log).await;
                let text = result.map(|value| shown(&value));
                text.map_err(|why| why.to_string())
            }
        }
    }
}

/// The message that arguments are for a process.
fn taken(takes: &Type, arguments: &str) -> Result<Value, String> {
    let arguments = Value::parse(arguments);
    let arguments = arguments.map_err(|error| format!("the arguments are not JSON: {error}"))?;
    let message = match takes {
        Type::Record(_) => arguments,
        _ => arguments
            .get(INPUT)
            .cloned()
            .ok_or("the argument `input` is missing")?,
    };
    match mismatch(takes, &message) {
        None => Ok(message),
        Some(mismatch) => Err(mismatch.to_string()),
    }
}
