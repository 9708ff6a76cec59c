//! Turns written as messages of a dialect.
//!
//! A turn does not hold everything that a message does. Thinking has lost its signature and is left
//! out (providers allow removing all of it); binaries and unknown blocks become a line that names
//! them. So messages that the client sent are never written by this module, but kept
//! by [`Piece::Kept`](super::Piece::Kept).

use context::{Part, Turn};

use super::Dialect;
use super::json::write::Object;

/// `turn` as one or more messages, separated by commas: JSON in `dialect`, fit for
/// [`Piece::Written`](super::Piece::Written). A turn without anything to write is an empty string.
///
/// Calls and results are written as such, so a turn with calls is only valid before its results.
#[must_use]
pub fn render_turn(dialect: Dialect, turn: &Turn) -> String {
    let messages = (dialect.table().messages.write)(turn.role(), turn.parts());
    messages.join(",")
}

/// A text block of the type `kind`.
pub(super) fn text_block(kind: &str, text: &str) -> String {
    Object::new().text("type", kind).text("text", text).end()
}

/// A part as plain text; `None` for thinking and empty texts.
pub(super) fn as_text(part: &Part) -> Option<String> {
    let text = match part {
        Part::Text(text) => text.to_string(),
        Part::Thinking(_) => return None,
        Part::Call(call) => format!("[call {} of {}: {}]", call.id, call.name, call.arguments),
        Part::Result(result) => format!("[result of call {}] {}", result.call, result.text),
        Part::Attachment(attachment) => {
            format!(
                "[{}, {} bytes, left out]",
                attachment.kind, attachment.bytes
            )
        }
        Part::Opaque(opaque) => format!("[{}, {} bytes, left out]", opaque.kind, opaque.bytes),
    };
    (!text.is_empty()).then_some(text)
}

/// `id` in the form that `dialect` takes. An id that is too long becomes a hash, so that a call and
/// its result still agree.
pub(super) fn wire_id(dialect: Dialect, id: &str) -> String {
    let layout = &dialect.facts().layout;
    if id.is_empty() {
        return "call".to_owned();
    }
    if id.len() > layout.longest_id {
        let hash = blake3::hash(id.as_bytes()).to_hex();
        return format!("call_{}", hash.get(..24).unwrap_or_default());
    }
    if layout.plain_ids {
        plain_name(id)
    } else {
        id.to_owned()
    }
}

/// A tool's name with the letters that all providers take, 64 at most.
pub(super) fn tool_name(name: &str) -> String {
    let mut name = plain_name(name);
    name.truncate(64);
    if name.is_empty() {
        name.push_str("tool");
    }
    name
}

fn plain_name(name: &str) -> String {
    let plain = |character: char| {
        let keep = character.is_ascii_alphanumeric() || character == '_' || character == '-';
        if keep { character } else { '_' }
    };
    name.chars().map(plain).collect()
}
