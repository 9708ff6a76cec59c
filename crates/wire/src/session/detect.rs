//! Tells the format of a transcript from its content.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::conversations::{self, Found};
use super::lines::{Line, slice, split};
use super::scalar::Scalar;
use super::{Format, lists};

/// The number of lines inspected. Logs may begin with records that occur in several formats.
const LINES_LOOKED_AT: usize = 200;

/// The fields that tell the formats of logs apart.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"), rename_all = "camelCase")]
struct Probe<'a> {
    #[serde(rename = "type")]
    kind: Scalar<'a>,
    uuid: Option<IgnoredAny>,
    session_id: Option<IgnoredAny>,
    leaf_uuid: Option<IgnoredAny>,
    message_id: Option<IgnoredAny>,
    message: Option<IgnoredAny>,
    cwd: Option<IgnoredAny>,
    payload: Option<IgnoredAny>,
    data: Option<IgnoredAny>,
    role: Option<IgnoredAny>,
    timestamp: Option<IgnoredAny>,
    instructions: Option<IgnoredAny>,
    tokens_before: Option<IgnoredAny>,
}

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

/// The format of a log that a single line shows.
fn by_line(text: &[u8]) -> Option<Format> {
    if text.first() != Some(&b'{') {
        return None;
    }
    let probe = serde_json::from_slice::<Probe<'_>>(text).ok()?;
    let conversation = probe.uuid.is_some() || probe.session_id.is_some();
    let Some(kind) = probe.kind.text() else {
        let beginning = probe.timestamp.is_some() && probe.instructions.is_some();
        return beginning.then_some(Format::Codex);
    };
    match kind {
        "user" | "assistant" if conversation && probe.message.is_some() => Some(Format::ClaudeCode),
        "system" | "progress" | "queue-operation" | "attachment" if conversation => {
            Some(Format::ClaudeCode)
        }
        "summary" if probe.leaf_uuid.is_some() => Some(Format::ClaudeCode),
        "file-history-snapshot" if probe.message_id.is_some() => Some(Format::ClaudeCode),
        "session" if probe.cwd.is_some() => Some(Format::Pi),
        "message" if probe.message.is_some() => Some(Format::Pi),
        "compaction" if probe.tokens_before.is_some() => Some(Format::Pi),
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"
            if probe.payload.is_some() =>
        {
            Some(Format::Codex)
        }
        "function_call" | "function_call_output" | "reasoning" | "local_shell_call" => {
            Some(Format::Codex)
        }
        _ if probe.data.is_some() && probe.role.is_none() && is_event(kind) => {
            Some(Format::Copilot)
        }
        _ => None,
    }
}

/// Returns `true` for types of Copilot CLI's events.
fn is_event(kind: &str) -> bool {
    ["session.", "user.", "assistant.", "tool.", "system."]
        .iter()
        .any(|family| kind.starts_with(family))
}
