//! Texts that are added to a conversation at its newest message.

use context::{Part, Role};

use super::dialect::ResultPlace;
use super::json::write::Object;
use super::message::Message;
use super::request::Request;

/// A change at one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// A new message behind it, as JSON.
    After(String),
    /// A new block at its end, as JSON.
    Block(String),
}

/// The places at which a model takes system messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemMessages {
    /// Between other messages too.
    Anywhere,
    /// Only in front of all others.
    InFront,
}

impl Insertion {
    /// A message of `role` that says `text`.
    pub(super) fn after(role: &str, text: &str) -> Self {
        Self::After(Object::new().text("role", role).text("content", text).end())
    }
}

impl Message<'_> {
    /// A text block at the end, where the message has a place for one.
    pub(super) fn appended(&self, text: &str) -> Option<Insertion> {
        let kind = (self.dialect.table().messages.text_type)(Role::User);
        let block = Object::new().text("type", kind).text("text", text).end();
        self.edit().with_block(&block).render()?;
        Some(Insertion::Block(block))
    }

    /// A quick look: `false` means that the message holds no tool result.
    #[must_use]
    pub fn may_hold_results(&self) -> bool {
        match self.dialect.facts().layout.results {
            ResultPlace::Blocks => self.contains("tool_result"),
            ResultPlace::Messages => self.role() == Role::Tool,
        }
    }

    /// Returns `true` if the message holds a tool result.
    #[must_use]
    pub fn holds_results(&self) -> bool {
        let is_result = |part: &Part| matches!(part, Part::Result(_));
        self.may_hold_results()
            && match self.dialect.facts().layout.results {
                ResultPlace::Blocks => self.draft().parts.iter().any(is_result),
                ResultPlace::Messages => true,
            }
    }

    /// A quick look: `false` means that the message holds no thinking that is bound to its place.
    #[must_use]
    pub fn may_think(&self) -> bool {
        self.dialect.facts().layout.binds_thinking
            && self.role() == Role::Assistant
            && self.contains("thinking")
    }

    /// Returns `true` if the bytes of the message contain `word`.
    #[must_use]
    pub fn contains(&self, word: &str) -> bool {
        memchr::memmem::find(self.raw().as_bytes(), word.as_bytes()).is_some()
    }
}

impl Request<'_> {
    /// The last message.
    #[must_use]
    pub fn newest(&self) -> Option<Message<'_>> {
        self.message(self.len().checked_sub(1)?)
    }

    /// The change at the newest message that brings a note to the model, never between a call and
    /// its result. `None` where `text` is empty, and where the model has no channel: the newest
    /// message is its own, or it is a tool's and only the first message may be a system message.
    ///
    /// | dialect | model | channel |
    /// |---|---|---|
    /// | Anthropic | takes system messages anywhere | a system message that clears itself at the next user message; one that stays if the client leaves its breakpoint to the provider |
    /// | Anthropic | any other | a text block at the end of the newest user message |
    /// | Chat | takes system messages anywhere | a `system` message behind the newest message |
    /// | Chat | any other | a text block at the end of the newest user message |
    /// | Responses | all | a `developer` message behind the newest message |
    #[must_use]
    pub fn note(&self, takes: SystemMessages, text: &str) -> Option<Insertion> {
        let newest = self.newest().filter(is_not_the_models)?;
        if text.is_empty() {
            return None;
        }
        (self.dialect.table().requests.note)(self, &newest, takes, text)
    }

    /// The change at the newest message that restates pins. `None` where `text` is blank, or the
    /// newest message is the model's own and not a compaction.
    ///
    /// | newest message | channel |
    /// |---|---|
    /// | the user's, on Anthropic also one of tool results | a block at its end |
    /// | the provider's own summary | a `user` message behind it |
    /// | a tool's, on Responses | a `developer` message behind it: a model could take a user message for a question |
    /// | any other | a `user` message behind it |
    #[must_use]
    pub fn restatement(&self, text: &str) -> Option<Insertion> {
        let newest = self.newest()?;
        if text.trim().is_empty() || !(is_not_the_models(&newest) || is_compaction(&newest)) {
            return None;
        }
        let role = match newest.role() {
            Role::User => match newest.appended(text) {
                None => "user",
                block => return block,
            },
            Role::Tool => self.dialect.facts().layout.after_tool,
            _ => "user",
        };
        Some(Insertion::after(role, text))
    }
}

/// Returns `false` also for roles that are not known.
fn is_not_the_models(message: &Message<'_>) -> bool {
    matches!(message.role(), Role::User | Role::Tool | Role::System)
}

/// Returns `true` for the provider's own summary with nothing beside it.
fn is_compaction(message: &Message<'_>) -> bool {
    let is_block =
        |part: &Part| matches!(part, Part::Opaque(it) if it.kind.as_str() == "compaction");
    let parts = message.draft().parts;
    !parts.is_empty() && parts.iter().all(is_block)
}
