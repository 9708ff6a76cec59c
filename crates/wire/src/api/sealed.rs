//! Summaries in a provider's sealed form that Ebbtide writes and reads itself.
//!
//! A provider gives a summary back as a block or an item with an opaque field, and clients send it back
//! unread. [`Request::opened`] puts readable text in its place, [`Request::synthetic_summary`] answers a
//! client that compacts, and [`Prefixed`](super::Prefixed) puts one in front of another answer.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::request::Request;
use super::synthetic::SyntheticReply;

/// Begins the name of every type and field of a sealed summary. In a string it would have a backslash in
/// front.
const NAME: &[u8] = b"\"compaction";

/// A sealed summary that a client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed<'t> {
    /// The opaque field; empty where there is none.
    pub seal: Cow<'t, str>,
    /// The readable text beside it.
    pub content: Option<Cow<'t, str>>,
}

/// The text to put in place of a sealed summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Nothing: it stays as it is.
    Kept,
    /// The summary, as texts. The messages that it stands for leave the request.
    Summary(Vec<String>),
    /// A line that says why it was left out.
    LeftOut(String),
}

/// Opens sealed summaries.
pub type Opener<'o> = dyn FnMut(&Sealed<'_>) -> Opened + 'o;

/// The way in which a client asked for a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Now, by a field or an item of the request.
    Now,
    /// From a size on, by an edit that the provider applies.
    FromSize,
    /// By the path that does nothing else; the user's own messages come back with it.
    ByPath,
}

/// A summary of ours to seal into an answer.
#[derive(Clone, Copy, Debug)]
pub struct Closed<'c> {
    /// The readable text.
    pub text: &'c str,
    /// The opaque field.
    pub seal: &'c str,
    /// The way in which the client asked for it.
    pub asked: Asked,
    /// The messages that stay beside it, as JSON, where the client asked by path.
    pub kept: &'c [&'c str],
}

impl<'b> Request<'b> {
    /// Returns `true` if the request may hold a sealed summary or ask for one. Reads nothing; rarely wrong.
    #[must_use]
    pub fn may_be_sealed(body: &[u8]) -> bool {
        memchr::memmem::find(body, NAME).is_some()
            || memchr::memmem::find(body, b"context_management").is_some()
    }

    /// The body with readable text in place of the sealed summaries that `open` opens. `None` where none of
    /// them is opened.
    #[must_use]
    pub fn opened(&self, open: &mut Opener<'_>) -> Option<Vec<u8>> {
        let list: Vec<&str> = self
            .elements
            .iter()
            .map(|element| element.span.of(self.body))
            .collect();
        let new = (self.dialect.table().requests.unseal)(&list, open)?;
        let (first, last) = (self.elements.first()?, self.elements.last()?);
        let before = self.body.get(..first.span.start)?;
        let after = self.body.get(last.span.end..)?;
        Some([before, &new.join(","), after].concat().into_bytes())
    }

    /// The body without the client's wish that the provider compact from some size on. `None` where there is no
    /// such wish.
    #[must_use]
    pub fn without_threshold(&self) -> Option<Vec<u8>> {
        let key = "context_management";
        let mut management = self.field_json(key)?;
        let edits = match &mut management {
            Value::Object(object) => object.get_mut("edits")?.as_array_mut()?,
            Value::Array(edits) => edits,
            _ => return None,
        };
        let before = edits.len();
        edits.retain(|edit| {
            let kind = edit.get("type").and_then(Value::as_str).unwrap_or_default();
            kind != "compaction" && !kind.starts_with("compact_")
        });
        let (left, is_empty) = (edits.len(), edits.is_empty());
        if left == before {
            return None;
        }
        let edit = match is_empty {
            true => self.edit().remove(key),
            false => self.edit().set(key, management.to_string()),
        };
        edit.render().ok()
    }

    /// The block or item of a sealed summary. `None` where the dialect has none.
    #[must_use]
    pub fn sealed_piece(&self, closed: &Closed<'_>, now: Timestamp) -> Option<String> {
        (self.dialect.table().replies.sealed_piece)(&self.frame(now), closed)
    }

    /// A reply that holds a sealed summary and nothing else. `None` where the dialect has none.
    #[must_use]
    pub fn synthetic_summary(&self, closed: &Closed<'_>, now: Timestamp) -> Option<SyntheticReply> {
        let frame = self.frame(now);
        let replies = &self.dialect.table().replies;
        let piece = (replies.sealed_piece)(&frame, closed)?;
        let written = (replies.say_sealed)(&frame, &piece, closed)?;
        match closed.asked {
            Asked::ByPath => Some(SyntheticReply {
                content_type: "application/json",
                body: written.whole,
            }),
            Asked::Now | Asked::FromSize => Some(self.sent(written)),
        }
    }
}

#[cfg(test)]
mod tests;
