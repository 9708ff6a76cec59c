//! Conversations: one client's path through the tree and its current view.

use context::{Text, Tokens, TurnId};
use jiff::Timestamp;

use crate::id::id_type;
use crate::mark::MarkId;

id_type! {
    /// Identifies a conversation of one tenant.
    ConversationId
}

/// Names that clients give a conversation. They do not identify it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The client's session id.
    pub session: Option<Text>,
    /// The agent within the session. A subagent has its own id.
    pub agent: Option<Text>,
    /// The agent that started this one.
    pub parent_agent: Option<Text>,
    /// The user named by the client.
    pub user: Option<Text>,
}

/// The view of a conversation: what a supervisor needs to go on after a restart.
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
    /// The number of swaps, those included that were only noted.
    pub compactions: u32,
    /// The number of swaps that were only noted: nothing left what was sent.
    pub noted: u32,
    /// The number of swaps of the conversation that it branched off from, up to there.
    pub inherited: u32,
}

impl Standing {
    /// Everything is shown as it was said.
    pub const WHOLE: Self = Self {
        from: TurnId::ROOT,
        cleared: TurnId::ROOT,
        stripped: TurnId::ROOT,
        mark: None,
        compactions: 0,
        noted: 0,
        inherited: 0,
    };
}

impl Standing {
    /// Everything is shown, after the same swaps.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self {
            compactions: self.compactions,
            noted: self.noted,
            inherited: self.inherited,
            ..Self::WHOLE
        }
    }
}

/// The usage reported by the provider, and an estimate of the cost without the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Answered requests.
    pub requests: u64,
    /// Input tokens that were neither read from nor written to the cache.
    pub fresh: Tokens,
    /// Input tokens read from the cache.
    pub cache_read: Tokens,
    /// Input tokens written to the cache.
    pub cache_write: Tokens,
    /// Output tokens.
    pub output: Tokens,
    /// The cost in millionths of a USD, summaries included.
    pub micros: u64,
    /// The estimated cost, in millionths of a USD, with a client that summarizes at the hard threshold
    /// itself.
    pub micros_without: u64,
    /// Requests that, without the gateway, would have exceeded the window or waited for a summary.
    pub stalls_avoided: u32,
}

/// One client's path through the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// The id, unique within its tenant.
    pub id: ConversationId,
    /// The conversation it branched off from, or that started it as a subagent.
    pub parent: Option<ConversationId>,
    /// The newest turn of its last request.
    pub head: TurnId,
    /// The number of turns up to the head.
    pub turns: u64,
    /// The client's names for it.
    pub labels: Labels,
    /// Its title for people, if its first request names a folder or says something.
    pub title: Option<Text>,
    /// The model of its last request.
    pub model: Text,
    /// The current view.
    pub standing: Standing,
    /// The strategy's saved state, in the strategy's own format.
    pub strategy: Option<Text>,
    /// Its usage and cost.
    pub totals: Totals,
    /// The time of its first request.
    pub began: Timestamp,
    /// The time of its last request.
    pub seen: Timestamp,
}
