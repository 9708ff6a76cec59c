//! A summary that the caller has a model write: what the model is told, and what becomes of its text. It
//! takes no client.

use context::Tokens;

use crate::draft::{Draft, Measure};
use crate::error::ModelError;
use crate::made::{Course, Made, Manner};
use crate::order::Order;
use crate::prompt::{Source, apart};
use crate::readable::{finish, wish};
use crate::transcript::{Fenced, fenced, fitting};

/// The text from which a model writes a summary.
#[derive(Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The instructions.
    pub system: String,
    /// The user's message: the turns as data between two fence lines.
    pub source: String,
}

impl std::fmt::Debug for Prompt {
    /// Without its text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompt")
            .field("system", &self.system.len())
            .field("source", &self.source.len())
            .finish()
    }
}

/// The prompt for a summary, with a transcript of at most `room` tokens.
#[must_use]
pub fn prompt(order: &Order, room: Tokens) -> Prompt {
    let data = fitting(1, &order.old, room, &*order.counter);
    let Fenced { fence, text } = fenced(&data);
    Prompt {
        system: apart(Source::Transcript, &fence, &wish(order, order.budget)),
        source: text,
    }
}

/// The summary that a model's text becomes: checked, completed by extraction, with its ledger.
///
/// # Errors
/// Where it is no summary, or not good enough.
pub fn written(order: &Order, text: &str) -> Result<Made, ModelError> {
    let measure = Measure {
        source: order.source_tokens(),
        longest: order.budget,
        counter: &*order.counter,
    };
    let draft = Draft::read(text.to_owned(), None, order.budget, &measure);
    let course = Course {
        manner: Manner::Apart,
        ..Course::default()
    };
    finish(order, draft, course)
}
