//! Questions about requests, and changes to them, that each dialect answers in its own way.

use context::Tokens;

use super::{CompactionAsk, TextAsk};
use crate::api::edit::Edit;
use crate::api::request::Request;

impl Request<'_> {
    /// The user message that opens a view which begins at message `from`: one block per text where
    /// the dialect has blocks to mark as cache breakpoints, else one text.
    #[must_use]
    pub fn front_message(&self, from: usize, texts: &[&str]) -> String {
        (self.dialect.table().requests.front)(self, from, texts)
    }

    /// The number of messages that a native compaction covers which this request asks for. `None` where it
    /// asks for none.
    #[must_use]
    pub fn compacts(&self) -> Option<usize> {
        (self.dialect.table().requests.compacts)(self)
    }

    /// Checks that the provider's own summary may stand in front of the messages from `from` on.
    ///
    /// # Errors
    /// The reason why it may not, as a phrase.
    pub fn may_carry_compaction(&self, from: usize) -> Result<(), &'static str> {
        (self.dialect.table().requests.may_carry)(self, from)
    }

    /// The field, with its JSON, that asks why the reply after `previous` missed the cache. `None`
    /// where the dialect has no such question, or the client asks itself.
    #[must_use]
    pub fn cache_question(&self, previous: &str) -> Option<(&'static str, String)> {
        let key = self.dialect.facts().keys.cache_question?;
        let question = serde_json::json!({ "previous_message_id": previous });
        self.field(key)
            .is_none()
            .then(|| (key, question.to_string()))
    }

    /// The room in the window that an answer takes, thinking included.
    #[must_use]
    pub fn answer_room(&self, ask: &TextAsk) -> Tokens {
        (self.dialect.table().requests.answer_room)(self, ask)
    }

    /// The body of the refusal (status 400) of a request that is part of a message thread: a gateway
    /// that does not hold the history would see fragments. After it, clients send the whole
    /// conversation for the rest of their session. `None` for any other request.
    #[must_use]
    pub fn thread_refusal(&self) -> Option<String> {
        (self.dialect.table().requests.thread_refusal)(self)
    }

    /// The body of the refusal (status 400) of a request that names an earlier answer, if nothing is known of that
    /// answer. After it, clients send the whole conversation. `None` for a request that names no answer.
    #[must_use]
    pub fn unknown_answer(&self) -> Option<String> {
        (self.dialect.table().requests.unknown_answer)(self)
    }
}

impl<'r> Edit<'r> {
    /// Removes fields that the provider refuses beside its own summary.
    ///
    /// # Errors
    /// The reason, as a phrase, where the request cannot carry one.
    pub fn carrying_compaction(self) -> Result<Self, &'static str> {
        (self.request().dialect.table().requests.carrying)(self)
    }

    /// Makes a sent request ask for a native compaction, as a stream. `system`, `tools` and the
    /// messages keep their bytes, so the summary covers exactly these messages and the provider
    /// reads them from its cache.
    ///
    /// # Errors
    /// The reason, as a phrase, where the provider would refuse.
    pub fn asking_for_compaction(self, ask: &CompactionAsk<'_>) -> Result<Self, &'static str> {
        (self.request().dialect.table().requests.ask_for_compaction)(self, ask)
    }

    /// Makes a sent request answer with a text, as a stream. Nothing before its last message
    /// changes.
    #[must_use]
    pub fn asking_for_text(self, ask: &TextAsk) -> Self {
        let edit = self.set("stream", "true");
        (edit.request().dialect.table().requests.ask_for_text)(edit, ask)
    }
}
