//! Counts messages and remembers them: a conversation comes again with every request.

use std::collections::HashMap;
use std::sync::Arc;

use context::TokenCounter;
use tokens::{Model, ModelTable, counter_for};

use crate::anthropic::content::Message;
use crate::openai::Item;
use crate::refusal::Refusal;
use crate::seal::{Print, print};

/// The most counts in memory; then all are dropped and made again.
const COUNTS: usize = 200_000;

/// The most bytes of messages in memory; then all are dropped and read again.
const REMEMBERED: usize = 128 << 20;

/// A model with its counter.
#[derive(Clone)]
pub(crate) struct Known {
    pub asked: String,
    pub model: Arc<Model>,
    pub counter: Arc<dyn TokenCounter>,
}

impl Known {
    /// The tokens of a text.
    pub fn count(&self, text: &str) -> u64 {
        self.counter.count(text).get()
    }

    /// A text cut to `limit` tokens, and its tokens.
    pub fn shorten(&self, mut text: String, limit: u64) -> (String, u64) {
        let mut tokens = self.count(&text);
        while tokens > limit {
            let characters = text.chars().count();
            // Tokens are no fixed number of characters: come close, then again.
            let keep = characters as u64 * limit / tokens.max(1);
            let keep = usize::try_from(keep).unwrap_or(0);
            let keep = keep.min(characters.saturating_sub(1));
            text = text.chars().take(keep).collect();
            tokens = self.count(&text);
        }
        (text, tokens)
    }
}

/// Counters by model, messages by content.
#[derive(Default)]
pub(crate) struct Lexicon {
    models: HashMap<String, Known>,
    messages: HashMap<Print, Arc<Message>>,
    items: HashMap<Print, Arc<Item>>,
    counts: HashMap<Print, u64>,
    /// The bytes of the messages and items that are remembered.
    held: usize,
}

impl Lexicon {
    /// The model with this name.
    pub fn model(&mut self, name: &str) -> Known {
        if let Some(known) = self.models.get(name) {
            return known.clone();
        }
        let known = Known {
            asked: name.to_owned(),
            model: Arc::new(ModelTable::shipped().find(name)),
            counter: counter_for(name),
        };
        self.models.insert(name.to_owned(), known.clone());
        known
    }

    /// The message `raw`.
    pub fn message(
        &mut self,
        known: &Known,
        index: usize,
        raw: &str,
    ) -> Result<Arc<Message>, Refusal> {
        let key = print(&[known.asked.as_bytes(), raw.as_bytes()]);
        if let Some(message) = self.messages.get(&key) {
            return Ok(Arc::clone(message));
        }
        self.make_room(raw.len());
        let message = Arc::new(Message::read(raw, index, &|text| known.count(text))?);
        self.messages.insert(key, Arc::clone(&message));
        Ok(message)
    }

    /// The item `raw`.
    pub fn item(&mut self, known: &Known, raw: &str) -> Result<Arc<Item>, Refusal> {
        let key = print(&[known.asked.as_bytes(), raw.as_bytes()]);
        if let Some(item) = self.items.get(&key) {
            return Ok(Arc::clone(item));
        }
        self.make_room(raw.len());
        let item = Arc::new(Item::read(raw, known)?);
        self.items.insert(key, Arc::clone(&item));
        Ok(item)
    }

    fn make_room(&mut self, bytes: usize) {
        if self.held + bytes > REMEMBERED {
            self.messages.clear();
            self.items.clear();
            self.held = 0;
        }
        self.held += bytes;
    }

    /// The tokens of a text that comes again and again.
    pub fn count(&mut self, known: &Known, text: &str) -> u64 {
        let key = print(&[known.asked.as_bytes(), text.as_bytes()]);
        if let Some(tokens) = self.counts.get(&key) {
            return *tokens;
        }
        if self.counts.len() >= COUNTS {
            self.counts.clear();
        }
        let tokens = known.count(text);
        self.counts.insert(key, tokens);
        tokens
    }
}
