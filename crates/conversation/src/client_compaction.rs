//! Answers the client's own compaction from the summary that is ready.

use context::extract::extract;
use context::{Part, Text, Tokens};
use history::{Mark, Route};
use jiff::Timestamp;
use wire::api::{Dialect, Request};

use std::sync::Arc;

use crate::conversation::Conversation;
use crate::identity::placed;
use crate::incoming::Incoming;
use crate::rewrite::{ClientCompaction, Direct, Wants, answer, answer_sealed};

/// The most that the turns behind a prepared summary may take in the answer.
const BEHIND: Tokens = Tokens::new(4_000);

/// A summary that can answer a client's own compaction.
#[derive(Clone, Debug)]
pub struct AtHand {
    mark: Arc<Mark>,
    /// The number of turns that it replaces.
    cut: usize,
    pins: String,
}

/// An answer to a client's compaction.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The answer.
    pub direct: Direct,
    /// The text of the summary, as parts.
    pub parts: Vec<Part>,
}

impl Conversation {
    /// Returns the summary that can answer this compaction. `None` if no summary is ready, or if
    /// the gateway must not answer.
    #[must_use]
    pub fn at_hand(&self, own: &ClientCompaction) -> Option<AtHand> {
        if !self.terms.is_on() || !self.terms.answer_compaction {
            return None;
        }
        let mark = self.overlay.as_ref()?.ready.clone()?;
        let cut = self.place_of(mark.node);
        (cut > 0 && cut <= own.covers).then(|| AtHand {
            mark,
            cut,
            pins: self.pins.in_full(),
        })
    }
}

impl AtHand {
    /// The answer, where what is at hand is enough. Computes for milliseconds where much was said since.
    #[must_use]
    pub fn answer(
        &self,
        incoming: &Incoming<'_>,
        own: &ClientCompaction,
        now: Timestamp,
    ) -> Option<Answered> {
        let (mark, request) = (&self.mark, incoming.request);
        match own.wants {
            Wants::Sealed if mark.route == Route::Native && self.cut == own.covers => {
                let message: serde_json::Value = serde_json::from_str(&mark.summary).ok()?;
                let block = message.get("content")?.get(0)?.to_string();
                // Only the very bytes are signed.
                if !mark.summary.contains(&block) {
                    return None;
                }
                let direct = answer_sealed(request, own, &block, now)?;
                let parts = parts_of(incoming.dialect(), &mark.summary)?;
                Some(Answered { direct, parts })
            }
            Wants::Text(_) if mark.route != Route::Native => {
                let text = self.text(incoming, own);
                let direct = answer(request, own, &text, now)?;
                let parts = vec![Part::Text(Text::from(text))];
                Some(Answered { direct, parts })
            }
            Wants::Sealed | Wants::Later(_) | Wants::Text(_) | Wants::Foreign => None,
        }
    }

    /// Pins, the summary, and what was said since, summarised without a model.
    fn text(&self, incoming: &Incoming<'_>, own: &ClientCompaction) -> String {
        let counter = incoming.model.counter();
        let mut turns = placed(incoming.request, self.cut, self.mark.node, &counter);
        turns.truncate(own.covers - self.cut);
        let mut texts = Vec::new();
        if !self.pins.is_empty() {
            texts.push(self.pins.clone());
        }
        texts.push(self.mark.summary.to_string());
        if !turns.is_empty() {
            texts.push(extract(&turns, &[], BEHIND, &counter).render());
        }
        texts.join("\n\n")
    }
}

/// The parts of a message in `dialect`.
fn parts_of(dialect: Dialect, message: &str) -> Option<Vec<Part>> {
    let body = format!(r#"{{"{}":[{message}]}}"#, dialect.list_key());
    let request = Request::parse(dialect, body.as_bytes()).ok()?;
    Some(request.message(0)?.draft().parts)
}
