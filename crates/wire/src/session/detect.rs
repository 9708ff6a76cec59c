//! Tells the format of a transcript from its content.

use super::conversations::{self, Found};
use super::fields::object;
use super::lines::{Line, slice, split};
use super::{Format, lists};

/// The product whose logs are recognised and not read.
pub(super) const GEMINI: &str = "Gemini CLI";

/// The number of lines inspected. Logs may begin with records that occur in several formats.
const LINES_LOOKED_AT: usize = 200;

/// The format of a file, with the conversations found on the way.
pub(super) enum Sniffed {
    Log(Format),
    Lists(Format, Found),
}

/// The format of a transcript, told from its content and not from its name; `None` for an unknown
/// format. A known format does not mean an unbroken file.
#[must_use]
pub fn detect(bytes: &[u8]) -> Option<Format> {
    match sniff(bytes, &split(bytes))? {
        Sniffed::Log(format) | Sniffed::Lists(format, _) => Some(format),
    }
}

/// [`detect`], with the conversations found on the way.
pub(super) fn sniff(bytes: &[u8], lines: &[Line]) -> Option<Sniffed> {
    let log = lines
        .iter()
        .map(|line| slice(bytes, line.text.clone()))
        .filter(|text| !text.iter().all(u8::is_ascii_whitespace))
        .take(LINES_LOOKED_AT)
        .find_map(by_line);
    if let Some(format) = log {
        return Some(Sniffed::Log(format));
    }
    let found = conversations::find(bytes, lines);
    let format = lists::dialect(bytes, lines, &found)?;
    Some(Sniffed::Lists(format, found))
}

/// The product of a log that is recognised and not read: Gemini CLI's are one object, or a line that begins
/// one, with the hash of the project.
pub(super) fn unsupported(bytes: &[u8], lines: &[Line]) -> Option<&'static str> {
    let first = lines.first().map(|line| slice(bytes, line.text.clone()))?;
    let whole = if first.trim_ascii() == b"{" {
        bytes
    } else {
        first
    };
    let tree = object(whole)?;
    let has = |key| tree.root().field(key).is_some();
    (has("sessionId") && has("projectHash")).then_some(GEMINI)
}

/// The format of a log that a single line shows.
fn by_line(text: &[u8]) -> Option<Format> {
    let tree = object(text)?;
    let record = tree.root();
    let has = |key| record.field(key).is_some();
    let conversation = has("uuid") || has("sessionId");
    let Some(kind) = record.get_text("type") else {
        let beginning = has("timestamp") && has("instructions");
        return beginning.then_some(Format::Codex);
    };
    match &*kind {
        "user" | "assistant" if conversation && has("message") => Some(Format::ClaudeCode),
        "system" | "progress" | "queue-operation" | "attachment" if conversation => {
            Some(Format::ClaudeCode)
        }
        "summary" if has("leafUuid") => Some(Format::ClaudeCode),
        "file-history-snapshot" if has("messageId") => Some(Format::ClaudeCode),
        "session" if has("cwd") => Some(Format::Pi),
        "message" if has("message") => Some(Format::Pi),
        "compaction" if has("tokensBefore") => Some(Format::Pi),
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
            if has("payload") =>
        {
            Some(Format::Codex)
        }
        "function_call" | "function_call_output" | "reasoning" | "local_shell_call" => {
            Some(Format::Codex)
        }
        _ if has("data") && !has("role") && is_event(&kind) => Some(Format::Copilot),
        _ => None,
    }
}

/// Returns `true` for types of Copilot CLI's events.
fn is_event(kind: &str) -> bool {
    ["session.", "user.", "assistant.", "tool.", "system."]
        .iter()
        .any(|family| kind.starts_with(family))
}
