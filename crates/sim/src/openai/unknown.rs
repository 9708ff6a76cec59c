//! A provider that has never heard of compaction.

use super::items::Call;
use crate::refusal::Refusal;

/// The items that such a provider takes.
const KNOWN: &str = "'message', 'reasoning', 'function_call', 'function_call_output'";

/// Refuses what only a provider with compaction knows.
pub(super) fn check(call: &Call) -> Result<(), Refusal> {
    if call.field("context_management").is_some() {
        return Err(Refusal::invalid("Unknown parameter: 'context_management'.")
            .coded("unknown_parameter")
            .about("context_management"));
    }
    let compacts = |kind: &str| kind.starts_with("compaction");
    match call.items.iter().position(|item| compacts(item.kind())) {
        Some(at) => {
            let kind = call.items.get(at).map_or("", |item| item.kind());
            Err(Refusal::invalid(format!(
                "Invalid value: '{kind}'. Supported values are: {KNOWN}."
            ))
            .coded("invalid_value")
            .about(format!("input[{at}].type")))
        }
        None => Ok(()),
    }
}
