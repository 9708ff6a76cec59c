//! A whole conversation written from turns in a form that the provider accepts.

use std::collections::HashSet;

use context::turn::{Outcome, ToolResult};
use context::{CallId, Part, Role, Text, Turn};

use super::Dialect;
use super::json::write::{Object, list};
use super::render::{as_text, wire_id};

/// A conversation in the shape of a request.
///
/// Every provider's rules hold: each call has exactly one result, in the message or
/// messages right after it; a result without a call becomes text; a call without a result gets one
/// that says so; ids are unique, a repeated one gets a number. On Anthropic, neighbours of one role
/// are one message, and the first message is the user's. System turns at the front become the
/// instructions (not on Chat, where they are messages).
#[derive(Clone, PartialEq, Eq)]
pub struct Conversation {
    dialect: Dialect,
    instructions: Option<String>,
    messages: Vec<String>,
}

/// The result of a call that never got one.
const NO_RESULT: &str = "[no result was recorded]";

/// The user message before an assistant turn that opens a conversation.
const OPENING: &str = "[the conversation starts here]";

impl Conversation {
    /// `turns` as a request in `dialect`.
    #[must_use]
    pub fn from_turns(dialect: Dialect, turns: &[Turn]) -> Self {
        let (facts, write) = (dialect.facts(), dialect.table().messages.write);
        let is_system = |turn: &&Turn| turn.role() == Role::System;
        let leading = match facts.keys.instructions {
            Some(_) => turns.iter().take_while(is_system).count(),
            None => 0,
        };
        let (system, said) = turns.split_at_checked(leading).unwrap_or((&[], turns));
        let system: Vec<String> = system.iter().map(Turn::readable).collect();
        let mut pairing = Pairing::new(dialect);
        for turn in said {
            pairing.add(turn.role(), turn.parts());
        }
        pairing.close();
        let mut entries = pairing.entries;
        entries.retain(|entry| !write(entry.role, &entry.parts).is_empty());
        if facts.layout.alternates {
            entries = alternating(entries);
        }
        Self {
            dialect,
            instructions: (!system.is_empty()).then(|| system.join("\n\n")),
            messages: entries
                .iter()
                .flat_map(|entry| write(entry.role, &entry.parts))
                .collect(),
        }
    }

    /// The text of the system turns at the front.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The messages, each one JSON.
    #[must_use]
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// The messages as a JSON list.
    #[must_use]
    pub fn list(&self) -> String {
        list(&self.messages)
    }

    /// A request body for `model`. `max_tokens` is the longest answer; Anthropic requires it.
    #[must_use]
    pub fn body(&self, model: &str, max_tokens: Option<u64>) -> String {
        let keys = &self.dialect.facts().keys;
        let mut body = Object::new().text("model", model);
        if let Some(most) = max_tokens {
            body = body.raw(keys.longest_answer, &most.to_string());
        }
        if let Some((key, text)) = keys.instructions.zip(self.instructions.as_ref()) {
            body = body.text(key, text);
        }
        body.raw(keys.list, &self.list()).end()
    }
}

struct Entry {
    role: Role,
    parts: Vec<Part>,
}

/// A call without a result so far.
struct Waiting {
    id: CallId,
    written: CallId,
}

/// Pairs calls with results.
struct Pairing {
    dialect: Dialect,
    entries: Vec<Entry>,
    used: HashSet<String>,
    waiting: Vec<Waiting>,
    /// The entry that takes the results of the calls before it.
    results: usize,
}

impl Pairing {
    fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            entries: Vec::new(),
            used: HashSet::new(),
            waiting: Vec::new(),
            results: 0,
        }
    }

    fn add(&mut self, role: Role, parts: &[Part]) {
        if role == Role::Assistant {
            self.add_assistant(parts);
        } else {
            self.add_other(role, parts);
        }
    }

    fn add_assistant(&mut self, parts: &[Part]) {
        self.close();
        let mut written = Vec::with_capacity(parts.len());
        for part in parts {
            written.push(match part {
                Part::Call(call) => {
                    let mut call = call.clone();
                    let id = self.unused(&call.id);
                    self.waiting.push(Waiting {
                        id: std::mem::replace(&mut call.id, id.clone()),
                        written: id,
                    });
                    Part::Call(call)
                }
                other => other.clone(),
            });
        }
        self.push(Role::Assistant, written);
        if !self.waiting.is_empty() {
            self.results = self.entries.len();
            self.push(Role::Tool, Vec::new());
        }
    }

    /// Moves results to the calls that wait for them; everything else stays in place.
    fn add_other(&mut self, role: Role, parts: &[Part]) {
        let mut rest = Vec::new();
        for part in parts {
            let Part::Result(result) = part else {
                rest.push(part.clone());
                continue;
            };
            let place = self.waiting.iter().position(|call| call.id == result.call);
            match place.map(|place| self.waiting.remove(place)) {
                Some(call) => self.answer(call.written, result.text.clone(), result.outcome),
                None => rest.extend(as_text(part).map(|text| Part::Text(Text::from(text)))),
            }
        }
        let role = match role {
            Role::System => Role::System,
            _ => Role::User,
        };
        self.push(role, rest);
    }

    /// Answers the calls that never got a result.
    fn close(&mut self) {
        for call in std::mem::take(&mut self.waiting) {
            self.answer(call.written, Text::from(NO_RESULT), Outcome::Failed);
        }
    }

    fn answer(&mut self, call: CallId, text: Text, outcome: Outcome) {
        if let Some(entry) = self.entries.get_mut(self.results) {
            entry.parts.push(Part::Result(ToolResult {
                call,
                text,
                outcome,
            }));
        }
    }

    fn push(&mut self, role: Role, parts: Vec<Part>) {
        self.entries.push(Entry { role, parts });
    }

    /// `id` in its written form, with a number if it is taken.
    fn unused(&mut self, id: &CallId) -> CallId {
        let first = wire_id(self.dialect, id.as_str());
        let mut written = first.clone();
        let mut number = 2;
        while !self.used.insert(written.clone()) {
            written = wire_id(self.dialect, &format!("{first}_{number}"));
            number += 1;
        }
        CallId::from(written.as_str())
    }
}

/// Neighbours of one role put together, the user first.
fn alternating(entries: Vec<Entry>) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    let side = |role| match role {
        Role::Assistant | Role::System => role,
        Role::User | Role::Tool | Role::Other => Role::User,
    };
    for mut entry in entries {
        match out.last_mut() {
            Some(last) if side(last.role) == side(entry.role) => {
                last.parts.append(&mut entry.parts);
            }
            None if entry.role == Role::Assistant => {
                let parts = vec![Part::Text(Text::from(OPENING))];
                out.push(Entry {
                    role: Role::User,
                    parts,
                });
                out.push(entry);
            }
            _ => out.push(entry),
        }
    }
    out
}
