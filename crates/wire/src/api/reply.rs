//! What a provider answered, the same from a body and from a stream.

use std::fmt;

use context::{Role, TurnDraft};

use super::failure::Failure;
use super::json::tree::{Tree, Value};
use super::json::write::{Object, list};
use super::limits::DEEPEST;
use super::usage::Usage;
use super::{Dialect, anthropic, chat, responses};

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It was done.
    EndOfTurn,
    /// The answer reached its longest length.
    MaxTokens,
    /// It wrote one of the stop sequences.
    StopSequence,
    /// It waits for tools.
    ToolUse,
    /// The provider paused a long turn; it goes on when the answer is sent back.
    Pause,
    /// A compaction is all there is.
    Compaction,
    /// It refused, or a filter did.
    Refusal,
    /// The window was full.
    WindowExceeded,
    /// Something this version does not know.
    Other(String),
}

/// What a provider answered. For Chat with several choices it is the first one.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    /// The dialect it was read from.
    pub dialect: Dialect,
    /// The provider's id for the answer.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Why it stopped; `None` where a stream was cut before it said so.
    pub stop: Option<Stop>,
    /// What was counted.
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
        let parse = |json| Tree::parse(json, DEEPEST).ok();
        match self.dialect {
            Dialect::Anthropic => {
                let content = list(&self.pieces);
                let parts = parse(&content).map(|tree| anthropic::content_parts(tree.root()));
                TurnDraft::said(Role::Assistant, parts.unwrap_or_default())
            }
            Dialect::Chat => self
                .pieces
                .first()
                .and_then(|message| parse(message))
                .map(|tree| chat::said(Role::Assistant, tree.root()))
                .unwrap_or_else(|| TurnDraft::said(Role::Assistant, Vec::new())),
            Dialect::Responses => {
                let trees: Vec<_> = self.pieces.iter().filter_map(|item| parse(item)).collect();
                responses::draft(Role::Assistant, trees.iter().map(Tree::root))
            }
        }
    }

    /// The answer as it is sent back in the next request: one message, or on Responses the items
    /// with commas between. Empty where nothing was answered.
    #[must_use]
    pub fn message(&self) -> String {
        match self.dialect {
            _ if self.pieces.is_empty() => String::new(),
            Dialect::Anthropic => Object::new()
                .text("role", "assistant")
                .raw("content", &list(&self.pieces))
                .end(),
            Dialect::Chat | Dialect::Responses => self.pieces.join(","),
        }
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
    let mut reply = Reply {
        id: text("id"),
        model: text("model"),
        failure: Failure::read(root),
        ..Reply::empty(dialect)
    };
    if let Some(usage) = root.get("usage") {
        reply.usage = Usage::read(usage);
    }
    let raw = |value: Value<'_>| value.raw().to_owned();
    match dialect {
        Dialect::Anthropic => {
            let content = root.get("content").into_iter();
            reply.pieces = content.flat_map(Value::elements).map(raw).collect();
            reply.stop = root
                .get_text("stop_reason")
                .map(|stop| anthropic_stop(&stop));
        }
        Dialect::Chat => {
            let choice = root.get("choices").and_then(|list| list.elements().next());
            reply.pieces = choice
                .and_then(|choice| choice.get("message"))
                .map(raw)
                .into_iter()
                .collect();
            let stop = choice.and_then(|choice| choice.get_text("finish_reason"));
            reply.stop = stop.map(|stop| chat_stop(&stop));
        }
        Dialect::Responses => {
            let output = root.get("output").into_iter();
            reply.pieces = output.flat_map(Value::elements).map(raw).collect();
            reply.stop = responses_stop(root);
        }
    }
    reply
}

pub(super) fn anthropic_stop(reason: &str) -> Stop {
    match reason {
        "end_turn" => Stop::EndOfTurn,
        "max_tokens" => Stop::MaxTokens,
        "stop_sequence" => Stop::StopSequence,
        "tool_use" => Stop::ToolUse,
        "pause_turn" => Stop::Pause,
        "compaction" => Stop::Compaction,
        "refusal" => Stop::Refusal,
        "model_context_window_exceeded" => Stop::WindowExceeded,
        other => Stop::Other(other.to_owned()),
    }
}

pub(super) fn chat_stop(reason: &str) -> Stop {
    match reason {
        "stop" => Stop::EndOfTurn,
        "length" => Stop::MaxTokens,
        "tool_calls" | "function_call" => Stop::ToolUse,
        "content_filter" => Stop::Refusal,
        other => Stop::Other(other.to_owned()),
    }
}

/// A response that is completed waits for tools if it calls one that the client has to answer.
fn responses_stop(root: Value<'_>) -> Option<Stop> {
    let status = root.get_text("status")?;
    let reason = root
        .get("incomplete_details")
        .and_then(|details| details.get_text("reason"));
    let mut output = root.get("output").into_iter().flat_map(Value::elements);
    Some(match (&*status, reason.as_deref()) {
        ("completed", _) if output.any(responses::is_call) => Stop::ToolUse,
        ("completed", _) => Stop::EndOfTurn,
        ("incomplete", Some("max_output_tokens")) => Stop::MaxTokens,
        ("incomplete", Some("content_filter")) => Stop::Refusal,
        ("incomplete", Some(reason)) => Stop::Other(reason.to_owned()),
        ("in_progress" | "queued", _) => return None,
        (other, _) => Stop::Other(other.to_owned()),
    })
}
