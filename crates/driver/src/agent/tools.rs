//! The tools of an agent.

use std::sync::Arc;

use plumb::machine::mismatch;
use plumb::types::{Field, Type};
use plumb::value::Value;

use super::Agent;
use crate::driver::Driver;
use crate::error::{Unfit, Why};
use crate::memory::shown;
use crate::provider::Card;
use crate::schema::schema;
use crate::tool;

/// Something an agent can call.
#[derive(Clone, Debug)]
pub(crate) enum Offered {
    /// A process of the program.
    Process {
        name: Arc<str>,
        /// What it takes.
        takes: Type,
    },
}

/// The field in which a tool that takes no record gets what it takes: models give objects only.
const INPUT: &str = "input";

/// The processes that an agent may call, with what it is told of each.
///
/// # Errors
/// Where one of them cannot run.
pub(super) fn processes(
    names: &[Arc<str>],
    driver: &Driver,
) -> Result<Vec<(Card, Offered)>, Unfit> {
    names.iter().map(|name| process(name, driver)).collect()
}

fn process(name: &Arc<str>, driver: &Driver) -> Result<(Card, Offered), Unfit> {
    let signature = driver.checked().signature(name);
    let input = signature.and_then(|signature| signature.inputs.into_iter().next());
    let takes = input.map_or(Type::Json, |port| port.kind);
    let described = driver.description(name)?;
    let card = Card {
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

impl Agent {
    /// Makes ready what the agent may call, when it is first asked.
    ///
    /// # Errors
    /// Where a program that serves tools does not.
    pub(super) async fn offer(&mut self) -> Result<(), Why> {
        Ok(())
    }

    /// Calls a tool with arguments as a model gives them.
    ///
    /// # Errors
    /// What went wrong, for the model.
    pub(super) async fn use_tool(&self, name: &str, arguments: &str) -> Result<String, String> {
        let cards = self.cards.iter().zip(&self.tools);
        let found = cards
            .filter(|(card, _)| card.name == name)
            .map(|(_, tool)| tool)
            .next();
        let Some(found) = found else {
            return Err(format!("there is no tool `{name}`"));
        };
        let arguments = if arguments.trim().is_empty() {
            "{}"
        } else {
            arguments
        };
        let arguments = Value::parse(arguments);
        let arguments =
            arguments.map_err(|error| format!("the arguments are not JSON: {error}"))?;
        match found {
            Offered::Process { name, takes } => {
                let message = taken(takes, arguments)?;
                let log = self.log.clone();
                let result = tool::process(self.driver.clone(), name.clone(), message, log).await;
                result
                    .map(|value| shown(&value))
                    .map_err(|why| why.to_string())
            }
        }
    }
}

/// The message that arguments are for a process.
fn taken(takes: &Type, arguments: Value) -> Result<Value, String> {
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
