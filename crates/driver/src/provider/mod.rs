//! Who answers for an agent.

mod eliza;
mod script;

use std::sync::Arc;

use context::{Heuristic, TokenCounter, Tokens, TurnDraft};

use crate::error::Why;
pub(crate) use eliza::Eliza;
pub(crate) use script::Script;

/// Who answers.
#[derive(Debug)]
pub(crate) enum Provider {
    /// The lines of a file, in turn.
    Script(Arc<Script>),
    /// Questions made of what was said.
    Eliza(Box<Eliza>),
    /// A summary made without a model; it answers for `Mem.compressor`.
    Extract,
}

/// What an agent is asked.
pub(crate) struct Question<'a> {
    /// All that the agent is shown: its prompt, its memory, the message, and what came of it so far.
    pub turns: &'a [TurnDraft],
    /// The message alone.
    pub heard: &'a str,
}

/// What was said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub text: String,
    pub spent: Spent,
}

/// What an answer took.
#[derive(Clone, Copy, Debug, Default)]
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
            Self::Script(script) => script.next().ok_or(Why::ScriptEnded)?,
            Self::Eliza(eliza) => eliza.answer(question.heard),
            Self::Extract => return Err(Why::NoAnswer("it answers memories only".into())),
        };
        Ok(Said {
            spent: counted(question.turns, &text),
            text,
        })
    }

    /// The window of the model.
    pub fn window(&self) -> Tokens {
        match self {
            Self::Script(_) | Self::Eliza(_) | Self::Extract => Tokens::new(200_000),
        }
    }
}

/// What a model would have been sent and would have written, by a rough count: for those that are none.
fn counted(turns: &[TurnDraft], text: &str) -> Spent {
    Spent {
        input: turns
            .iter()
            .map(|turn| Heuristic.count_parts(&turn.parts))
            .sum(),
        output: Heuristic.count(text),
        ..Spent::default()
    }
}
