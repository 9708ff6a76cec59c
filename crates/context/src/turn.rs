//! Turns: one message each, whole.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::counter::TokenCounter;
use crate::text::Text;
use crate::units::Tokens;

/// The speaker of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The operator: system and developer messages.
    System,
    /// The person, or the program that stands in for one.
    User,
    /// The model.
    Assistant,
    /// The results of tools. A provider's user message that holds nothing but tool results has this role.
    Tool,
    /// A role this version does not know. It gets the least authority there is.
    Other,
}

impl Role {
    /// The lower-case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Identifies a turn in its place: a hash over the id of the turn before it and its own content.
/// Two turns with the same words in different places have different ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnId([u8; 16]);

impl TurnId {
    /// The id before the first turn.
    pub const ROOT: Self = Self([0; 16]);

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
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TurnId({self})")
    }
}

/// A tool call's id as the provider gave it. Not unique: real sessions use one id for two calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(Arc<str>);

impl CallId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CallId {
    fn from(id: &str) -> Self {
        Self(Arc::from(id))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A piece of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Plain text.
    Text(Text),
    /// The model's reasoning, as far as it is readable. Signatures stay in the wire message.
    Thinking(Text),
    /// The model asks for a tool.
    Call(ToolCall),
    /// The answer of a tool.
    Result(ToolResult),
    /// An image, a document or another binary.
    Attachment(Attachment),
    /// A block of a type this version does not know; the wire message carries it byte for byte.
    Opaque(Opaque),
}

/// The model asks for a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolCall {
    /// The provider's id for this call.
    pub id: CallId,
    /// The tool's name.
    pub name: Text,
    /// The arguments: JSON text, or free text for tools that take that.
    pub arguments: Text,
}

impl ToolCall {
    /// The tool's name without the server's in front: `read` of `mcp__files__read`.
    #[must_use]
    pub fn own_name(&self) -> &str {
        self.name.rsplit("__").next().unwrap_or_default()
    }
}

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolResult {
    /// The id of the call this answers.
    pub call: CallId,
    /// The readable part of the answer.
    pub text: Text,
    /// The success or failure that the tool reported.
    pub outcome: Outcome,
}

/// The success or failure that a tool reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The tool did not report a failure.
    Succeeded,
    /// The tool reported a failure.
    Failed,
}

/// An image, a document or another binary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attachment {
    /// The type that the provider names: `image/png`, `document`.
    pub kind: Text,
    /// Its encoded size in bytes, as it stands in the message.
    pub bytes: usize,
    /// A hash that distinguishes it from another of the same kind and size.
    pub digest: Digest,
}

/// A block of an unknown type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// The provider's name for the type.
    pub kind: Text,
    /// Its size in bytes, as it stands in the message.
    pub bytes: usize,
    /// A hash that distinguishes it from another of the same kind and size.
    pub digest: Digest,
}

/// A hash over content that a turn does not hold itself: the first 16 bytes of its blake3 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 16]);

impl Digest {
    /// The digest of this content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let mut digest = [0; 16];
        blake3::Hasher::new()
            .update(content)
            .finalize_xof()
            .fill(&mut digest);
        Self(digest)
    }

    /// A digest that was computed elsewhere, over a canonical form of the content.
    #[must_use]
    pub const fn from_bytes(digest: [u8; 16]) -> Self {
        Self(digest)
    }

    /// The 16 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "Digest({a:02x}{b:02x}{c:02x}{d:02x}…)")
    }
}

/// The origin of a turn: the conversation, or Ebbtide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Said in the conversation.
    Said,
    /// A tool result in it was shortened by us; the original is in the archive.
    Shrunk,
    /// A summary that stands for turns that are not shown any more.
    Summary,
    /// Pinned text, restated in full.
    Pins,
    /// A note about the agent's own state.
    Note,
    /// Stands in the place of a turn whose record is damaged ([`Turn::gap`]).
    Gap,
}

/// A turn before it has a place: everything but its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnDraft {
    /// The speaker of a turn.
    pub role: Role,
    /// The parts of the turn, in order.
    pub parts: Vec<Part>,
    /// When it was said, where that is known.
    pub at: Option<Timestamp>,
    /// The origin.
    pub provenance: Provenance,
}

impl TurnDraft {
    /// A turn that was said, without a time.
    #[must_use]
    pub const fn said(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            at: None,
            provenance: Provenance::Said,
        }
    }

    /// A turn of one text.
    #[must_use]
    pub fn text(role: Role, text: impl Into<Text>) -> Self {
        Self::said(role, vec![Part::Text(text.into())])
    }

    /// The same turn with a time.
    #[must_use]
    pub const fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// The same turn with another provenance.
    #[must_use]
    pub const fn from_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = provenance;
        self
    }

    /// Places this turn after `parent` and counts it.
    #[must_use]
    pub fn after(self, parent: TurnId, counter: &dyn TokenCounter) -> Turn {
        let id = chain(parent, self.role, &self.parts);
        let tokens = counter.count_parts(&self.parts);
        let Self {
            role,
            parts,
            at,
            provenance,
        } = self;
        Turn(Arc::new(Placed {
            id,
            role,
            parts,
            at,
            provenance,
            tokens,
        }))
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Placed {
    id: TurnId,
    role: Role,
    parts: Vec<Part>,
    at: Option<Timestamp>,
    provenance: Provenance,
    tokens: Tokens,
}

/// One message, whole, in its place. Cloning shares it.
#[derive(Clone, PartialEq, Eq)]
pub struct Turn(Arc<Placed>);

impl Turn {
    /// A gap in the place of a turn whose content is lost. It keeps the id, so the turns after it still follow
    /// from it, and [`follows`](Self::follows) nothing itself, so no store takes it for the turn. `text` says
    /// what is missing and why.
    #[must_use]
    pub fn gap(id: TurnId, role: Role, tokens: Tokens, text: impl Into<Text>) -> Self {
        Self(Arc::new(Placed {
            id,
            role,
            parts: vec![Part::Text(text.into())],
            at: None,
            provenance: Provenance::Gap,
            tokens,
        }))
    }

    /// True if this is a gap: its text is Ebbtide's, and the turn's own is lost.
    #[must_use]
    pub fn is_gap(&self) -> bool {
        self.provenance() == Provenance::Gap
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> TurnId {
        self.0.id
    }

    /// The speaker of a turn.
    #[must_use]
    pub fn role(&self) -> Role {
        self.0.role
    }

    /// The parts of the turn, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.0.parts
    }

    /// When it was said, where that is known.
    #[must_use]
    pub fn at(&self) -> Option<Timestamp> {
        self.0.at
    }

    /// The origin.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        self.0.provenance
    }

    /// Its size, as counted when it was placed.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        self.0.tokens
    }

    /// The tool calls in it.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts().iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results in it.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts().iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            _ => None,
        })
    }

    /// The plain texts in it: what was said, without calls, results and reasoning.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts().iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The bytes of its readable text, calls and results included.
    #[must_use]
    pub fn readable_length(&self) -> usize {
        let texts = self.parts().iter().flat_map(Part::readable);
        texts.map(str::len).sum()
    }

    /// All its readable text in order, calls and results included, joined by line feeds.
    #[must_use]
    pub fn readable(&self) -> String {
        let mut out = String::new();
        for part in self.parts() {
            for piece in part.readable() {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(piece);
            }
        }
        out
    }

    /// Returns true if this turn's id says that it stands after `parent`. Costs one hash over its content.
    #[must_use]
    pub fn follows(&self, parent: TurnId) -> bool {
        chain(parent, self.role(), self.parts()) == self.id()
    }

    /// The draft this turn was placed from.
    #[must_use]
    pub fn draft(&self) -> TurnDraft {
        TurnDraft {
            role: self.role(),
            parts: self.parts().to_vec(),
            at: self.at(),
            provenance: self.provenance(),
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("id", &self.id())
            .field("role", &self.role())
            .field("parts", &self.parts())
            .field("tokens", &self.tokens().get())
            .finish_non_exhaustive()
    }
}

impl Part {
    /// The readable texts of this part: one for text, thinking and results, name and arguments for a
    /// call, none for binaries and unknown blocks.
    pub fn readable(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Text(text) | Self::Thinking(text) => (Some(text.as_str()), None),
            Self::Result(result) => (Some(result.text.as_str()), None),
            Self::Call(call) => (Some(call.name.as_str()), Some(call.arguments.as_str())),
            Self::Attachment(_) | Self::Opaque(_) => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// The id of a turn: blake3 over the parent's id, the role and every part with its length, cut to
/// 16 bytes. Time and provenance do not count, so that a conversation sent again is recognised.
fn chain(parent: TurnId, role: Role, parts: &[Part]) -> TurnId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(parent.as_bytes());
    let mut field = |tag: &[u8], bytes: &[u8]| {
        hasher.update(tag);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    field(b"role", role.as_str().as_bytes());
    for part in parts {
        match part {
            Part::Text(text) => field(b"text", text.as_bytes()),
            Part::Thinking(text) => field(b"thinking", text.as_bytes()),
            Part::Call(call) => {
                field(b"call", call.id.as_str().as_bytes());
                field(b"name", call.name.as_bytes());
                field(b"arguments", call.arguments.as_bytes());
            }
            Part::Result(result) => {
                field(b"result", result.call.as_str().as_bytes());
                field(b"answer", result.text.as_bytes());
                field(b"failed", &[u8::from(result.outcome == Outcome::Failed)]);
            }
            Part::Attachment(attachment) => {
                field(b"attachment", attachment.kind.as_bytes());
                field(b"digest", &attachment.digest.0);
            }
            Part::Opaque(opaque) => {
                field(b"opaque", opaque.kind.as_bytes());
                field(b"digest", &opaque.digest.0);
            }
        }
    }
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    TurnId(id)
}

#[cfg(test)]
mod tests {
    use super::{Attachment, CallId, Digest, Opaque, Part, Role, ToolCall, TurnDraft, TurnId};
    use crate::counter::Heuristic;
    use crate::text::Text;

    #[test]
    fn the_same_words_in_another_place_have_another_id() {
        let first = TurnDraft::text(Role::User, "go on").after(TurnId::ROOT, &Heuristic);
        let second = TurnDraft::text(Role::User, "go on").after(first.id(), &Heuristic);
        assert_ne!(first.id(), second.id());
        let again = TurnDraft::text(Role::User, "go on").after(TurnId::ROOT, &Heuristic);
        assert_eq!(first.id(), again.id());
        assert!(second.follows(first.id()) && !second.follows(TurnId::ROOT));
    }

    #[test]
    fn two_pictures_of_one_size_are_two() {
        let id = |part| {
            TurnDraft::said(Role::User, vec![part])
                .after(TurnId::ROOT, &Heuristic)
                .id()
        };
        let picture = |content: &[u8]| {
            id(Part::Attachment(Attachment {
                kind: Text::from("image/png"),
                bytes: content.len(),
                digest: Digest::of(content),
            }))
        };
        let block = |content: &[u8]| {
            id(Part::Opaque(Opaque {
                kind: Text::from("image/png"),
                bytes: content.len(),
                digest: Digest::of(content),
            }))
        };
        assert_eq!(picture(b"cat"), picture(b"cat"));
        assert_ne!(picture(b"cat"), picture(b"dog"));
        assert_ne!(block(b"cat"), block(b"dog"));
        assert_ne!(block(b"cat"), picture(b"cat"));
    }

    #[test]
    fn a_tool_has_a_name_of_its_own() {
        for (name, own) in [
            ("read", "read"),
            ("mcp__files__read", "read"),
            ("multi_agent__wait_agent", "wait_agent"),
            ("", ""),
        ] {
            let call = ToolCall {
                id: CallId::from("c"),
                name: Text::from(name),
                arguments: Text::default(),
            };
            assert_eq!(call.own_name(), own);
        }
    }

    #[test]
    fn debug_shows_no_text() {
        let turn = TurnDraft::text(Role::User, "my password").after(TurnId::ROOT, &Heuristic);
        assert!(!format!("{turn:?}").contains("password"));
    }
}
