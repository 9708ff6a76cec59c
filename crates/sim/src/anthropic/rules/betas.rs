//! Fields that exist only under a beta header.

use serde_json::Value;

use crate::anthropic::content::Kind;
use crate::anthropic::request::{Call, beta};
use crate::refusal::Refusal;

pub(crate) fn check(call: &Call) -> Result<(), Refusal> {
    let gates: [(&str, &[&str]); 4] = [
        ("compaction", &[beta::COMPACT]),
        (
            "context_management",
            &[beta::CONTEXT_MANAGEMENT, beta::COMPACT_THRESHOLD],
        ),
        ("diagnostics", &[beta::DIAGNOSIS]),
        ("thread", &[beta::THREADS]),
    ];
    for (field, betas) in gates {
        if call.fields.contains_key(field) && !betas.iter().any(|beta| call.has(beta)) {
            return Err(Refusal::extra(field));
        }
    }
    let binding = call
        .field("thinking")
        .and_then(|it| it.get("block_binding"));
    if binding.is_some() && !call.has(beta::BINDING_CONTROLS) {
        let kind = call.kind_of("thinking").unwrap_or("adaptive");
        return Err(Refusal::extra(&format!("thinking.{kind}.block_binding")));
    }
    for (at, message) in call.messages.iter().enumerate() {
        if message.has_clear_at && !call.has(beta::CLEAR_AT) {
            return Err(Refusal::extra(&format!("messages.{at}.clear_at")));
        }
        for (place, block) in message.blocks.iter().enumerate() {
            let path = format!("messages.{at}.content.{place}");
            let changes = block
                .value
                .get("tool_changes")
                .is_some_and(|it| !it.is_null());
            match block.kind {
                Kind::Compaction
                    if block.value.get("signature").is_some_and(Value::is_string)
                        && !call.has(beta::COMPACT) =>
                {
                    return Err(Refusal::extra(&format!("{path}.compaction")));
                }
                Kind::Compaction
                    if !call.has(beta::COMPACT) && !call.has(beta::COMPACT_THRESHOLD) =>
                {
                    return Err(Refusal::extra(&format!("{path}.compaction")));
                }
                Kind::Compaction if changes && !call.has(beta::INLINE_TOOLS) => {
                    return Err(Refusal::extra(&format!("{path}.compaction.tool_changes")));
                }
                Kind::ToolChange
                    if !call.has(beta::TOOL_CHANGES) && !call.has(beta::INLINE_TOOLS) =>
                {
                    return Err(Refusal::extra(&format!("{path}.{}", block.text("type"))));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
