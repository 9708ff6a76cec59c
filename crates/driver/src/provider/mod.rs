//! Who answers for an agent.

mod eliza;
mod model;
mod script;

use std::sync::Arc;

use context::turn::ToolCall;
use context::{Heuristic, TokenCounter, Tokens, TurnDraft};
use serde_json::Value as Json;

use crate::error::Why;
pub(crate) use eliza::Eliza;
pub(crate) use model::{Model, Reach};
pub(crate) use script::Script;

/// Who answers.
#[derive(Debug)]
pub(crate) enum Provider {
    /// The lines of a file, in turn.
    Script(Arc<Script>),
    /// Questions made of what was said.
    Eliza(Box<Eliza>),
    /// A model.
    Model(Box<Model>),
    /// A summary made without a model; it answers for `Mem.compressor`.
    Extract,
}

/// The window that is reported for those that are no model.
const WINDOW: Tokens = Tokens::new(200_000);

/// A turn as it is shown to whoever answers.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub draft: TurnDraft,
    /// An answer of this exchange as the provider gave it, with what a turn does not hold: signatures.
    pub raw: Option<String>,
}

impl From<TurnDraft> for Shown {
    fn from(draft: TurnDraft) -> Self {
        Self { draft, raw: None }
    }
}

/// What an agent is asked.
pub(crate) struct Question<'a> {
    /// All that the agent is shown: its prompt, its memory, the message, and what came of it so far.
    pub turns: &'a [Shown],
    /// The message alone.
    pub heard: &'a str,
    /// The tools that it may call.
    pub tools: &'a [Card],
    pub calls: Calls,
    pub temperature: Option<f64>,
}

/// Whether tools may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    /// They may.
    Allowed,
    /// As many have been called as may be.
    Over,
}

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Card {
    pub name: String,
    pub description: String,
    /// The JSON Schema of its arguments, which are an object.
    pub schema: Json,
}

/// What was said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub text: String,
    /// Calls of tools, which are to be answered first.
    pub calls: Vec<ToolCall>,
    pub spent: Spent,
    /// The answer as the provider gave it.
    pub raw: Option<String>,
    pub ended: Ended,
}

/// Where an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Where it was meant to.
    #[default]
    Whole,
    /// Where it had reached its longest length.
    Cut,
}

/// What an answer took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// All input.
    pub input: Tokens,
    pub output: Tokens,
    /// The part of the input that was read from a cache.
    pub cache_read: Tokens,
    /// The part that was written to one.
    pub cache_write: Tokens,
}

impl Provider {
    /// Asks.
    ///
    /// # Errors
    /// Where there is no answer.
    pub async fn ask(&mut self, question: &Question<'_>) -> Result<Said, Why> {
        let text = match self {
            Self::Model(model) => return model.ask(question).await,
            Self::Script(script) => script.next().ok_or(Why::ScriptEnded)?,
            Self::Eliza(eliza) => eliza.answer(question.heard),
            Self::Extract => return Err(Why::NoAnswer("it answers memories only".into())),
        };
        Ok(Said {
            spent: counted(question.turns, &text),
            text,
            ..Said::default()
        })
    }

    /// The window of the model.
    pub fn window(&self) -> Tokens {
        match self {
            Self::Model(model) => model.window(),
            Self::Script(_) | Self::Eliza(_) | Self::Extract => WINDOW,
        }
    }
}

/// What a model would have been sent and would have written, by a rough count: for those that are none.
fn counted(turns: &[Shown], text: &str) -> Spent {
    Spent {
        input: turns
            .iter()
            .map(|turn| Heuristic.count_parts(&turn.draft.parts))
            .sum(),
        output: Heuristic.count(text),
        ..Spent::default()
    }
}
