//! Summaries that the caller makes.

use std::fmt;
use std::sync::Arc;

use context::{Text, Tokens, Turn};
use conversation::Summary;
use conversation::homunculus::Preparation;
use conversation::identity::Key;
use history::ConversationId;
use jiff::Timestamp;
use model::{Made, Order, Prompt};

use crate::engine::Shared;

/// A summary to make. Have your model write it and give it to [`Engine::prepared`](crate::Engine::prepared), or
/// have it made without a model by [`Engine::extract`](crate::Engine::extract). Dropping it makes none: say so
/// with [`Engine::failed`](crate::Engine::failed).
pub struct Work {
    pub(crate) shared: Arc<Shared>,
    pub(crate) preparation: Preparation,
    pub(crate) order: Order,
    pub(crate) key: Key,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("conversation", &self.shared.id)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

impl Work {
    /// The work of a preparation, from the turns of its request.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        preparation: Preparation,
        turns: &[Turn],
        (model, name, key): (&tokens::Model, &Text, Key),
    ) -> Self {
        let cut = preparation.cut.min(turns.len());
        let (old, tail) = turns.split_at_checked(cut).unwrap_or((turns, &[]));
        let pins = shared
            .lock()
            .pins()
            .iter()
            .map(|pin| pin.text.clone())
            .collect();
        Self {
            shared: Arc::clone(shared),
            preparation,
            order: Order {
                old: old.into(),
                tail: tail.into(),
                pins,
                budget: preparation.budget,
                words: preparation.words,
                standing: preparation.standing,
                instructions: None,
                counter: Arc::new(model.counter()),
                model: name.to_string(),
            },
            key,
        }
    }

    /// The conversation.
    #[must_use]
    pub fn conversation(&self) -> ConversationId {
        self.shared.id
    }

    /// The largest summary, in tokens.
    #[must_use]
    pub const fn budget(&self) -> Tokens {
        self.order.budget
    }

    /// The name of the model that the conversation is held with.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.order.model
    }

    /// The turns that the summary replaces.
    #[must_use]
    pub fn turns(&self) -> &[Turn] {
        &self.order.old
    }

    /// The prompt for a model whose window has room for so many tokens of a source. Longer sources are
    /// clipped, their longest texts first.
    #[must_use]
    pub fn prompt(&self, room: Tokens) -> Prompt {
        model::prompt(&self.order, room)
    }
}

/// A summary as its conversation takes it.
pub(crate) fn summary(order: &Order, made: Made, fallen: Option<String>, at: Timestamp) -> Summary {
    let told = |text: String| conversation::originals::told(&order.old, &order.tail, &text);
    let lost = made.readable().map(told).unwrap_or_default();
    let fallen = fallen.map(|code| (history::Route::Readable, code));
    Summary {
        text: made.text,
        tokens: made.tokens,
        route: made.route,
        ledger: made.ledger,
        lost,
        beside: made.beside,
        spent: Vec::new(),
        fallen: fallen.into_iter().collect(),
        at,
    }
}
