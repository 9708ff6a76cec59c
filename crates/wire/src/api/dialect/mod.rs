//! One module per provider dialect, all behind one table.
//!
//! Each module fills one [`Table`]: [`Facts`] for the differences that are data, functions for those
//! that are code. A table has no defaults, so the compiler lists what a new dialect still lacks. No other module asks which
//! dialect a request speaks.

mod anthropic;
mod chat;
mod facts;
mod request;
mod responses;

use std::fmt;

use context::{Part, Role, Tokens, TurnDraft};

use super::edit::Edit;
use super::insertion::{Insertion, SystemMessages};
use super::json::tree::{Tree, Value};
use super::json::write::Object;
use super::message::Message;
use super::prefix::Prefix;
use super::reply::Stop;
use super::request::Request;
use super::sealed::{Closed, Opener};
use super::stream::Stream;
use super::synthetic::{Frame, Written};

pub use facts::{
    Betas, Compaction, Facts, Keys, Layout, OwnRequests, Provider, ResultPlace, Server,
    SystemBetween,
};

/// A provider's request format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Anthropic Messages (`POST /v1/messages`).
    Anthropic,
    /// OpenAI Chat Completions (`POST /v1/chat/completions`).
    Chat,
    /// OpenAI Responses (`POST /v1/responses`).
    Responses,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::Chat, Self::Responses];

    /// The module behind a dialect. This is the only place that tells dialects apart.
    pub(in crate::api) const fn table(self) -> &'static Table {
        match self {
            Self::Anthropic => &anthropic::TABLE,
            Self::Chat => &chat::TABLE,
            Self::Responses => &responses::TABLE,
        }
    }

    /// The fixed properties of the dialect.
    #[must_use]
    pub const fn facts(self) -> &'static Facts {
        &self.table().facts
    }

    /// The dialect with this name in configuration files (see [`Facts::name`]).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.facts().name == name)
    }

    /// The top-level key under which a request keeps its messages.
    #[must_use]
    pub const fn list_key(self) -> &'static str {
        self.facts().keys.list
    }

    /// A tool definition as JSON. `schema` is the JSON Schema of the arguments.
    #[must_use]
    pub fn tool(self, name: &str, description: Option<&str>, schema: &serde_json::Value) -> String {
        let mut named = Object::new().text("name", name);
        if let Some(description) = description {
            named = named.text("description", description);
        }
        (self.table().requests.tool)(named, &schema.to_string())
    }

    /// Reply pieces as one message to send back (see [`Reply::message`](super::Reply::message)).
    #[must_use]
    pub fn message_of(self, pieces: &[String]) -> String {
        if pieces.is_empty() {
            return String::new();
        }
        (self.table().replies.message)(pieces)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().name)
    }
}

/// A request for a native compaction; see [`Edit::asking_for_compaction`].
#[derive(Clone, Copy, Debug)]
pub struct CompactionAsk<'a> {
    /// Instructions for the summary; blank ones are left out.
    pub instructions: Option<&'a str>,
    /// The answer limit, unless the client's own limit is higher.
    pub least: Tokens,
}

/// A request for a plain text behind the messages of a sent request; see
/// [`Edit::asking_for_text`].
#[derive(Clone, Copy, Debug)]
pub struct TextAsk {
    /// The longest text.
    pub longest: Tokens,
    /// The longest answer that the model writes, thinking included.
    pub most: Tokens,
    /// Set after the model answered the same question with a tool call.
    pub forbid_calls: bool,
}

/// Everything that differs between dialects.
pub(in crate::api) struct Table {
    pub facts: Facts,
    pub messages: Messages,
    pub replies: Replies,
    pub requests: Requests,
}

/// Functions over messages.
pub(in crate::api) struct Messages {
    /// The role of an element with this `type` and `role`.
    pub role: fn(Option<&str>, Option<&str>) -> Role,
    /// The turn that the elements of one message of this role make.
    pub draft: fn(Role, &[Tree<'_>]) -> TurnDraft,
    /// The value of each tool result in one element; `None` for a result without one.
    pub results: fn(Value<'_>) -> Vec<Option<Value<'_>>>,
    /// The `type` of a text block in a message of this role.
    pub text_type: fn(Role) -> &'static str,
    /// A turn as zero or more messages.
    pub write: fn(Role, &[Part]) -> Vec<String>,
}

/// Functions over replies. Pieces are content blocks, the one message, or output items.
pub(in crate::api) struct Replies {
    /// The pieces of a reply body, and why the model stopped.
    pub read: fn(Value<'_>) -> (Vec<String>, Option<Stop>),
    /// The parts of the assistant turn that pieces make.
    pub parts: fn(&[String]) -> Vec<Part>,
    /// Pieces, one at least, as a message of the next request.
    pub message: fn(&[String]) -> String,
    /// The start of an event stream.
    pub stream: fn() -> Box<dyn Stream>,
    /// A reply that says a text.
    pub say: fn(&Frame, &str) -> Written,
    /// A reply that holds the provider's own compaction block and nothing else.
    pub say_compaction: fn(&Frame, &str) -> Option<Written>,
    /// The block or item of a sealed summary of ours.
    pub sealed_piece: fn(&Frame, &Closed<'_>) -> Option<String>,
    /// A reply that holds this block or item of ours.
    pub say_sealed: fn(&Frame, &str, &Closed<'_>) -> Option<Written>,
    /// Puts a block or item in front of an answer.
    pub prefix: fn(serde_json::Value) -> Option<Box<dyn Prefix>>,
}

/// Functions over requests. Refusals are phrases.
pub(in crate::api) struct Requests {
    /// The user message with these texts that opens a view which begins at this message.
    pub front: fn(&Request<'_>, usize, &[&str]) -> String,
    /// The change at the newest message by which a note reaches the model.
    pub note: fn(&Request<'_>, &Message<'_>, SystemMessages, &str) -> Option<Insertion>,
    /// The number of messages that a native compaction covers which the request asks for.
    pub compacts: fn(&Request<'_>) -> Option<usize>,
    /// Checks that the provider's own summary may stand in front of a view from this message.
    pub may_carry: fn(&Request<'_>, usize) -> Result<(), &'static str>,
    /// Removes fields that the provider refuses beside its own summary.
    pub carrying: fn(Edit<'_>) -> Result<Edit<'_>, &'static str>,
    /// Turns a sent request into one for a native compaction.
    pub ask_for_compaction: AskForCompaction,
    /// Removes fields of a sent request that would keep the answer from being a text.
    pub ask_for_text: for<'r> fn(Edit<'r>, &TextAsk) -> Edit<'r>,
    /// The room that an answer takes, thinking included.
    pub answer_room: fn(&Request<'_>, &TextAsk) -> Tokens,
    /// The elements of the list with readable text in place of sealed summaries that are opened.
    pub unseal: fn(&[&str], &mut Opener<'_>) -> Option<Vec<String>>,
    /// The body that refuses a request of a message thread.
    pub thread_refusal: fn(&Request<'_>) -> Option<String>,
    /// The body that refuses a request because the answer that it names is not known.
    pub unknown_answer: fn(&Request<'_>) -> Option<String>,
    /// A tool definition from its name and description, and the schema as JSON.
    pub tool: fn(Object, &str) -> String,
}

type AskForCompaction = for<'r> fn(Edit<'r>, &CompactionAsk<'_>) -> Result<Edit<'r>, &'static str>;

/// The message in front of a view, where no block of it can be marked.
fn plain_front(_: &Request<'_>, _: usize, texts: &[&str]) -> String {
    let message = Object::new().text("role", "user");
    message.text("content", &texts.join("\n\n")).end()
}
