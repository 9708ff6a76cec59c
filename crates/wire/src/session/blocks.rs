//! Content blocks to parts: Anthropic's, OpenAI's and pi's, told apart by their type names, which
//! do not clash.

use context::Text;
use context::turn::{Outcome, Part, Role};

use crate::api::json::scan::Kind;
use crate::api::json::tree::Value;
use crate::api::parts;

/// The parts of a message, and the types of blocks in it that are not known.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) parts: Vec<Part>,
    pub(super) unknown: Vec<String>,
}

impl Parts {
    /// The parts of a message's content: one text, a list of blocks, or nothing usable.
    pub(super) fn of(content: Option<Value<'_>>) -> Self {
        let mut parts = Self::default();
        match content.map(|content| (content, content.text())) {
            Some((_, Some(text))) => parts.text(&text),
            Some((list, None)) => list.elements().for_each(|block| parts.block(block)),
            None => {}
        }
        parts
    }

    /// One plain text.
    pub(super) fn said(text: &str) -> Self {
        let mut parts = Self::default();
        parts.text(text);
        parts
    }

    /// One tool result; parts of it that are not text follow as attachments.
    pub(super) fn answered(call: &str, content: Option<Value<'_>>, failed: bool) -> Self {
        let mut parts = Self::default();
        parts.result(call, content, failed);
        parts
    }

    /// Adds a plain text; an empty one adds nothing.
    pub(super) fn text(&mut self, text: &str) {
        parts::push_text(&mut self.parts, text);
    }

    /// Adds reasoning.
    pub(super) fn thinking(&mut self, text: &str) {
        self.parts.push(Part::Thinking(Text::from(text)));
    }

    /// Adds a tool call.
    pub(super) fn call(&mut self, id: &str, name: &str, arguments: &str) {
        let (id, name) = (Text::from(id), Text::from(name));
        self.parts
            .push(parts::call(&id, name, Text::from(arguments)));
    }

    /// Adds the parts and the unknown types of `more`.
    pub(super) fn extend(&mut self, more: Self) {
        self.parts.extend(more.parts);
        self.unknown.extend(more.unknown);
    }

    fn block(&mut self, block: Value<'_>) {
        if let Some(text) = block.text() {
            return self.text(&text);
        }
        let kind = block.word("type");
        match &*kind {
            "text" | "input_text" | "output_text" => self.text(&block.word("text")),
            "refusal" => self.text(&block.word("refusal")),
            "thinking" => self.thinking(&block.word("thinking")),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.call_in(block, "input"),
            "toolCall" => self.call_in(block, "arguments"),
            _ if kind.ends_with("tool_result") && block.get_text("tool_use_id").is_some() => {
                let (content, failed) = (block.field("content"), block.flag("is_error"));
                self.result(&block.word("tool_use_id"), content, failed);
            }
            "image" | "document" | "image_url" | "input_image" | "input_audio" | "file"
            | "input_file" => self.attachment(block, &kind),
            "redacted_thinking" | "compaction" => self.parts.push(parts::opaque_of(block, &kind)),
            _ => {
                self.parts.push(parts::opaque_of(block, &kind));
                self.unknown.push(kind.into_owned());
            }
        }
    }

    /// Adds the call of a block that holds its arguments under `key`.
    fn call_in(&mut self, block: Value<'_>, key: &str) {
        let arguments = block.field(key).map_or("", Value::raw);
        self.call(&block.word("id"), &block.word("name"), arguments);
    }

    fn result(&mut self, call: &str, content: Option<Value<'_>>, failed: bool) {
        let (text, attachments) = readable(content);
        let call = Text::from(call);
        self.parts.push(parts::result(&call, text, outcome(failed)));
        self.parts.extend(attachments);
    }

    fn attachment(&mut self, block: Value<'_>, kind: &str) {
        let source = block.get("source");
        let media = source.and_then(|source| source.get_text("media_type"));
        let media = media.or_else(|| block.get_text("mimeType"));
        let kind = match (&media, kind) {
            (Some(media), _) => media,
            (None, "image_url" | "input_image") => "image",
            (None, kind) => kind,
        };
        self.parts.push(parts::attachment(block, kind));
    }
}

/// The outcome of a tool call.
pub(super) const fn outcome(failed: bool) -> Outcome {
    if failed {
        Outcome::Failed
    } else {
        Outcome::Succeeded
    }
}

/// The readable text of a tool result, and its parts that are not text. A text stays as it is, blocks
/// are joined by line feeds, and any other JSON counts as its own text.
pub(super) fn readable(content: Option<Value<'_>>) -> (Text, Vec<Part>) {
    let Some(content) = content else {
        return (Text::default(), Vec::new());
    };
    if content.kind() != Kind::List {
        return (Text::from(&*content.unquoted()), Vec::new());
    }
    let parts = Parts::of(Some(content)).parts;
    let text = Text::from(texts(&parts).join("\n"));
    let mut rest = parts;
    rest.retain(|part| !matches!(part, Part::Text(_)));
    (text, rest)
}

/// The plain texts among parts.
pub(super) fn texts(parts: &[Part]) -> Vec<&str> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
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
