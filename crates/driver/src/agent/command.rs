//! What an agent does with a command: `CtrlCmd` of the module `mem`.

use plumb::value::Value;

use super::Agent;
use crate::memory::Replaced;
use crate::settings::number;
use crate::telemetry;

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Acknowledged {
    /// What is said on `ctrl_out`.
    pub answer: Value,
    /// What is said on `telemetry`.
    pub telemetry: Option<Value>,
}

/// The highest temperature that a model takes.
const HOTTEST: f64 = 2.0;

impl Agent {
    /// Carries out a command. One that cannot be carried out is answered with `{ refused: why }`.
    pub fn command(&mut self, command: &Value) -> Acknowledged {
        let fields = command.fields().unwrap_or_default();
        let [(name, value)] = fields else {
            return refused("a command is a record of one field");
        };
        match (&**name, value) {
            ("pause", Value::Bool(true)) => {
                self.paused = true;
                plain("paused")
            }
            ("resume", Value::Bool(true)) => {
                self.paused = false;
                plain("resumed")
            }
            ("get_memory", Value::Bool(true)) => with("memory", self.memory.dump()),
            ("mark", Value::Bool(true)) => with("marked", self.memory.dump()),
            ("set_memory", memory) => {
                let replaced = self.memory.replace(memory);
                self.replaced("memory_set", replaced)
            }
            ("prepare", memory) => {
                self.memory.prepare(memory.clone());
                plain("prepared")
            }
            ("swap", Value::Bool(true)) => {
                let replaced = self.memory.swap();
                self.replaced("swapped", replaced)
            }
            ("pin", text) => {
                self.memory.pin(text.clone());
                self.pinned("pinned")
            }
            ("unpin", text) if self.memory.unpin(text) => self.pinned("unpinned"),
            ("unpin", _) => refused("nothing of this text is pinned"),
            ("set_temp", heat) => match number(heat) {
                Some(heat) if (0.0..=HOTTEST).contains(&heat) => {
                    self.temperature = Some(heat);
                    plain("temp_set")
                }
                _ => refused("a temperature is a number from 0 to 2"),
            },
            ("pause" | "resume" | "get_memory" | "mark" | "swap", _) => {
                refused("this command is given with `true`")
            }
            _ => refused("an agent has no such command"),
        }
    }

    fn replaced(&self, word: &str, replaced: Result<Replaced, String>) -> Acknowledged {
        match replaced {
            Ok(Replaced { before, after }) => {
                let compactions = self.memory.compactions();
                Acknowledged {
                    telemetry: Some(telemetry::swap(before, after, compactions)),
                    ..plain(word)
                }
            }
            Err(why) => refused(&why),
        }
    }

    fn pinned(&self, word: &str) -> Acknowledged {
        Acknowledged {
            telemetry: Some(telemetry::pin(self.memory.pins().len())),
            ..plain(word)
        }
    }
}

fn with(word: &str, value: Value) -> Acknowledged {
    match Value::record(vec![(word.into(), value)]) {
        Ok(answer) => Acknowledged {
            answer,
            telemetry: None,
        },
        Err(error) => refused(&error.to_string()),
    }
}

fn plain(word: &str) -> Acknowledged {
    with(word, Value::Bool(true))
}

fn refused(why: &str) -> Acknowledged {
    let answer = Value::record(vec![("refused".into(), Value::from(why))]);
    Acknowledged {
        answer: answer.unwrap_or(Value::Null),
        telemetry: None,
    }
}
