//! Conversations: one client's walk along the tree, and how it is shown at the moment.

use std::fmt;

use context::{Text, Tokens, TurnId};
use jiff::Timestamp;

use crate::hexadecimal;
use crate::mark::MarkId;

/// Identifies a conversation of one tenant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId([u8; 16]);

impl ConversationId {
    /// An id from its 16 bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads the 32 hexadecimal digits that [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        hexadecimal::read(text).map(Self)
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConversationId({self})")
    }
}

/// Names for people. They are not identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The client's session.
    pub session: Option<Text>,
    /// The agent within the session; a subagent has its own.
    pub agent: Option<Text>,
    /// The agent that started this one.
    pub parent_agent: Option<Text>,
    /// The user the client names.
    pub user: Option<Text>,
}

/// How a conversation is shown: what a supervisor needs to go on after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The last turn that is not shown; [`TurnId::ROOT`] where all are.
    pub from: TurnId,
    /// The last turn whose tool results are cleared; [`TurnId::ROOT`] where none is.
    pub cleared: TurnId,
    /// The last turn whose thinking was taken out at a swap; [`TurnId::ROOT`] where none was.
    pub stripped: TurnId,
    /// The summary that stands.
    pub mark: Option<MarkId>,
    /// How many swaps there were.
    pub compactions: u32,
}

impl Standing {
    /// Everything is shown as it was said.
    pub const WHOLE: Self = Self {
        from: TurnId::ROOT,
        cleared: TurnId::ROOT,
        stripped: TurnId::ROOT,
        mark: None,
        compactions: 0,
    };
}

/// What a conversation used, as the provider reported it, and what it would have cost without the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests answered.
    pub requests: u64,
    /// Input tokens, neither read from nor written to the cache.
    pub fresh: Tokens,
    /// Input tokens read from the cache.
    pub cache_read: Tokens,
    /// Input tokens written to the cache.
    pub cache_write: Tokens,
    /// Output tokens.
    pub output: Tokens,
    /// What that cost, in millionths of a USD, summaries included.
    pub micros: u64,
    /// What it would have cost with a client that summarises for itself at the hard threshold, in
    /// millionths of a USD: an estimate.
    pub micros_without: u64,
    /// Requests that would have been over the window, or have waited for a summary, without us.
    pub stalls_avoided: u32,
}

/// One client's walk along the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// The conversation it branched off from or was started by.
    pub parent: Option<ConversationId>,
    /// The newest turn of its last request.
    pub head: TurnId,
    /// How many turns lead to the head.
    pub turns: u64,
    /// Names for people.
    pub labels: Labels,
    /// The model of its last request.
    pub model: Text,
    /// How it is shown.
    pub standing: Standing,
    /// What its strategy goes on from, as that writes it.
    pub strategy: Option<Text>,
    /// What it used.
    pub totals: Totals,
    /// When it was first seen.
    pub began: Timestamp,
    /// When it was last seen.
    pub seen: Timestamp,
}
