//! A provider's answer, the same from a body and from a stream.

use std::fmt;

use context::{Role, TurnDraft};

use super::Dialect;
use super::failure::Failure;
use super::json::tree::{Tree, Value};
use super::limits::DEEPEST;
use super::usage::Usage;

/// The reason why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The answer is complete.
    EndOfTurn,
    /// The answer reached its length limit.
    MaxTokens,
    /// The model wrote a stop sequence.
    StopSequence,
    /// The model waits for tool results.
    ToolUse,
    /// The provider paused a long turn, which continues when the answer is sent back.
    Pause,
    /// The answer is a compaction and nothing else.
    Compaction,
    /// The model or a filter refused.
    Refusal,
    /// The window was full.
    WindowExceeded,
    /// A reason that this version does not know.
    Other(String),
}

/// A provider's answer. Of several choices (Chat), the first one.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    /// The dialect it was read from.
    pub dialect: Dialect,
    /// The provider's id for the answer.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The stop reason; `None` where a stream was cut before it came.
    pub stop: Option<Stop>,
    /// The token counts.
    pub usage: Usage,
    /// The pieces of the answer as JSON: content blocks (Anthropic), the message (Chat), output
    /// items (Responses). From a body they are its own bytes; from a stream, the first event of a
    /// block with the deltas put in, so that signatures and unknown members are kept.
    pub pieces: Vec<String>,
    /// The error that ended the answer.
    pub failure: Option<Failure>,
}

impl fmt::Debug for Reply {
    /// Without the text of the answer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("dialect", &self.dialect)
            .field("id", &self.id)
            .field("stop", &self.stop)
            .field("usage", &self.usage)
            .field("pieces", &self.pieces.len())
            .finish_non_exhaustive()
    }
}

impl Reply {
    pub(super) fn empty(dialect: Dialect) -> Self {
        Self {
            dialect,
            id: None,
            model: None,
            stop: None,
            usage: Usage::default(),
            pieces: Vec::new(),
            failure: None,
        }
    }

    /// The assistant turn that was answered.
    #[must_use]
    pub fn draft(&self) -> TurnDraft {
        let parts = (self.dialect.table().replies.parts)(&self.pieces);
        TurnDraft::said(Role::Assistant, parts)
    }

    /// The answer as it is sent back in the next request: one message, or on Responses the items
    /// with commas between. Empty where nothing was answered.
    #[must_use]
    pub fn message(&self) -> String {
        self.dialect.message_of(&self.pieces)
    }

    /// The compaction block or item in the answer, byte for byte as it has to be sent back.
    #[must_use]
    pub fn compaction(&self) -> Option<&str> {
        self.pieces.iter().map(String::as_str).find(|piece| {
            Tree::parse(piece, DEEPEST).is_ok_and(|tree| {
                let kind = tree.root().get("type");
                kind.is_some_and(|kind| kind.is("compaction"))
            })
        })
    }
}

/// The reply that the body `root` is.
pub(super) fn read(dialect: Dialect, root: Value<'_>) -> Reply {
    let text = |key| root.get_text(key).map(std::borrow::Cow::into_owned);
    let (pieces, stop) = (dialect.table().replies.read)(root);
    Reply {
        dialect,
        id: text("id"),
        model: text("model"),
        stop,
        usage: root.get("usage").map(Usage::read).unwrap_or_default(),
        pieces,
        failure: Failure::read(root),
    }
}
