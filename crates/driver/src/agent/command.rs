//! What an agent does with a command: `CtrlCmd` of the module `mem`.

use std::sync::Arc;

use context::{Heuristic, TokenCounter};
use plumb::value::Value;

use super::Agent;
use crate::memory::{Replaced, Stays};
use crate::settings::number;
use crate::telemetry;

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    /// What is said on `ctrl_out`.
    pub answer: Value,
    /// What is said on `telemetry`, in order.
    pub telemetry: Vec<Value>,
}

/// The highest temperature that a model takes.
const HOTTEST: f64 = 2.0;

impl Agent {
    /// Carries out a command. One that cannot be carried out is answered with
    /// `{ refused: why, command: name }`.
    pub fn command(&mut self, command: &Value) -> Acknowledged {
        let name = verb(command);
        let value = command.get(&name).unwrap_or(&Value::Null);
        let done = match (&*name, value) {
            ("pause", Value::Bool(true)) => {
                self.paused = true;
                Ok(plain("paused"))
            }
            ("resume", Value::Bool(true)) => {
                self.paused = false;
                Ok(plain("resumed"))
            }
            ("get_memory", Value::Bool(true)) => self.dumped("memory", command),
            ("mark", Value::Bool(true)) => self.dumped("marked", command),
            ("set_memory", memory) => {
                let replaced = self.memory.replace(memory);
                replaced.map(|replaced| self.replaced("memory_set", replaced))
            }
            ("prepare", memory) => {
                self.memory.prepare(memory.clone());
                Ok(plain("prepared"))
            }
            ("swap", Value::Bool(true)) => {
                let replaced = self.memory.swap();
                replaced.map(|replaced| self.replaced("swapped", replaced))
            }
            ("pin", text) => {
                self.memory.pin(text.clone());
                Ok(self.pinned("pinned"))
            }
            ("unpin", text) if self.memory.unpin(text) => Ok(self.pinned("unpinned")),
            ("unpin", _) => Err("nothing of this text is pinned".to_owned()),
            ("set_temp", heat) => match number(heat) {
                Some(heat) if (0.0..=HOTTEST).contains(&heat) => {
                    self.temperature = Some(heat);
                    Ok(plain("temp_set"))
                }
                _ => Err("a temperature is a number from 0 to 2".to_owned()),
            },
            ("pause" | "resume" | "get_memory" | "mark" | "swap", _) => {
                Err("this command is given with `true`".to_owned())
            }
            _ => Err("only the host of a strategy obeys this command".to_owned()),
        };
        done.unwrap_or_else(|why| refused(&why, &name))
    }

    /// The memory, marked before what the command says is to stay.
    fn dumped(&mut self, word: &str, command: &Value) -> Result<Acknowledged, String> {
        let share = command.get("keep").and_then(number);
        let stays = match (share, command.get("keep_messages")) {
            (Some(share), _) if (0.0..=1.0).contains(&share) => {
                Stays::Tokens(self.provider.window().scaled(share))
            }
            (Some(_), _) => return Err("a share of the window is a number from 0 to 1".to_owned()),
            (None, Some(Value::Int(most))) => {
                let most = usize::try_from(*most);
                Stays::Turns(most.map_err(|_| "a number of messages is 0 or more".to_owned())?)
            }
            (None, _) => Stays::Nothing,
        };
        Ok(with(word, self.memory.dump(stays)))
    }

    fn replaced(&self, word: &str, replaced: Replaced) -> Acknowledged {
        let Replaced { before, after } = replaced;
        let compactions = self.memory.compactions();
        Acknowledged {
            telemetry: vec![telemetry::swap(before, after, compactions), self.pressure()],
            ..plain(word)
        }
    }

    fn pinned(&self, word: &str) -> Acknowledged {
        Acknowledged {
            telemetry: vec![telemetry::pin(self.memory.pins().len()), self.pressure()],
            ..plain(word)
        }
    }

    /// How full the window is with what is remembered now, before any model has counted it.
    fn pressure(&self) -> Value {
        let view = self.memory.view();
        let tokens = view.iter().map(|draft| Heuristic.count_parts(&draft.parts));
        telemetry::pressure(tokens.sum(), self.provider.window())
    }
}

fn with(word: &str, value: Value) -> Acknowledged {
    match Value::record(vec![(word.into(), value)]) {
        Ok(answer) => Acknowledged {
            answer,
            telemetry: Vec::new(),
        },
        Err(error) => refused(&error.to_string(), word),
    }
}

fn plain(word: &str) -> Acknowledged {
    with(word, Value::Bool(true))
}

fn refused(why: &str, command: &str) -> Acknowledged {
    let answer = Value::record(vec![
        ("refused".into(), Value::from(why)),
        ("command".into(), Value::from(command)),
    ]);
    Acknowledged {
        answer: answer.unwrap_or(Value::Null),
        telemetry: Vec::new(),
    }
}

/// Fields of commands that say how, not what.
const MANNERS: [&str; 4] = ["keep", "keep_messages", "keep_results", "at_least"];

/// The name of a command or an acknowledgement: its field that says what.
pub(crate) fn verb(message: &Value) -> Arc<str> {
    let mut fields = message.fields().unwrap_or_default().iter();
    let verb = fields.find(|(name, _)| !MANNERS.contains(&&**name));
    verb.map_or_else(|| "?".into(), |(name, _)| name.clone())
}
