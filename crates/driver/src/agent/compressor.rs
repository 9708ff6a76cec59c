//! Agents that are handed the memory of another one, to sum it up.

use std::sync::Arc;

use context::{Heuristic, TokenCounter, Tokens};
use plumb::value::Value;

use super::Agent;
use crate::error::FailureReason;
use crate::memory::{InFull, shown, summed_up};

/// The share of an agent's free window that the original turns behind a memory may take. The rest is for what
/// is in the memory itself and for the answer.
const SHARE: f64 = 0.5;

/// A message, with the memory in it in full.
#[derive(Debug, Default)]
pub(super) struct Handed(Option<Full>);

#[derive(Debug)]
struct Full {
    message: Value,
    memory: InFull,
}

impl Handed {
    /// The message with the memory in full; `None` if it holds none, or one that is full as it is.
    pub fn message(&self) -> Option<&Value> {
        self.0.as_ref().map(|full| &full.message)
    }

    /// The answer without the turns that the message had in addition. Turns that an agent was shown for a
    /// summary must not come back into view.
    pub fn answered(&self, answer: Value) -> Value {
        let of_field = |memory: &Value| self.0.as_ref()?.memory.without_added(memory);
        match memory_in(&answer) {
            Some((name, memory)) => of_field(&memory)
                .and_then(|memory| put(&answer, &name, &memory))
                .unwrap_or(answer),
            None => answer,
        }
    }
}

impl Agent {
    /// Looks up the original turns behind the memory in a message.
    pub(super) fn handed(&self, message: &Value) -> Handed {
        let full = || {
            let (name, memory) = memory_in(message)?;
            let originals = self.driver.originals(&memory)?;
            let view = self.memory.view();
            let used: Tokens = view
                .iter()
                .map(|draft| Heuristic.count_parts(&draft.parts))
                .sum();
            let used = used + Heuristic.count(&shown(message));
            let room = self.provider.window().saturating_sub(used).scaled(SHARE);
            let full = InFull::of(&memory, &originals, room)?;
            let message = put(message, &name, &full.memory)?;
            Some(Full {
                message,
                memory: full,
            })
        };
        Handed(full())
    }

    /// Answers for `Mem.compressor` without a model.
    ///
    /// # Errors
    /// If the message is not a memory.
    pub(super) fn sum_up(&self, message: &Value) -> Result<Value, FailureReason> {
        let malformed = || FailureReason::NoAnswer("the message is not a memory".to_owned());
        let memory = message.get("memory").ok_or_else(malformed)?;
        let originals = self.driver.originals(memory);
        let memory = summed_up(memory, originals.as_deref()).map_err(FailureReason::NoAnswer)?;
        Value::record(vec![("set_memory".into(), memory)]).map_err(|_| malformed())
    }
}

/// The field of a message that holds a memory: `memory` of a dump, `marked`, `set_memory`, `prepare`.
fn memory_in(message: &Value) -> Option<(Arc<str>, Value)> {
    let mut fields = message.fields()?.iter();
    let is_memory = |value: &Value| {
        let has = |name| value.get(name).is_some();
        has("mark") && has("turns") && has("pinned")
    };
    let (name, memory) = fields.find(|(_, value)| is_memory(value))?;
    Some((Arc::clone(name), memory.clone()))
}

/// A message with another memory in it.
fn put(message: &Value, name: &str, memory: &Value) -> Option<Value> {
    let fields = message.fields()?.iter().map(|(known, value)| {
        let value = if **known == *name { memory } else { value };
        (Arc::clone(known), value.clone())
    });
    Value::record(fields.collect::<Vec<_>>()).ok()
}
