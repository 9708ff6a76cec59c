//! What is known of the conversations, for the dashboard, the control interface and the command line.

use std::ops::Range;

use context::coded::{Coded, ErrorCode};
use context::pin::PinId;
use futures_util::future::BoxFuture;
use history::{ConversationId, HistoryError, MarkId, Tenant};
use serde::Serialize;

pub use conversation::Order;

use crate::error;

/// Who asks, and what they may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The owner of a key: their own conversations.
    Tenant(Tenant),
    /// Who may see everything.
    All,
}

impl Asker {
    /// Whether the asker may see what a tenant owns.
    #[must_use]
    pub fn may_see(self, owner: Tenant) -> bool {
        match self {
            Self::Tenant(tenant) => tenant == owner,
            Self::All => true,
        }
    }
}

/// Why a report was not given or an order not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no such conversation, or the asker may not see it: both are answered alike.
    #[error("there is no such conversation")]
    NoConversation,
    /// Orders are carried out with a request, and it has had none for a while.
    #[error("the conversation is at rest")]
    AtRest,
    /// There is no such summary in the conversation.
    #[error("there is no such summary in the conversation")]
    NoMark,
    /// It was refused by a rule of another crate.
    #[error("{message}")]
    Refused {
        /// That crate's code.
        code: ErrorCode,
        /// What it says. No message text.
        message: String,
    },
    /// The strategy does not keep the pin.
    #[error("the strategy keeps no more pins")]
    NotKept,
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[from] HistoryError),
}

impl ReportError {
    /// As another crate says it.
    #[must_use]
    pub fn refused(reason: &dyn Coded) -> Self {
        Self::Refused {
            code: reason.code(),
            message: reason.to_string(),
        }
    }
}

impl Coded for ReportError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoConversation => error::NO_CONVERSATION,
            Self::AtRest => error::AT_REST,
            Self::NotKept => error::PIN_NOT_KEPT,
            Self::NoMark => error::NO_MARK,
            Self::Refused { code, .. } => *code,
            Self::Store(_) => error::STORE,
        }
    }
}

/// What a report answers with.
pub type Report<'a, T> = BoxFuture<'a, Result<T, ReportError>>;

/// Tells of the conversations and takes orders about them. What the asker may not see does not exist
/// for them.
pub trait Reports: Send + Sync {
    /// All conversations that the asker may see.
    fn overview(&self, asker: Asker) -> Report<'_, Overview>;

    /// One conversation.
    fn detail(&self, asker: Asker, id: ConversationId) -> Report<'_, Detail>;

    /// A summary and these of the turns it stands for, counted from 0.
    fn replaced(
        &self,
        asker: Asker,
        id: ConversationId,
        mark: MarkId,
        turns: Range<usize>,
    ) -> Report<'_, Replaced>;

    /// Sets a pin.
    fn pin(&self, asker: Asker, id: ConversationId, text: String) -> Report<'_, PinReport>;

    /// Removes a pin; `false` where there was none.
    fn unpin(&self, asker: Asker, id: ConversationId, pin: PinId) -> Report<'_, bool>;

    /// Gives the conversation's supervisor an order.
    fn order(&self, asker: Asker, id: ConversationId, order: Order) -> Report<'_, ()>;
}

/// All conversations that the asker may see.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Overview {
    /// The gateway's version.
    pub version: String,
    /// `on` or `observe`.
    pub mode: &'static str,
    /// The strategy's name.
    pub strategy: String,
    /// The conversations, the one last seen first.
    pub conversations: Vec<Line>,
    /// All of them together.
    pub totals: Money,
}

/// One conversation in a list.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// Its id.
    pub id: String,
    /// The client's name for it; empty where it has none.
    pub name: String,
    /// The conversation that started it or that it branched off from.
    pub parent: Option<String>,
    /// The model.
    pub model: String,
    /// `idle`, `preparing`, `ready`, `backing-off` or `stopped`.
    pub state: &'static str,
    /// How full its window is.
    pub gauge: Gauge,
    /// Messages of the conversation.
    pub turns: u64,
    /// Swaps so far.
    pub compactions: u32,
    /// When it was first seen, RFC 3339.
    pub began: String,
    /// When it was last seen, RFC 3339.
    pub seen: String,
    /// What it used.
    pub money: Money,
}

/// How full a window is. Everything in tokens.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Gauge {
    /// The view as last sent.
    pub tokens: u64,
    /// The window; 0 where it is not known.
    pub window: u64,
    /// A preparation starts here.
    pub soft: u64,
    /// A summary is swapped in here.
    pub hard: u64,
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Money {
    /// Requests answered.
    pub requests: u64,
    /// Input tokens, neither read from nor written to the cache.
    pub fresh: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
    /// Cost in USD.
    pub cost: f64,
    /// What it would have cost with a client that summarises for itself at the hard threshold: an estimate.
    pub cost_without: f64,
    /// Requests that would have waited or failed at the window without us.
    pub stalls_avoided: u32,
}

/// One conversation in full.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Detail {
    /// What the list says of it.
    pub line: Line,
    /// The size of each of the newest requests, oldest first.
    pub pressure: Vec<Sample>,
    /// Its summaries, oldest first.
    pub marks: Vec<MarkReport>,
    /// What is in the window now.
    pub classes: Vec<Share>,
    /// The pins in force.
    pub pins: Vec<PinReport>,
    /// What happened, newest first: swaps, preparations, failures, refusals.
    pub journal: Vec<Entry>,
}

/// One request.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Sample {
    /// Seconds since the conversation began.
    pub at: f64,
    /// Tokens of the view.
    pub tokens: u64,
    /// Tokens of the conversation as it was said.
    pub unchanged: u64,
    /// Whether a summary was swapped in with it.
    pub swapped: bool,
}

/// One summary.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MarkReport {
    /// Its id.
    pub id: String,
    /// `native`, `readable` or `extractive`.
    pub route: &'static str,
    /// When it was made, RFC 3339.
    pub at: String,
    /// `standing`, `ready` or `replaced`.
    pub state: &'static str,
    /// How many messages it stands for.
    pub replaced_turns: usize,
    /// Their tokens.
    pub replaced_tokens: u64,
    /// Its own tokens.
    pub tokens: u64,
    /// Its text; for a native block the readable part.
    pub text: String,
}

/// One summary and some of the turns it stands for.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Replaced {
    /// What the list says of the conversation.
    pub line: Line,
    /// The summary. Its `replaced_turns` says how many turns there are in all.
    pub mark: MarkReport,
    /// The turns asked for, oldest first.
    pub originals: Vec<Original>,
}

/// A turn as it was said.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Original {
    /// Its place in the conversation, from 0.
    pub index: usize,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// Its tokens.
    pub tokens: u64,
    /// Its text, with calls and results of tools as text.
    pub text: String,
}

/// A class of content and its size.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Share {
    /// `summary`, `pins`, `notes`, `user`, `assistant`, `tool results`, `system and tools`.
    pub class: &'static str,
    /// Its tokens.
    pub tokens: u64,
}

/// A pin.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PinReport {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Who set it: `user`, `api`, `agent`.
    pub origin: &'static str,
    /// Its tokens.
    pub tokens: u64,
    /// Whether it can be removed here: a pin in a user line is removed by an unpin line.
    pub removable: bool,
}

/// Something that happened.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Entry {
    /// When, RFC 3339.
    pub at: String,
    /// What, in one line without content.
    pub text: String,
}
