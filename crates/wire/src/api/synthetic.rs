//! Replies that Ebbtide writes itself, in the provider's shape.

use jiff::Timestamp;
use serde_json::Value;

use super::request::Request;
use super::sse::Event;

/// The longest delta of a stream, in bytes. Some clients draw what they get piece by piece.
const DELTA: usize = 2_000;

/// A reply that no model wrote, as a response carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntheticReply {
    /// The value of the header `content-type`: JSON, or an event stream where the request asks for
    /// one.
    pub content_type: &'static str,
    /// The body of the response.
    pub body: String,
}

/// A reply in both forms.
pub(super) struct Written {
    /// The JSON body.
    pub whole: String,
    /// The same as a stream.
    pub events: Vec<Event>,
}

/// The parts that all replies to one request share.
pub(super) struct Frame {
    pub model: String,
    /// Seconds since the epoch.
    pub created: i64,
    /// Set where a stream has to end with the usage.
    pub counts: bool,
    /// 64 hexadecimal digits that no other reply has.
    seed: String,
}

impl Frame {
    /// An id as the provider writes it, of `length` characters behind the prefix.
    pub fn id(&self, prefix: &str, length: usize) -> String {
        let tail: String = self.seed.chars().take(length).collect();
        format!("{prefix}{tail}")
    }
}

impl Request<'_> {
    /// A reply that says `text`. Its `usage` is zero everywhere, since no model was asked.
    #[must_use]
    pub fn synthetic_reply(&self, text: &str, now: Timestamp) -> SyntheticReply {
        self.sent((self.dialect.table().replies.say)(&self.frame(now), text))
    }

    /// A reply that holds the provider's own compaction: `block` is the JSON of the content block,
    /// sent byte for byte. `None` where the dialect has no such reply.
    #[must_use]
    pub fn synthetic_compaction(&self, block: &str, now: Timestamp) -> Option<SyntheticReply> {
        let written = (self.dialect.table().replies.say_compaction)(&self.frame(now), block);
        written.map(|written| self.sent(written))
    }

    pub(super) fn frame(&self, now: Timestamp) -> Frame {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.body());
        hasher.update(&now.as_nanosecond().to_le_bytes());
        let options = self.field("stream_options");
        let options = options.and_then(|it| serde_json::from_str::<Value>(it.value).ok());
        Frame {
            model: self.model().unwrap_or_default().into_owned(),
            created: now.as_second(),
            counts: options.is_some_and(|it| it.get("include_usage") == Some(&Value::Bool(true))),
            seed: hasher.finalize().to_hex().to_string(),
        }
    }

    pub(super) fn sent(&self, written: Written) -> SyntheticReply {
        if self.streams() {
            SyntheticReply {
                content_type: "text/event-stream; charset=utf-8",
                body: written.events.iter().map(Event::encode).collect(),
            }
        } else {
            SyntheticReply {
                content_type: "application/json",
                body: written.whole,
            }
        }
    }
}

/// Sets a member of an object.
pub(super) fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

/// `text` in pieces of whole characters.
pub(super) fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.floor_char_boundary(DELTA.min(rest.len()));
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
