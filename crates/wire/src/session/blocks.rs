//! Content blocks to parts: Anthropic's, OpenAI's and pi's, told apart by their type names, which
//! do not clash.

use std::borrow::Cow;

use context::Text;
use context::turn::{
    Attachment, CallId, Digest, Opaque, Outcome, Part, Role, ToolCall, ToolResult,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::scalar::{Content, Scalar, parse};

/// Every field of interest that a block of any type may have.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    text: Scalar<'a>,
    refusal: Scalar<'a>,
    thinking: Scalar<'a>,
    id: Scalar<'a>,
    tool_use_id: Scalar<'a>,
    name: Scalar<'a>,
    input: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    is_error: Scalar<'a>,
    #[serde(rename = "mimeType")]
    mime_type: Scalar<'a>,
    source: Option<&'a RawValue>,
}

/// The parts of a message, and the types of blocks in it that are not known.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) parts: Vec<Part>,
    pub(super) unknown: Vec<String>,
}

impl Parts {
    /// The parts of a message's content.
    pub(super) fn of(content: &Content<'_>) -> Self {
        let mut parts = Self::default();
        match content {
            Content::Nothing => {}
            Content::Text(text) => parts.text(text),
            Content::Blocks(blocks) => blocks.iter().for_each(|raw| parts.block(raw)),
        }
        parts
    }

    /// Adds a plain text; an empty one adds nothing.
    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.parts.push(Part::Text(Text::from(text)));
        }
    }

    /// Adds a block.
    pub(super) fn block(&mut self, raw: &RawValue) {
        if let Ok(text) = serde_json::from_str::<Cow<'_, str>>(raw.get()) {
            return self.text(&text);
        }
        let block: Block<'_> = parse(Some(raw));
        let kind = block.kind.or_empty();
        match kind {
            "text" | "input_text" | "output_text" => self.text(block.text.or_empty()),
            "refusal" => self.text(block.refusal.or_empty()),
            "thinking" => self
                .parts
                .push(Part::Thinking(Text::from(block.thinking.or_empty()))),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.call(&block, block.input),
            "toolCall" => self.call(&block, block.arguments),
            _ if block.tool_use_id.text().is_some() && kind.ends_with("tool_result") => {
                self.result(
                    block.tool_use_id.or_empty(),
                    block.content,
                    outcome(block.is_error.is_true()),
                );
            }
            "image" | "document" | "image_url" | "input_image" | "input_audio" | "file"
            | "input_file" => self.attachment(&block, raw),
            "redacted_thinking" | "compaction" => self.opaque(kind, raw),
            _ => {
                self.unknown.push(kind.to_owned());
                self.opaque(kind, raw);
            }
        }
    }

    fn call(&mut self, block: &Block<'_>, arguments: Option<&RawValue>) {
        let arguments = arguments.map_or("", RawValue::get);
        let (id, name) = (block.id.or_empty(), block.name.or_empty());
        self.parts.push(call(id, name, arguments));
    }

    /// Adds the parts and the unknown types of `more`.
    pub(super) fn extend(&mut self, more: Self) {
        self.parts.extend(more.parts);
        self.unknown.extend(more.unknown);
    }

    /// Adds a tool result; parts of it that are not text follow as attachments.
    pub(super) fn result(&mut self, call: &str, content: Option<&RawValue>, outcome: Outcome) {
        let (text, attachments) = readable(content);
        self.parts.push(Part::Result(ToolResult {
            call: CallId::from(call),
            text: Text::from(text.as_ref()),
            outcome,
        }));
        self.parts.extend(attachments);
    }

    fn attachment(&mut self, block: &Block<'_>, raw: &RawValue) {
        #[derive(Default, Deserialize)]
        #[serde(default, bound(deserialize = "'de: 'a"))]
        struct Source<'a> {
            media_type: Scalar<'a>,
        }
        let media = parse::<Source<'_>>(block.source).media_type;
        let kind = match (media.text(), block.mime_type.text(), block.kind.or_empty()) {
            (Some(media), _, _) | (None, Some(media), _) => media,
            (None, None, "image_url" | "input_image") => "image",
            (None, None, kind) => kind,
        };
        self.parts.push(attachment(kind, raw.get().as_bytes()));
    }

    fn opaque(&mut self, kind: &str, raw: &RawValue) {
        self.parts.push(opaque(kind, raw.get().as_bytes()));
    }
}

/// A tool call.
pub(super) fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::Call(ToolCall {
        id: CallId::from(id),
        name: Text::from(name),
        arguments: Text::from(arguments),
    })
}

/// A binary of the media type `kind`.
pub(super) fn attachment(kind: &str, bytes: &[u8]) -> Part {
    Part::Attachment(Attachment {
        kind: Text::from(kind),
        bytes: bytes.len(),
        digest: Digest::of(bytes),
    })
}

/// A block of the type `kind` that is carried, not understood.
pub(super) fn opaque(kind: &str, bytes: &[u8]) -> Part {
    Part::Opaque(Opaque {
        kind: Text::from(kind),
        bytes: bytes.len(),
        digest: Digest::of(bytes),
    })
}

/// The outcome of a tool call.
pub(super) fn outcome(failed: bool) -> Outcome {
    if failed {
        Outcome::Failed
    } else {
        Outcome::Succeeded
    }
}

/// The readable text of a tool result, and its parts that are not text. A text stays as it is, blocks
/// are joined by line feeds, and any other JSON counts as its own text.
pub(super) fn readable(content: Option<&RawValue>) -> (Cow<'_, str>, Vec<Part>) {
    let Some(raw) = content else {
        return (Cow::Borrowed(""), Vec::new());
    };
    match parse(content) {
        Content::Text(text) => (text, Vec::new()),
        Content::Nothing if raw.get() == "null" => (Cow::Borrowed(""), Vec::new()),
        Content::Nothing => (Cow::Borrowed(raw.get()), Vec::new()),
        blocks @ Content::Blocks(_) => {
            let mut lines = Vec::new();
            let mut rest = Vec::new();
            for part in Parts::of(&blocks).parts {
                match part {
                    Part::Text(text) => lines.push(text),
                    other => rest.push(other),
                }
            }
            let texts: Vec<&str> = lines.iter().map(Text::as_str).collect();
            (Cow::Owned(texts.join("\n")), rest)
        }
    }
}

/// The role of a message that a provider calls a user message: one that holds nothing but tool
/// results is the tools' own.
pub(super) fn user_or_tool(parts: &[Part]) -> Role {
    let results = parts.iter().any(|part| matches!(part, Part::Result(_)));
    let said = parts
        .iter()
        .any(|part| matches!(part, Part::Text(_) | Part::Thinking(_) | Part::Call(_)));
    if results && !said {
        Role::Tool
    } else {
        Role::User
    }
}
