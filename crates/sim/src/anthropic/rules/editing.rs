//! `context_management`: which edits may be asked for, and with what.

use serde_json::Value;
use tokens::Capability;

use crate::anthropic::request::{Call, beta};
use crate::refusal::Refusal;

/// The least trigger of compaction by threshold.
const LEAST_TRIGGER: u64 = 50_000;

/// The edits that are asked for.
pub(crate) fn edits(call: &Call) -> &[Value] {
    call.field("context_management")
        .and_then(|it| it.get("edits"))
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The `value` of an amount such as `{"type":"input_tokens","value":5}`.
pub(crate) fn amount(edit: &Value, key: &str) -> Option<(String, u64)> {
    let amount = edit.get(key)?;
    let kind = amount.get("type")?.as_str()?.to_owned();
    Some((kind, amount.get("value")?.as_u64()?))
}

pub(crate) fn check(call: &Call) -> Result<(), Refusal> {
    for (at, edit) in edits(call).iter().enumerate() {
        let path = format!("context_management.edits.{at}");
        match edit.get("type").and_then(Value::as_str) {
            Some("clear_tool_uses_20250919") => {
                gate(call, beta::CONTEXT_MANAGEMENT, &path)?;
                amounts(edit, &path, "trigger", &["input_tokens", "tool_uses"])?;
                amounts(edit, &path, "keep", &["tool_uses"])?;
                amounts(edit, &path, "clear_at_least", &["input_tokens"])?;
            }
            Some("clear_thinking_20251015") => {
                gate(call, beta::CONTEXT_MANAGEMENT, &path)?;
                if at != 0 {
                    return Err(Refusal::invalid(format!(
                        "{path}: `clear_thinking_20251015` must be the first edit"
                    )));
                }
                if !matches!(call.kind_of("thinking"), Some("enabled" | "adaptive")) {
                    return Err(Refusal::invalid(format!(
                        "{path}: `clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"
                    )));
                }
                let all = edit.get("keep").is_some_and(|keep| {
                    keep == "all" || keep.get("type").is_some_and(|kind| kind == "all")
                });
                if !all {
                    amounts(edit, &path, "keep", &["thinking_turns"])?;
                }
            }
            Some("compact_20260112") => {
                gate(call, beta::COMPACT_THRESHOLD, &path)?;
                if !call.known.model.can(Capability::NativeCompaction) {
                    return Err(Refusal::invalid(format!(
                        "{path}: {} does not support compaction",
                        call.known.asked
                    )));
                }
                amounts(edit, &path, "trigger", &["input_tokens"])?;
                if amount(edit, "trigger").is_some_and(|(_, value)| value < LEAST_TRIGGER) {
                    return Err(Refusal::invalid(format!(
                        "{path}.trigger.value: Input should be greater than or equal to {LEAST_TRIGGER}"
                    )));
                }
            }
            _ => {
                return Err(Refusal::invalid(format!(
                    "{path}.type: Input should be 'clear_tool_uses_20250919', 'clear_thinking_20251015' or 'compact_20260112'"
                )));
            }
        }
    }
    Ok(())
}

fn gate(call: &Call, beta: &str, path: &str) -> Result<(), Refusal> {
    if call.has(beta) {
        Ok(())
    } else {
        Err(Refusal::extra(path))
    }
}

fn amounts(edit: &Value, path: &str, key: &str, kinds: &[&str]) -> Result<(), Refusal> {
    if edit.get(key).is_none_or(Value::is_null) {
        return Ok(());
    }
    match amount(edit, key) {
        Some((kind, _)) if kinds.contains(&kind.as_str()) => Ok(()),
        _ => Err(Refusal::invalid(format!(
            "{path}.{key}.type: Input should be '{}' with a `value`",
            kinds.join("' or '")
        ))),
    }
}
