//! Carries out the commands of a strategy on an agent.

use std::sync::Arc;

use context::{Heuristic, TokenCounter};
use plumb::commands::{self, ControlCommand, FieldKind, Keep};
use plumb::value::Value;

use super::Agent;
use crate::memory::{Memory, Replaced, Stays};
use crate::settings::number;
use crate::telemetry;

/// The messages that follow a command.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    /// Sent on `ctrl_out`.
    pub answer: Value,
    /// Sent on `telemetry`, in order.
    pub telemetry: Vec<Value>,
}

/// The highest temperature that a model takes.
const HOTTEST: f64 = 2.0;

/// The reason why an agent refuses the commands of a conversation.
const NOT_FOR_AGENTS: &str = "only conversations obey this command";

impl Agent {
    /// Carries out a command. A command that cannot be carried out is answered with
    /// `{ refused: why, command: name }`.
    pub fn command(&mut self, message: &Value) -> Acknowledged {
        let (name, done) = match ControlCommand::of(message) {
            Some(command) => (command.name().into(), self.carry_out(command, message)),
            None => (verb(message), Err(NOT_FOR_AGENTS.to_owned())),
        };
        done.unwrap_or_else(|why| Acknowledged {
            answer: commands::refused(&name, &why).unwrap_or(Value::Null),
            telemetry: Vec::new(),
        })
    }

    fn carry_out(
        &mut self,
        command: ControlCommand,
        message: &Value,
    ) -> Result<Acknowledged, String> {
        let field = command.entry().field;
        let argument = message.get(field.name).unwrap_or(&Value::Null);
        let is_true = *argument == Value::Bool(true);
        let mut answer = Value::Bool(true);
        let mut telemetry = Vec::new();
        match command {
            ControlCommand::Hold
            | ControlCommand::Extract
            | ControlCommand::DropTo
            | ControlCommand::Clear
            | ControlCommand::Abandon => return Err(NOT_FOR_AGENTS.to_owned()),
            _ if field.kind == FieldKind::Flag && !is_true => {
                return Err("this command takes `true`".to_owned());
            }
            ControlCommand::Pause | ControlCommand::Resume => {
                self.paused = command == ControlCommand::Pause;
            }
            ControlCommand::GetMemory | ControlCommand::Mark => {
                answer = self.memory.dump(self.stays(message)?);
                self.driver.dumped(&answer, self.memory.originals());
            }
            ControlCommand::SetMemory => {
                telemetry = self.replaced(|memory| memory.replace(argument))?;
            }
            ControlCommand::Prepare => self.memory.prepare(argument.clone()),
            ControlCommand::Swap => telemetry = self.replaced(Memory::swap)?,
            ControlCommand::Pin => {
                self.memory.pin(argument)?;
                telemetry = self.pinned();
            }
            ControlCommand::Unpin => {
                self.memory.unpin(argument)?;
                telemetry = self.pinned();
            }
            ControlCommand::SetTemp => {
                let heat = number(argument).filter(|heat| (0.0..=HOTTEST).contains(heat));
                self.temperature = Some(heat.ok_or("a temperature is a number from 0 to 2")?);
            }
        }
        let answer = command
            .acknowledge(answer)
            .map_err(|error| error.to_string())?;
        Ok(Acknowledged { answer, telemetry })
    }

    /// The part of the memory that stays verbatim behind a mark.
    fn stays(&self, message: &Value) -> Result<Stays, String> {
        Ok(match Keep::of(message)? {
            Keep::Share(share) if share <= 0.0 => Stays::Nothing,
            Keep::Share(share) => Stays::Tokens(self.provider.window().scaled(share)),
            Keep::Messages(most) => Stays::Turns(most),
        })
    }

    fn replaced(
        &mut self,
        replace: impl FnOnce(&mut Memory) -> Result<Replaced, String>,
    ) -> Result<Vec<Value>, String> {
        let Replaced { before, after } = replace(&mut self.memory)?;
        let compactions = self.memory.compactions();
        Ok(vec![
            telemetry::swap(before, after, compactions),
            self.pressure(),
        ])
    }

    fn pinned(&self) -> Vec<Value> {
        vec![telemetry::pin(self.memory.pins().count()), self.pressure()]
    }

    /// The estimated pressure of the current memory, before any model has counted it.
    fn pressure(&self) -> Value {
        let view = self.memory.view();
        let tokens = view.iter().map(|draft| Heuristic.count_parts(&draft.parts));
        telemetry::pressure(tokens.sum(), self.provider.window())
    }
}

/// The field that names a command or an acknowledgement, for reports; `?` if the message has none.
pub(crate) fn verb(message: &Value) -> Arc<str> {
    commands::verb(message).map_or_else(|| "?".into(), Arc::clone)
}
