//! The provider of an agent's answers.

mod eliza;
mod model;
mod script;

use std::sync::Arc;

use context::turn::ToolCall;
use context::{Heuristic, TokenCounter, Tokens, TurnDraft};
use serde_json::Value as Json;

use crate::error::FailureReason;
pub(crate) use eliza::Eliza;
pub(crate) use model::{Model, ModelEndpoint};
pub(crate) use script::Script;

/// A source of answers.
#[derive(Debug)]
pub(crate) enum Provider {
    /// The lines of a file, in turn.
    Script(Arc<Script>),
    /// Turns statements into questions, without a model.
    Eliza(Box<Eliza>),
    /// A model.
    Model(Box<Model>),
    /// A summary made without a model; it answers for `Mem.compressor`.
    Extract,
}

/// The window that is reported for those that are no model.
const WINDOW: Tokens = Tokens::new(200_000);

/// A turn as the provider sees it.
#[derive(Clone, Debug)]
pub(crate) struct ViewTurn {
    pub draft: TurnDraft,
    /// An answer of this exchange as the provider gave it, with what a turn does not hold: signatures.
    pub raw: Option<String>,
}

impl From<TurnDraft> for ViewTurn {
    fn from(draft: TurnDraft) -> Self {
        Self { draft, raw: None }
    }
}

/// A request to a provider.
pub(crate) struct Question<'a> {
    /// Everything that the agent is shown: prompt, memory, message and the steps so far.
    pub turns: &'a [ViewTurn],
    pub heard: &'a str,
    /// The tools that it may call.
    pub tools: &'a [ToolDescription],
    pub calls: Calls,
    pub temperature: Option<f64>,
}

/// Permission to call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Tools may be called.
    Allowed,
    /// The limit on tool calls has been reached.
    Over,
}

/// The description of a tool for a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolDescription {
    pub name: String,
    pub description: String,
    /// The JSON Schema of its arguments, which are an object.
    pub schema: Json,
}

/// An answer.
#[derive(Debug, Default)]
pub(crate) struct ModelAnswer {
    pub text: String,
    /// Calls of tools, which are to be answered first.
    pub calls: Vec<ToolCall>,
    pub spent: TokenUsage,
    /// The answer as the provider gave it.
    pub raw: Option<String>,
    pub ended: Ended,
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The answer is complete.
    #[default]
    Whole,
    /// The answer was cut off at the maximum length.
    Cut,
}

/// The token usage of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenUsage {
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
    /// If there is no answer.
    pub async fn ask(&mut self, question: &Question<'_>) -> Result<ModelAnswer, FailureReason> {
        let text = match self {
            Self::Model(model) => return model.ask(question).await,
            Self::Script(script) => script.next().ok_or(FailureReason::ScriptEnded)?,
            Self::Eliza(eliza) => eliza.answer(question.heard),
            Self::Extract => {
                return Err(FailureReason::NoAnswer("it answers memories only".into()));
            }
        };
        Ok(ModelAnswer {
            spent: counted(question.turns, &text),
            text,
            ..ModelAnswer::default()
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

/// The estimated usage of a provider that is not a model.
fn counted(turns: &[ViewTurn], text: &str) -> TokenUsage {
    TokenUsage {
        input: turns
            .iter()
            .map(|turn| Heuristic.count_parts(&turn.draft.parts))
            .sum(),
        output: Heuristic.count(text),
        ..TokenUsage::default()
    }
}
