//! The words of a conversation, for strategies that read them: a record for each turn when it is said, and the
//! turns and pins in a memory.
//!
//! Other strategies are told no words, and nothing of this is held for them.

use std::sync::Arc;

use context::pin::handle;
use context::{Pressure, Tokens, Turn, TurnId};
use plumb::graph::Op;
use plumb::value::Value;

use super::reads;
use crate::homunculus::outline::Path;
use crate::homunculus::strategy::Situation;

/// The kind of the records.
const KIND: &str = "turn";

/// The fields that only these records have.
const OWN: [&str; 2] = ["handle", "typed"];

/// The number of turns that are told at once; of more, the newest.
const MOST: usize = 512;

/// The characters of one text that are told: more is pasted or read, and is had by its handle.
const LONGEST: usize = 16_384;

/// The characters of all turns of a memory; of more, the newest.
const MEMORY: usize = 131_072;

/// The turns that the strategy has not been told yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Option<Box<Said>>);

/// Apart, since most conversations never have any.
#[derive(Clone, Debug, Default)]
struct Said {
    /// The number of turns said so far.
    count: usize,
    new: Vec<Words>,
}

/// A turn's words.
#[derive(Clone, Debug)]
struct Words {
    /// Its number, from 1, and its id.
    place: (usize, TurnId),
    role: &'static str,
    text: Value,
    typed: Option<Value>,
    tokens: Tokens,
}

impl Words {
    fn of(number: usize, turn: &Turn) -> Self {
        let typed: Vec<&str> = context::typed_lines(turn).collect();
        Self {
            place: (number, turn.id()),
            role: turn.role().as_str(),
            text: Value::from(cut(turn.readable(), LONGEST)),
            typed: (!typed.is_empty()).then(|| Value::from(cut(typed.join("\n"), LONGEST))),
            tokens: turn.tokens(),
        }
    }

    /// The record. `None` if the turn is not on the path any more.
    fn to_value(&self, situation: &Situation<'_>) -> Option<Value> {
        let (number, id) = self.place;
        if situation.path.node_before(number) != Some(id) {
            return None;
        }
        let share = Pressure::of(self.tokens, situation.limits.window).get();
        let fields = [
            ("kind", Some(Value::from(KIND))),
            ("handle", Some(Value::from(handle(number)))),
            ("role", Some(Value::from(self.role))),
            ("text", Some(self.text.clone())),
            ("typed", self.typed.clone()),
            ("share", share.is_finite().then_some(Value::Number(share))),
        ];
        let fields = fields
            .into_iter()
            .filter_map(|(name, value)| Some((Arc::from(name), value?)));
        Value::record(fields.collect::<Vec<_>>()).ok()
    }
}

impl Heard {
    /// Takes turns that are said now.
    pub fn take(&mut self, turns: &[Turn]) {
        let said = self.0.get_or_insert_default();
        let first = said.count + 1;
        said.count += turns.len();
        let numbered = (first..).zip(turns);
        let newest = numbered.skip(turns.len().saturating_sub(MOST));
        said.new
            .extend(newest.map(|(number, turn)| Words::of(number, turn)));
        said.new.drain(..said.new.len().saturating_sub(MOST));
    }

    /// These turns were said before, and nothing else was.
    pub fn recall(&mut self, turns: &[Turn]) {
        let said = self.0.get_or_insert_default();
        said.count = turns.len();
        said.new.clear();
    }

    /// The records of what is new, in order; there are none then.
    pub fn told(&mut self, situation: &Situation<'_>) -> Vec<Value> {
        let new = self.0.as_mut().map(|said| std::mem::take(&mut said.new));
        new.iter()
            .flatten()
            .filter_map(|words| words.to_value(situation))
            .collect()
    }

    /// Returns true if there is something to tell.
    pub fn has_news(&self) -> bool {
        self.0.as_ref().is_some_and(|said| !said.new.is_empty())
    }

    /// The bytes that it holds besides its own.
    pub fn bytes(&self) -> usize {
        let Some(said) = &self.0 else { return 0 };
        let texts = said.new.iter().flat_map(|words| {
            let typed = words.typed.iter();
            typed.chain([&words.text]).filter_map(Value::as_text)
        });
        size_of::<Said>()
            + said.new.capacity() * size_of::<Words>()
            + texts.map(str::len).sum::<usize>()
    }
}

/// The turns of a memory before a cut, as `{ handle, role, text }`: the newest that have room.
pub(super) fn turns_before(path: &Path<'_>, cut: usize) -> Option<Value> {
    let turns = path.turns();
    let turns = turns.get(..cut).unwrap_or(turns);
    let mut room = MEMORY;
    let mut told = Vec::new();
    for (index, turn) in turns.iter().enumerate().rev() {
        let text = cut_text(turn);
        room = match room.checked_sub(text.len()) {
            Some(rest) => rest,
            None => break,
        };
        let fields = [
            ("handle", Value::from(handle(index + 1))),
            ("role", Value::from(turn.role().as_str())),
            ("text", Value::from(text)),
        ];
        let fields = fields.map(|(name, value)| (Arc::from(name), value));
        told.push(Value::record(fields).ok()?);
    }
    told.reverse();
    Value::list(told).ok()
}

/// The texts of the pins in force.
pub(super) fn pinned(path: &Path<'_>) -> Option<Value> {
    let pins = path
        .words()
        .into_iter()
        .flat_map(|words| words.pins().iter());
    let texts = pins.map(|pin| Value::from(pin.text.as_str()));
    Value::list(texts.collect::<Vec<_>>()).ok()
}

fn cut_text(turn: &Turn) -> String {
    cut(turn.readable(), LONGEST)
}

/// A text up to so many bytes, cut at a character.
fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

/// Returns true if an expression reads such records: it names their kind, or a field that only they have.
pub(super) fn is_read_by(op: &Op) -> bool {
    match op {
        Op::Constant(value) => reads::says(value, KIND),
        Op::Field(of, name) => **of == Op::Message && OWN.contains(&&**name),
        _ => false,
    }
}
