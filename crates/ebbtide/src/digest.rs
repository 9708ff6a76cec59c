//! A summary of a part of a request, outside any conversation: for callers that cut their messages themselves.

use std::fmt;
use std::sync::Arc;

use context::cut::{Cuts, Rule};
use context::split::{CompactionRatio, by_tokens};
use context::{Text, Tokens, Turn};
use model::{Order, Prompt};
use wire::api::Request;

use crate::client::Client;
use crate::engine::Engine;
use crate::error::EngineError;

/// The messages to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Keep {
    /// All but this share of the messages, from 0 to 1. At least the newest message is kept, and at least the
    /// oldest one summarized.
    AllBut(f64),
    /// The newest messages that fit into so many tokens.
    Newest(Tokens),
    /// The messages from this index on.
    From(usize),
}

/// The beginning of a request, to be replaced with a summary.
pub struct Digest {
    order: Order,
    kept: usize,
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digest")
            .field("order", &self.order)
            .field("kept", &self.kept)
            .finish()
    }
}

impl Engine {
    /// Counts the messages of a request, without its instructions and tools.
    ///
    /// # Errors
    /// [`EngineError::NotARequest`] where the body is not a request of the client's dialect.
    pub fn count(&self, client: &Client, body: &[u8]) -> Result<Tokens, EngineError> {
        let turns = self.turns(client, body)?.0;
        Ok(turns.iter().map(Turn::tokens).sum())
    }

    /// Cuts the messages of a request. No cut separates a tool call from its result; where the wanted place
    /// would, the cut moves towards the start. `None` where no cut leaves something on both sides.
    ///
    /// ```
    /// use ebbtide::{Dialect, Engine, Keep};
    ///
    /// let engine = Engine::builder().open()?;
    /// let client = engine.client("my key").speaking(Dialect::Chat);
    /// let said = |n| format!(r#"{{"role":"user","content":"message {n}"}}"#);
    /// let list = (1..=10).map(said).collect::<Vec<_>>().join(",");
    /// let body = format!(r#"{{"model":"gpt-5","messages":[{list}]}}"#);
    /// for (ratio, first_kept) in [(0.5, 6), (0.8, 9), (0.2, 3)] {
    ///     let digest = engine.digest(&client, body.as_bytes(), Keep::AllBut(ratio))?.expect("a cut");
    ///     assert_eq!(digest.kept_from() + 1, first_kept);
    /// }
    /// # Ok::<(), ebbtide::EngineError>(())
    /// ```
    ///
    /// # Errors
    /// [`EngineError::NotARequest`] where the body is not a request of the client's dialect, and
    /// [`EngineError::Setting`] for a share that is not from 0 to 1.
    pub fn digest(
        &self,
        client: &Client,
        body: &[u8],
        keep: Keep,
    ) -> Result<Option<Digest>, EngineError> {
        if let Keep::AllBut(ratio) = keep
            && !(0.0..=1.0).contains(&ratio)
        {
            return Err(EngineError::Setting {
                setting: "ratio",
                value: ratio.to_string(),
                range: "from 0 to 1",
            });
        }
        let (turns, model, name) = self.turns(client, body)?;
        let Some(kept) = place(&turns, keep) else {
            return Ok(None);
        };
        let (old, tail) = turns.split_at_checked(kept).unwrap_or((&turns, &[]));
        let size: Tokens = old.iter().map(Turn::tokens).sum();
        let limits = self.directory.terms.limits(&model);
        let order = Order {
            old: old.into(),
            tail: tail.into(),
            pins: Vec::new(),
            budget: limits.summary.min(size.scaled(SUMMARY).max(LEAST)),
            words: limits.words.min(size.scaled(WORDS).max(LEAST)),
            standing: Tokens::ZERO,
            instructions: None,
            counter: Arc::new(model.counter()),
            model: name.to_string(),
        };
        Ok(Some(Digest { order, kept }))
    }

    fn turns(
        &self,
        client: &Client,
        body: &[u8],
    ) -> Result<(Vec<Turn>, Arc<tokens::Model>, Text), EngineError> {
        let request = Request::parse(client.dialect, body)?;
        let name = Text::from(request.model().unwrap_or_default().into_owned());
        let model = self.directory.commons.model(&name);
        Ok((request.turns(&model.counter()), model, name))
    }
}

/// The largest summary, as a share of what it replaces.
const SUMMARY: f64 = 0.4;
/// The room for the user's own words, as a share of what is replaced.
const WORDS: f64 = 0.2;
/// The share of a room that is the summary's; the rest is for the user's own words.
const OF_ROOM: f64 = 0.6;
/// The least room for either, so that a summary of a few messages says something.
const LEAST: Tokens = Tokens::new(150);

/// The first turn to keep.
fn place(turns: &[Turn], keep: Keep) -> Option<usize> {
    let most = turns.len().checked_sub(1)?;
    let kept = match keep {
        Keep::AllBut(ratio) => {
            let ratio = CompactionRatio::new(ratio).unwrap_or_default();
            let wanted = ratio.old_of(turns.len()).clamp(1, most.max(1));
            Cuts::of(turns).at_most(wanted, Rule::Steps)?
        }
        Keep::Newest(tokens) => by_tokens(turns, tokens, Rule::Steps),
        Keep::From(index) => Cuts::of(turns).at_most(index, Rule::Steps)?,
    };
    (1..=most).contains(&kept).then_some(kept)
}

impl Digest {
    /// The same with a summary of at most about so many tokens.
    #[must_use]
    pub fn within(mut self, room: Tokens) -> Self {
        self.order.budget = self.order.budget.min(room.scaled(OF_ROOM));
        self.order.words = self.order.words.min(room.scaled(1.0 - OF_ROOM));
        self
    }

    /// The index of the first message to keep.
    #[must_use]
    pub const fn kept_from(&self) -> usize {
        self.kept
    }

    /// The tokens of the messages to replace.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.order.source_tokens()
    }

    /// Counts a text as the conversation's model does.
    #[must_use]
    pub fn count(&self, text: &str) -> Tokens {
        self.order.counter.count(text)
    }

    /// The prompt for a model whose window has room for so many tokens of a source.
    #[must_use]
    pub fn prompt(&self, room: Tokens) -> Prompt {
        model::prompt(&self.order, room)
    }

    /// A summary without a model.
    #[must_use]
    pub fn extract(&self) -> Text {
        model::extractive(&self.order).text
    }

    /// The summary that a model's text becomes: checked, and completed from the originals.
    ///
    /// # Errors
    /// [`EngineError::Rejected`] where it is no summary, or not good enough.
    pub fn written(&self, text: &str) -> Result<Text, EngineError> {
        let made = model::written(&self.order, text).map_err(EngineError::Rejected)?;
        Ok(made.text)
    }
}
