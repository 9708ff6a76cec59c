//! A provider that has never heard of compaction.

use super::editing::edits;
use crate::anthropic::content::Kind;
use crate::anthropic::request::Call;
use crate::refusal::Refusal;

/// Refuses what only a provider with compaction knows.
pub(crate) fn check(call: &Call) -> Result<(), Refusal> {
    if let Some(beta) = call.betas.iter().find(|beta| beta.starts_with("compact-")) {
        return Err(Refusal::invalid(format!(
            "Unexpected value(s) `{beta}` for the `anthropic-beta` header."
        )));
    }
    if call.compacts() {
        return Err(Refusal::extra("compaction"));
    }
    for (at, edit) in edits(call).iter().enumerate() {
        let kind = edit.get("type").and_then(serde_json::Value::as_str);
        if let Some(kind) = kind.filter(|kind| kind.starts_with("compact_")) {
            return Err(tag(&format!("context_management.edits.{at}"), kind));
        }
    }
    for (at, message) in call.messages.iter().enumerate() {
        let block = |block: &crate::anthropic::content::Block| block.kind == Kind::Compaction;
        if let Some(place) = message.blocks.iter().position(block) {
            let path = format!("messages.{at}.content.{place}");
            return Err(tag(&path, "compaction"));
        }
    }
    Ok(())
}

fn tag(path: &str, tag: &str) -> Refusal {
    Refusal::invalid(format!(
        "{path}: Input tag '{tag}' found using 'type' does not match any of the expected tags"
    ))
}
