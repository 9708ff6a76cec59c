//! Messages and blocks, read once and remembered.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cache::Life;
use crate::refusal::Refusal;
use crate::seal::{Print, print};

/// The role of a message on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// The kind of a block, as far as the rules tell kinds apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse,
    ToolResult,
    Compaction,
    ToolChange,
    Other,
}

/// All types of block that the interface takes.
const TAGS: [(&str, Kind); 22] = [
    ("text", Kind::Text),
    ("thinking", Kind::Thinking),
    ("redacted_thinking", Kind::RedactedThinking),
    ("tool_use", Kind::ToolUse),
    ("tool_result", Kind::ToolResult),
    ("compaction", Kind::Compaction),
    ("tool_addition", Kind::ToolChange),
    ("tool_removal", Kind::ToolChange),
    ("image", Kind::Other),
    ("document", Kind::Other),
    ("search_result", Kind::Other),
    ("server_tool_use", Kind::Other),
    ("web_search_tool_result", Kind::Other),
    ("web_fetch_tool_result", Kind::Other),
    ("code_execution_tool_result", Kind::Other),
    ("bash_code_execution_tool_result", Kind::Other),
    ("text_editor_code_execution_tool_result", Kind::Other),
    ("tool_search_tool_result", Kind::Other),
    ("mcp_tool_use", Kind::Other),
    ("mcp_tool_result", Kind::Other),
    ("container_upload", Kind::Other),
    ("fallback", Kind::Other),
];

/// A content block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub kind: Kind,
    pub value: Value,
    /// The print of the block without cache markers, as the model sees it.
    pub print: Print,
    pub tokens: u64,
    pub mark: Option<Life>,
}

impl Block {
    /// The text of a member.
    pub fn text(&self, key: &str) -> &str {
        self.value.get(key).and_then(Value::as_str).unwrap_or("")
    }

    /// The id by which calls and results find each other.
    pub fn call(&self) -> &str {
        self.text(match self.kind {
            Kind::ToolResult => "tool_use_id",
            _ => "id",
        })
    }

    /// Reads a block at `path`.
    pub fn read(value: &Value, path: &str, count: &dyn Fn(&str) -> u64) -> Result<Self, Refusal> {
        let Some(tag) = value.get("type").and_then(Value::as_str) else {
            return Err(Refusal::invalid(format!("{path}.type: Field required")));
        };
        let Some((_, kind)) = TAGS.iter().find(|(name, _)| *name == tag) else {
            let known: Vec<_> = TAGS.iter().map(|(name, _)| format!("'{name}'")).collect();
            return Err(Refusal::invalid(format!(
                "{path}: Input tag '{tag}' found using 'type' does not match any of the expected tags: {}",
                known.join(", ")
            )));
        };
        for field in required(*kind) {
            if value.get(*field).is_none() {
                return Err(Refusal::invalid(format!(
                    "{path}.{tag}.{field}: Field required"
                )));
            }
        }
        let mark = mark(value, &format!("{path}.{tag}"))?;
        let thinking = matches!(kind, Kind::Thinking | Kind::RedactedThinking);
        if mark.is_some() && thinking {
            return Err(Refusal::extra(&format!("{path}.{tag}.cache_control")));
        }
        let empty = *kind == Kind::Text && value.get("text").and_then(Value::as_str) == Some("");
        if mark.is_some() && empty {
            return Err(Refusal::invalid(format!(
                "{path}: cache_control cannot be set for empty text blocks"
            )));
        }
        Ok(Self {
            kind: *kind,
            print: print_of(*kind, value),
            tokens: tokens(*kind, value, count),
            mark,
            value: value.clone(),
        })
    }

    /// A plain text.
    pub fn plain(text: &str, count: &dyn Fn(&str) -> u64) -> Self {
        let value = serde_json::json!({"type": "text", "text": text});
        Self {
            kind: Kind::Text,
            print: print_of(Kind::Text, &value),
            tokens: count(text),
            mark: None,
            value,
        }
    }
}

const fn required(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Text => &["text"],
        Kind::Thinking => &["thinking", "signature"],
        Kind::ToolUse => &["id", "name", "input"],
        Kind::ToolResult => &["tool_use_id"],
        Kind::Compaction => &["content"],
        Kind::RedactedThinking | Kind::ToolChange | Kind::Other => &[],
    }
}

/// The `cache_control` of a value.
pub(crate) fn mark(value: &Value, path: &str) -> Result<Option<Life>, Refusal> {
    let Some(control) = value.get("cache_control").filter(|it| !it.is_null()) else {
        return Ok(None);
    };
    if control.get("type").and_then(Value::as_str) != Some("ephemeral") {
        return Err(Refusal::invalid(format!(
            "{path}.cache_control.type: Input should be 'ephemeral'"
        )));
    }
    match control.get("ttl").map(Value::as_str) {
        None | Some(Some("5m")) => Ok(Some(Life::Short)),
        Some(Some("1h")) => Ok(Some(Life::Long)),
        Some(_) => Err(Refusal::invalid(format!(
            "{path}.cache_control.ttl: Input should be '5m' or '1h'"
        ))),
    }
}

/// The value without its cache markers, those inside a tool result included.
pub(crate) fn unmarked(value: &Value) -> Value {
    let mut plain = value.clone();
    if let Some(object) = plain.as_object_mut() {
        object.shift_remove("cache_control");
        if let Some(Value::Array(inner)) = object.get_mut("content") {
            for block in inner {
                if let Some(block) = block.as_object_mut() {
                    block.shift_remove("cache_control");
                }
            }
        }
    }
    plain
}

/// The members of a block in a fixed order, without empty ones: clients write them as they like. What
/// is inside a member keeps its order, which the model sees.
pub(crate) fn plain(value: &Value) -> String {
    let Some(object) = value.as_object() else {
        return value.to_string();
    };
    let said: BTreeMap<&str, &Value> = object
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.as_str(), value))
        .collect();
    let members: Vec<String> = said
        .into_iter()
        .map(|(key, value)| format!("{key}:{value}"))
        .collect();
    members.join(",")
}

fn print_of(kind: Kind, value: &Value) -> Print {
    match (kind, value.get("text").and_then(Value::as_str)) {
        (Kind::Text, Some(text)) => print(&[b"text", text.as_bytes()]),
        _ => print(&[b"block", plain(&unmarked(value)).as_bytes()]),
    }
}

/// An image costs what a full-size one does; a document a token for six bytes.
fn tokens(kind: Kind, value: &Value, count: &dyn Fn(&str) -> u64) -> u64 {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map_or(0, count);
    match kind {
        Kind::Text => text("text"),
        Kind::Thinking => text("thinking"),
        Kind::Compaction => text("content"),
        Kind::ToolUse => {
            let input = value.get("input").map(Value::to_string).unwrap_or_default();
            text("name") + count(&input)
        }
        Kind::ToolResult => match value.get("content") {
            Some(Value::String(content)) => count(content),
            Some(Value::Array(inner)) => inner.iter().map(|each| inner_tokens(each, count)).sum(),
            _ => 0,
        },
        Kind::RedactedThinking | Kind::ToolChange | Kind::Other => inner_tokens(value, count),
    }
}

fn inner_tokens(value: &Value, count: &dyn Fn(&str) -> u64) -> u64 {
    match value.get("type").and_then(Value::as_str) {
        Some("text") => value.get("text").and_then(Value::as_str).map_or(0, count),
        Some("image") => 1_600,
        Some("document") => value.to_string().len() as u64 / 6,
        _ => count(&value.to_string()),
    }
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub role: Role,
    pub blocks: Vec<Block>,
    /// `true` for a message that is shown only until the next user turn.
    pub clears: bool,
    /// `true` if the message has `clear_at`, whatever its value.
    pub has_clear_at: bool,
}

impl Message {
    /// Reads a message at `messages.{index}`.
    pub fn read(raw: &str, index: usize, count: &dyn Fn(&str) -> u64) -> Result<Self, Refusal> {
        let path = format!("messages.{index}");
        let value: Value = serde_json::from_str(raw)
            .map_err(|error| Refusal::invalid(format!("{path}: {error}")))?;
        let role = match value.get("role").and_then(Value::as_str) {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => {
                return Err(Refusal::invalid(format!(
                    "{path}.role: Input should be 'user', 'assistant' or 'system'"
                )));
            }
        };
        if let Some(key) = value.as_object().and_then(|object| {
            let known = ["role", "content", "clear_at", "output_config"];
            object.keys().find(|key| !known.contains(&key.as_str()))
        }) {
            return Err(Refusal::extra(&format!("{path}.{key}")));
        }
        let blocks = match value.get("content") {
            Some(Value::String(text)) if text.is_empty() => Vec::new(),
            Some(Value::String(text)) => vec![Block::plain(text, count)],
            Some(Value::Array(blocks)) => read_blocks(blocks, &path, count)?,
            Some(_) => {
                return Err(Refusal::invalid(format!(
                    "{path}.content: Input should be a valid list"
                )));
            }
            None => {
                return Err(Refusal::invalid(format!("{path}.content: Field required")));
            }
        };
        let clear_at = value.get("clear_at").filter(|it| !it.is_null());
        let clears = match clear_at.map(Value::as_str) {
            None | Some(Some("never")) => false,
            Some(Some("next_user_message")) => true,
            Some(_) => {
                return Err(Refusal::invalid(format!(
                    "{path}.clear_at: Input should be 'next_user_message' or 'never'"
                )));
            }
        };
        Ok(Self {
            role,
            blocks,
            clears,
            has_clear_at: clear_at.is_some(),
        })
    }

    /// The blocks without thinking.
    pub fn spoken(&self) -> impl Iterator<Item = &Block> {
        self.blocks
            .iter()
            .filter(|block| !matches!(block.kind, Kind::Thinking | Kind::RedactedThinking))
    }
}

fn read_blocks(
    blocks: &[Value],
    path: &str,
    count: &dyn Fn(&str) -> u64,
) -> Result<Vec<Block>, Refusal> {
    blocks
        .iter()
        .enumerate()
        .map(|(at, block)| Block::read(block, &format!("{path}.content.{at}"), count))
        .collect()
}
