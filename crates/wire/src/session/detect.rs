//! Tells the format of a transcript from its content.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Format;
use super::lines::{slice, split};
use super::scalar::Scalar;

/// How many lines are looked at. Logs may begin with records that occur in several formats.
const LINES_LOOKED_AT: usize = 200;

/// The fields that tell the formats of logs apart.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Probe<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    uuid: Option<IgnoredAny>,
    session_id: Option<IgnoredAny>,
    leaf_uuid: Option<IgnoredAny>,
    message_id: Option<IgnoredAny>,
    message: Option<IgnoredAny>,
    cwd: Option<IgnoredAny>,
}

/// The format of a transcript, told from its content and not from its name; `None` where it is none
/// that is known. Looks at the beginning only, so a known format does not mean an unbroken file.
#[must_use]
pub fn detect(bytes: &[u8]) -> Option<Format> {
    split(bytes)
        .into_iter()
        .map(|line| slice(bytes, line.text))
        .filter(|text| !text.iter().all(u8::is_ascii_whitespace))
        .take(LINES_LOOKED_AT)
        .find_map(by_line)
}

/// The format that a single line shows.
fn by_line(text: &[u8]) -> Option<Format> {
    let probe = serde_json::from_slice::<Probe<'_>>(text).ok()?;
    let conversation = probe.uuid.is_some() || probe.session_id.is_some();
    match probe.kind.text()? {
        "user" | "assistant" if conversation && probe.message.is_some() => Some(Format::ClaudeCode),
        "system" | "progress" | "queue-operation" | "attachment" if conversation => {
            Some(Format::ClaudeCode)
        }
        "summary" if probe.leaf_uuid.is_some() => Some(Format::ClaudeCode),
        "file-history-snapshot" if probe.message_id.is_some() => Some(Format::ClaudeCode),
        "session" if probe.cwd.is_some() => Some(Format::Pi),
        "message" if probe.message.is_some() => Some(Format::Pi),
        _ => None,
    }
}
