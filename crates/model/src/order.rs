//! Orders for summaries: the source, the budget, the routes.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use context::extract::Room;
use context::{Text, TokenCounter, Tokens, Turn};
use history::Route;
use tokens::{ModelTable, counter_for};

use crate::chunk::Chunks;
use crate::endpoint::Endpoint;

/// An order to summarize the earlier part of a conversation. Cloning shares everything.
#[derive(Clone)]
pub struct Order {
    /// The turns that the summary replaces: the originals, from the conversation's first one to
    /// the cut.
    pub old: Arc<[Turn]>,
    /// The turns behind them, which stay in view.
    pub tail: Arc<[Turn]>,
    /// The texts of the pins in force. They stay in view in full, so the summary does not repeat them.
    pub pins: Vec<Text>,
    /// The largest summary, its ledger included and the user's own words not. A native summary may exceed it.
    pub budget: Tokens,
    /// The room for the user's own words, which stand in front of the summary.
    pub words: Tokens,
    /// The room for what the client itself put into the conversation. Matter that does not fit counts as the
    /// user's words.
    pub standing: Tokens,
    /// The operator's own instructions for the summariser.
    pub instructions: Option<Text>,
    /// Counts for the agent's model.
    pub counter: Arc<dyn TokenCounter>,
    /// The agent's model.
    pub model: String,
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order")
            .field("old", &self.old.len())
            .field("tail", &self.tail.len())
            .field("pins", &self.pins.len())
            .field("budget", &self.budget)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Order {
    /// The sizes of the summary.
    #[must_use]
    pub const fn room(&self) -> Room {
        Room {
            words: self.words,
            standing: self.standing,
            summary: self.budget,
        }
    }

    /// The tokens of the turns to summarize.
    #[must_use]
    pub fn source_tokens(&self) -> Tokens {
        self.old.iter().map(Turn::tokens).sum()
    }
}

/// The completeness of the view in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// All turns are the originals.
    Originals,
    /// A summary or a shortened text replaces some turns.
    Part,
}

/// A request that was sent already, as it went to the provider. The provider's cache holds it from the
/// moment its answer begins; asked earlier, the same bytes are paid again.
#[derive(Clone)]
pub struct Sent {
    /// The endpoint that it was sent to, with the headers that it carried
    /// ([`Endpoint::with_headers`]).
    pub endpoint: Endpoint,
    /// The body, byte for byte.
    pub body: Bytes,
    /// The completeness of its view.
    pub shows: Shows,
    /// The size of its input: as the provider reported it, else as counted.
    pub tokens: Tokens,
    /// The model's window.
    pub window: Tokens,
}

impl fmt::Debug for Sent {
    /// Without the body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sent")
            .field("endpoint", &self.endpoint)
            .field("body", &self.body.len())
            .field("shows", &self.shows)
            .finish_non_exhaustive()
    }
}

/// A model that summarizes a transcript.
#[derive(Clone)]
pub struct Writer {
    /// The model's endpoint.
    pub endpoint: Endpoint,
    /// The model's name at the endpoint.
    pub model: String,
    /// The model's window.
    pub window: Tokens,
    /// The most that it writes in one answer.
    pub longest: Tokens,
    /// Counts for it.
    pub counter: Arc<dyn TokenCounter>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("endpoint", &self.endpoint)
            .field("model", &self.model)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// A model with the window and the counter that the shipped table gives it.
    #[must_use]
    pub fn new(endpoint: Endpoint, model: &str) -> Self {
        let known = ModelTable::shipped().find(model);
        Self {
            endpoint,
            model: model.to_owned(),
            window: known.window,
            longest: known.max_output,
            counter: counter_for(model),
        }
    }

    /// The same model with another window.
    #[must_use]
    pub const fn with_window(mut self, window: Tokens) -> Self {
        self.window = window;
        self
    }
}

/// The ways that are open, the first one to try among them.
#[derive(Clone)]
pub struct Routes {
    /// The first route to try; the next ones are tried in the order native, readable, extractive.
    pub first: Route,
    /// The request whose messages the provider summarizes: exactly the order's `old` turns.
    pub native: Option<Sent>,
    /// A request behind which the agent's own model is asked for a readable summary, reading its cache.
    /// The request that shows the order's `old` and `tail`. `None` where another model writes.
    pub alongside: Option<Sent>,
    /// The model that is given a transcript where the request above cannot be used.
    pub apart: Option<Writer>,
    /// The store for summaries of chunks.
    pub chunks: Arc<dyn Chunks>,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes")
            .field("first", &self.first)
            .field("native", &self.native)
            .field("alongside", &self.alongside)
            .field("apart", &self.apart)
            .finish_non_exhaustive()
    }
}
