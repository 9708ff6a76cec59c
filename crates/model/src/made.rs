//! A summary, with its costs and the attempts that led to it.

use std::fmt;

use context::quality::Quality;
use context::summary::Field;
use context::{Consumption, Text, Tokens};
use history::Route;
use tokens::{ModelTable, Usd};
use wire::api::Counts;

use crate::error::ModelError;

/// A summary.
#[derive(Clone, PartialEq)]
pub struct Made {
    /// The route that succeeded.
    pub route: Route,
    /// The readable text. Of a native summary, the part that the provider leaves readable; empty if all of it is sealed.
    pub text: Text,
    /// Native only: the first message of later requests, as JSON, byte for byte as the provider
    /// gave it: an assistant message with the block (Anthropic) or the item (Responses).
    pub message: Option<Text>,
    /// Native only: identifiers with the words around them that the text does not name, as list
    /// entries. On other routes the text holds them.
    pub ledger: Vec<String>,
    /// The texts beside a provider's own summary, which must stay as it is: the client's standing matter, the
    /// user's words, the state of the work. Empty on the other routes, where all of it is in `text` or in front of it.
    pub beside: Text,
    /// The size as shown, by the order's counter; for a sealed native summary, by the provider's count.
    pub tokens: Tokens,
    /// The costs, failed attempts included.
    pub spent: Vec<Spent>,
    /// The attempts that led to it.
    pub course: Course,
    /// The routes that were tried before, and why they failed.
    pub fallen: Vec<Fallen>,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made")
            .field("route", &self.route)
            .field("text", &self.text)
            .field("message", &self.message)
            .field("tokens", &self.tokens)
            .field("spent", &self.spent)
            .field("course", &self.course)
            .field("fallen", &self.fallen)
            .finish_non_exhaustive()
    }
}

impl Made {
    /// The cost by the shipped prices.
    #[must_use]
    pub fn cost(&self) -> Usd {
        self.spent.iter().map(|spent| spent.cost).sum()
    }

    /// All that the model reads in place of the turns, as far as it is told with the summary. `None` if the provider
    /// keeps the summary sealed.
    #[must_use]
    pub fn readable(&self) -> Option<String> {
        let ledger = self.ledger.join("\n");
        (!self.text.is_empty()).then(|| format!("{}\n{}\n{ledger}", self.text, self.beside))
    }
}

/// The form in which the model got its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// No model was asked for text.
    #[default]
    None,
    /// By the request that was sent, with one more message.
    Alongside,
    /// By a transcript.
    Apart,
    /// By a transcript in chunks.
    InChunks,
}

/// The attempts that led to a summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// The form in which the model got its source.
    pub manner: Manner,
    /// The number of attempts at the final text: 2 if the first one had defects.
    pub asked: u32,
    /// Fields that the model left empty and that were filled by extraction.
    pub completed: Vec<Field>,
    /// Entries of the ledger.
    pub ledger: usize,
    /// Chunks and groups of chunks that a model summarized.
    pub chunks_made: u32,
    /// Chunks and groups of chunks whose summaries were kept from earlier.
    pub chunks_kept: u32,
    /// The measured quality; `None` for sealed and extractive summaries.
    pub quality: Option<Quality>,
}

/// A route that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Fallen {
    /// The route that was tried.
    pub route: Route,
    /// Why.
    pub error: ModelError,
}

/// The usage of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// The model.
    pub model: String,
    /// Requests that it answered.
    pub requests: u32,
    /// Requests that were sent, repetitions included.
    pub attempts: u32,
    /// The tokens, by price class.
    pub used: Consumption,
    /// The cost by the shipped prices.
    pub cost: Usd,
}

impl Spent {
    /// Adds one answer to the costs.
    pub(crate) fn add(all: &mut Vec<Self>, model: &str, counts: &Counts, attempts: u32) {
        let used = counts.consumption();
        let cost = ModelTable::shipped().find(model).price.cost(&used);
        if let Some(spent) = all.iter_mut().find(|spent| spent.model == model) {
            spent.requests += 1;
            spent.attempts += attempts;
            spent.used = spent.used + used;
            spent.cost += cost;
            return;
        }
        all.push(Self {
            model: model.to_owned(),
            requests: 1,
            attempts,
            used,
            cost,
        });
    }
}
