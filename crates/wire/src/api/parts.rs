//! Parts of turns that all dialects read in the same way.

use context::Text;
use context::turn::{Attachment, Digest, Opaque, Outcome, ToolCall, ToolResult};
use context::{CallId, Part, Role, TurnDraft};

use super::canonical;
use super::json::scan::Kind;
use super::json::tree::{Tree, Value};

/// The string under `key`, or nothing.
pub(crate) fn text_of(value: Value<'_>, key: &str) -> Text {
    value
        .get(key)
        .and_then(Value::text)
        .map_or_else(Text::default, |text| Text::from(&*text))
}

/// The name of the tool that a call names, behind that of its namespace: Codex puts the tools of a server into one
/// (`mcp__files`), and other clients call them `mcp__files__read`.
pub(crate) fn called(call: Value<'_>) -> Text {
    let (own, space) = (text_of(call, "name"), text_of(call, "namespace"));
    match own.is_empty() {
        true => own,
        false => Text::from(qualified(&space, &own)),
    }
}

/// A tool's name behind that of its namespace, if it stands in one.
pub(super) fn qualified(space: &str, name: &str) -> String {
    match space {
        "" => name.to_owned(),
        space => format!("{space}__{name}"),
    }
}

/// The string under `key`, or the JSON that stands there instead.
pub(super) fn text_or_json(value: Value<'_>, key: &str) -> Text {
    let Some(found) = value.get(key) else {
        return Text::default();
    };
    match found.text() {
        Some(text) => Text::from(&*text),
        None => Text::from(found.raw()),
    }
}

/// A block that is carried, not understood. The kind is its `type`, else its sort of JSON value.
pub(super) fn opaque(value: Value<'_>) -> Part {
    let kind = value.get("type").and_then(Value::text);
    let kind = kind.as_deref().unwrap_or(match value.kind() {
        Kind::Object => "object",
        Kind::List => "list",
        Kind::Plain | Kind::Escaped => "string",
        Kind::Number => "number",
        Kind::True | Kind::False => "boolean",
        Kind::Null => "null",
    });
    opaque_of(value, kind)
}

/// A block that is carried, not understood, of the kind `kind`.
pub(crate) fn opaque_of(value: Value<'_>, kind: &str) -> Part {
    Part::Opaque(Opaque {
        kind: Text::from(kind),
        bytes: value.raw().len(),
        digest: digest(value),
    })
}

/// A binary of the kind `kind`; the size is that of the whole block.
pub(crate) fn attachment(value: Value<'_>, kind: &str) -> Part {
    Part::Attachment(Attachment {
        kind: Text::from(kind),
        bytes: value.raw().len(),
        digest: digest(value),
    })
}

/// The digest of a block, without its cache breakpoint.
fn digest(value: Value<'_>) -> Digest {
    Digest::from_bytes(canonical::hash_of_block(value))
}

/// An image of the media type that its `data:` address names, such as `image/png`.
pub(super) fn image(value: Value<'_>, url: Option<&str>) -> Part {
    let data = url.and_then(|url| url.strip_prefix("data:")?.split_once([';', ',']));
    let kind = data.map(|(kind, _)| kind);
    let kind = kind.filter(|kind| kind.starts_with("image/"));
    attachment(value, kind.unwrap_or("image"))
}

pub(crate) fn call(id: &Text, name: Text, arguments: Text) -> Part {
    Part::Call(ToolCall {
        id: CallId::from(id.as_str()),
        name,
        arguments,
    })
}

pub(crate) fn result(call: &Text, text: Text, outcome: Outcome) -> Part {
    Part::Result(ToolResult {
        call: CallId::from(call.as_str()),
        text,
        outcome,
    })
}

/// Adds a text, unless it is empty: providers refuse empty texts.
pub(crate) fn push_text(parts: &mut Vec<Part>, text: &str) {
    if !text.is_empty() {
        parts.push(Part::Text(Text::from(text)));
    }
}

/// Adds the parts of a `content`: a string, a list of blocks, or an unknown value. `block` adds one
/// block.
pub(super) fn push_content(
    parts: &mut Vec<Part>,
    content: Value<'_>,
    block: impl Fn(&mut Vec<Part>, Value<'_>),
) {
    match content.kind() {
        Kind::Plain | Kind::Escaped => push_text(parts, &content.text().unwrap_or_default()),
        Kind::List => content.elements().for_each(|it| block(parts, it)),
        Kind::Null => {}
        _ => parts.push(opaque(content)),
    }
}

/// The readable text of a tool result, and the parts in it that are not text. A result is a
/// string, a list of blocks (their texts are joined by line feeds), or any other JSON, which counts
/// as its own text. `other` makes the part of a block without text.
pub(super) fn flatten(
    value: Option<Value<'_>>,
    other: impl Fn(Value<'_>) -> Part,
) -> (Text, Vec<Part>) {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return (Text::default(), Vec::new());
    };
    if let Some(text) = value.text() {
        return (Text::from(&*text), Vec::new());
    }
    if value.kind() != Kind::List {
        return (Text::from(value.raw()), Vec::new());
    }
    let mut text = String::new();
    let mut parts = Vec::new();
    for block in value.elements() {
        match block.text().or_else(|| block.get_text("text")) {
            Some(piece) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&piece);
            }
            None => parts.push(other(block)),
        }
    }
    (Text::from(text), parts)
}

/// The turn of a message that is one element; an element that is not an object is carried.
pub(super) fn one(
    role: Role,
    elements: &[Tree<'_>],
    read: impl Fn(Value<'_>) -> TurnDraft,
) -> TurnDraft {
    match elements.first().map(Tree::root) {
        Some(message) if message.kind() == Kind::Object => read(message),
        Some(other) => TurnDraft::said(Role::Other, vec![opaque(other)]),
        None => TurnDraft::said(role, Vec::new()),
    }
}
