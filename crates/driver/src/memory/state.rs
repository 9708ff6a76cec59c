//! A memory as a part of a state file, and back.

use std::sync::Arc;

use context::pin::{Origin, Pins};
use context::turn::{Outcome, ToolCall, ToolResult};
use context::window::ContextWindow;
use context::{CallId, Heuristic, Part, Role, Text, Tokens, Turn, TurnDraft};
use plumb::value::Value;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Memory, Past, placed};

/// A memory in a state file. Sizes, classes and IDs follow from the turns and are not stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedMemory {
    turns: Vec<SavedTurn>,
    hidden: usize,
    front: Vec<SavedTurn>,
    past: Vec<SavedPast>,
    summary: Option<Arc<str>>,
    founding: Option<Arc<str>>,
    pins: Vec<SavedPin>,
    seeded: usize,
    marked: usize,
    prepared: Option<Box<RawValue>>,
    compactions: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedPast {
    at: usize,
    turns: Vec<SavedTurn>,
}

/// Agents note no times, and everything in their transcript was said.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedTurn {
    role: SavedRole,
    parts: Vec<SavedPart>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedRole {
    System,
    User,
    Assistant,
    Tool,
    Other,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum SavedPart {
    Text(String),
    Thinking(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    Result {
        call: String,
        text: String,
        failed: bool,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedPin {
    text: String,
    origin: SavedOrigin,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedOrigin {
    User,
    Agent,
    Api,
    Strategy,
}

impl Memory {
    /// The memory as a part of a state file.
    pub fn saved(&self) -> SavedMemory {
        let saved = |turns: &[Turn]| turns.iter().map(SavedTurn::of).collect();
        let past = self.past.iter().map(|past| SavedPast {
            at: past.at,
            turns: saved(&past.turns),
        });
        let pins = self.pins.iter().map(|pin| SavedPin {
            text: pin.text.to_string(),
            origin: match pin.origin {
                Origin::User => SavedOrigin::User,
                Origin::Agent => SavedOrigin::Agent,
                Origin::Api => SavedOrigin::Api,
                Origin::Strategy => SavedOrigin::Strategy,
            },
        });
        let prepared = self.prepared.as_ref().map(Value::to_string);
        SavedMemory {
            turns: self.window.turns().map(SavedTurn::of).collect(),
            hidden: self.hidden,
            front: saved(&self.front),
            past: past.collect(),
            summary: self.summary.clone(),
            founding: self.founding.clone(),
            pins: pins.collect(),
            seeded: self.seeded,
            marked: self.marked,
            prepared: prepared.and_then(|text| RawValue::from_string(text).ok()),
            compactions: self.compactions,
        }
    }

    /// A memory out of a state file, of an agent with a window of this size.
    ///
    /// # Errors
    /// If its parts do not fit together, as a phrase.
    pub fn restored(saved: SavedMemory, limit: Tokens) -> Result<Self, String> {
        let said = saved.turns.len();
        let numbers = [saved.hidden, saved.marked.saturating_sub(saved.seeded)];
        let places = saved.past.iter().map(|past| past.at).chain(numbers);
        if places.max().is_some_and(|last| last > said)
            || saved.front.len() > saved.hidden.saturating_add(saved.seeded)
        {
            return Err("a place is behind the last turn".to_owned());
        }
        let mut pins = Pins::default();
        for pin in saved.pins {
            let origin = match pin.origin {
                SavedOrigin::User => Origin::User,
                SavedOrigin::Agent => Origin::Agent,
                SavedOrigin::Api => Origin::Api,
                SavedOrigin::Strategy => Origin::Strategy,
            };
            let added = pins.add(&pin.text, origin, None, &Heuristic);
            added.map_err(|error| error.to_string())?;
        }
        let prepared = saved.prepared.map(|json| Value::parse(json.get()));
        let turns = |saved: Vec<SavedTurn>| placed(saved.into_iter().map(SavedTurn::draft));
        let past = saved.past.into_iter().map(|past| Past {
            at: past.at,
            turns: turns(past.turns),
        });
        let drafts = saved.turns.into_iter().map(SavedTurn::draft);
        let window = drafts.fold(ContextWindow::new(limit), |window, draft| {
            window.append(draft, &Heuristic)
        });
        Ok(Self {
            window,
            hidden: saved.hidden,
            past: past.collect(),
            front: turns(saved.front),
            summary: saved.summary,
            founding: saved.founding,
            pins,
            seeded: saved.seeded,
            marked: saved.marked,
            prepared: prepared.transpose().map_err(|error| error.to_string())?,
            compactions: saved.compactions,
        })
    }
}

impl SavedTurn {
    fn of(turn: &Turn) -> Self {
        Self {
            role: match turn.role() {
                Role::System => SavedRole::System,
                Role::User => SavedRole::User,
                Role::Assistant => SavedRole::Assistant,
                Role::Tool => SavedRole::Tool,
                Role::Other => SavedRole::Other,
            },
            parts: turn.parts().iter().filter_map(SavedPart::of).collect(),
        }
    }

    fn draft(self) -> TurnDraft {
        let role = match self.role {
            SavedRole::System => Role::System,
            SavedRole::User => Role::User,
            SavedRole::Assistant => Role::Assistant,
            SavedRole::Tool => Role::Tool,
            SavedRole::Other => Role::Other,
        };
        TurnDraft::said(role, self.parts.into_iter().map(SavedPart::part).collect())
    }
}

impl SavedPart {
    fn of(part: &Part) -> Option<Self> {
        Some(match part {
            Part::Text(text) => Self::Text(text.to_string()),
            Part::Thinking(text) => Self::Thinking(text.to_string()),
            Part::Call(call) => Self::Call {
                id: call.id.to_string(),
                name: call.name.to_string(),
                arguments: call.arguments.to_string(),
            },
            Part::Result(result) => Self::Result {
                call: result.call.to_string(),
                text: result.text.to_string(),
                failed: result.outcome == Outcome::Failed,
            },
            // Messages of a network are values, and answers of agents are text and calls.
            Part::Attachment(_) | Part::Opaque(_) => return None,
        })
    }

    fn part(self) -> Part {
        match self {
            Self::Text(text) => Part::Text(text.into()),
            Self::Thinking(text) => Part::Thinking(text.into()),
            Self::Call {
                id,
                name,
                arguments,
            } => Part::Call(ToolCall {
                id: CallId::from(id.as_str()),
                name: Text::from(name),
                arguments: Text::from(arguments),
            }),
            Self::Result { call, text, failed } => Part::Result(ToolResult {
                call: CallId::from(call.as_str()),
                text: Text::from(text),
                outcome: match failed {
                    true => Outcome::Failed,
                    false => Outcome::Succeeded,
                },
            }),
        }
    }
}
