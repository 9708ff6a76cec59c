//! One module per provider dialect, all behind one table.
//!
//! [`Facts`] holds what differs and is data; [`Table`] holds what differs and is code. Neither has
//! defaults, so the compiler lists what a new dialect still lacks. No other module asks which
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
use super::reply::Stop;
use super::request::Request;
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
    pub(in crate::api) const fn table(self) -> &'static dyn Table {
        match self {
            Self::Anthropic => &anthropic::Anthropic,
            Self::Chat => &chat::Chat,
            Self::Responses => &responses::Responses,
        }
    }

    /// The fixed properties of the dialect.
    #[must_use]
    pub fn facts(self) -> &'static Facts {
        self.table().facts()
    }

    /// The dialect with this name in configuration files (see [`Facts::name`]).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.facts().name == name)
    }

    /// The top-level key under which a request keeps its messages.
    #[must_use]
    pub fn list_key(self) -> &'static str {
        self.facts().keys.list
    }

    /// A tool definition as JSON. `schema` is the JSON Schema of the arguments.
    #[must_use]
    pub fn tool(self, name: &str, description: &str, schema: &serde_json::Value) -> String {
        self.table().tool(name, description, schema)
    }

    /// Reply pieces as one message to send back (see [`Reply::message`](super::Reply::message)).
    #[must_use]
    pub fn message_of(self, pieces: &[String]) -> String {
        if pieces.is_empty() {
            return String::new();
        }
        self.table().message_of(pieces)
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

/// The message in front of a view, where no block of it can be marked.
fn plain_front(texts: &[&str]) -> String {
    let message = Object::new().text("role", "user");
    message.text("content", &texts.join("\n\n")).end()
}

/// The code that differs between dialects.
pub(in crate::api) trait Table: Sync {
    fn facts(&self) -> &'static Facts;

    // Messages.

    /// The role of an element with this `type` and `role`.
    fn role(&self, kind: Option<&str>, role: Option<&str>) -> Role;
    /// The turn that the elements of one message make.
    fn draft(&self, role: Role, elements: &[Tree<'_>]) -> TurnDraft;
    /// The value of each tool result in one element, where it has one.
    fn results<'t>(&self, element: Value<'t>) -> Vec<Option<Value<'t>>>;
    /// The `type` of a text block in a message of `role`.
    fn text_type(&self, role: Role) -> &'static str;
    /// A turn as zero or more messages.
    fn write(&self, role: Role, parts: &[Part]) -> Vec<String>;

    // Replies.

    /// The pieces of a reply body, and why the model stopped.
    fn read_reply(&self, body: Value<'_>) -> (Vec<String>, Option<Stop>);
    /// The assistant turn that reply pieces make.
    fn draft_reply(&self, pieces: &[String]) -> TurnDraft;
    /// Reply pieces, one at least, as a message of the next request.
    fn message_of(&self, pieces: &[String]) -> String;
    /// The start of an event stream.
    fn stream(&self) -> Box<dyn Stream>;
    /// A reply that says `text`.
    fn say(&self, frame: &Frame, text: &str) -> Written;
    /// A reply that holds the provider's own compaction `block` and nothing else.
    fn say_compaction(&self, frame: &Frame, block: &str) -> Option<Written>;

    // Requests.

    /// The user message that opens a view which begins at message `from`.
    fn front(&self, request: &Request<'_>, from: usize, texts: &[&str]) -> String;
    /// The change by which a note reaches the model.
    fn note(
        &self,
        request: &Request<'_>,
        newest: &Message<'_>,
        takes: SystemMessages,
        text: &str,
    ) -> Option<Insertion>;
    /// How many messages a native compaction that the request asks for covers.
    fn compacts(&self, request: &Request<'_>) -> Option<usize>;
    /// Refuses a view from message `from` behind the provider's own summary.
    fn may_carry(&self, request: &Request<'_>, from: usize) -> Result<(), &'static str>;
    /// Takes out what the provider refuses beside its own summary.
    fn carrying<'r>(&self, edit: Edit<'r>) -> Result<Edit<'r>, &'static str>;
    /// Turns a sent request into one for a native compaction.
    fn ask_for_compaction<'r>(
        &self,
        edit: Edit<'r>,
        ask: &CompactionAsk<'_>,
    ) -> Result<Edit<'r>, &'static str>;
    /// Takes out of a sent request what would keep the answer from being a text.
    fn ask_for_text<'r>(&self, edit: Edit<'r>, ask: &TextAsk) -> Edit<'r>;
    /// The room that an answer takes, with what the request lets the model think.
    fn answer_room(&self, request: &Request<'_>, ask: &TextAsk) -> Tokens;
    /// The body that refuses a request of a message thread.
    fn thread_refusal(&self, request: &Request<'_>) -> Option<String>;
    /// A tool definition.
    fn tool(&self, name: &str, description: &str, schema: &serde_json::Value) -> String;
}
