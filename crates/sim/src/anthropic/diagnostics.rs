//! Diagnoses cache misses against a message that the client names.

use serde_json::{Value, json};

use super::request::Call;
use super::rules::thinking::Examined;
use crate::organisation::{Organisation, Sent};
use crate::seal::{Print, print};

/// The parts of a request that later requests are compared with.
pub(super) fn remember(call: &Call, examined: &Examined, tokens: u64, at: jiff::Timestamp) -> Sent {
    Sent {
        at,
        model: call.known.model.name.clone(),
        tools: tools(call),
        system: system(call),
        state: examined.chain.state,
        carried: call.carried().map(|block| block.print),
        tokens,
    }
}

fn tools(call: &Call) -> Print {
    let prints: Vec<&[u8]> = call.tools.iter().map(|tool| &tool.print[..]).collect();
    print(&prints)
}

fn system(call: &Call) -> Print {
    let prints: Vec<&[u8]> = call.system.iter().map(|block| &block.print[..]).collect();
    print(&prints)
}

/// The `diagnostics` of an answer that read `read` tokens from the cache.
pub(super) fn diagnose(
    call: &Call,
    examined: &Examined,
    organisation: &Organisation,
    read: u64,
) -> Option<Value> {
    let asked = call.field("diagnostics")?;
    let Some(id) = asked.get("previous_message_id").and_then(Value::as_str) else {
        return Some(json!({"cache_miss_reason": null}));
    };
    let Some(sent) = organisation.sent.get(id) else {
        return Some(json!({"cache_miss_reason": {"type": "previous_message_not_found"}}));
    };
    let kind = if sent.model != call.known.model.name {
        "model_changed"
    } else if sent.tools != tools(call) {
        "tools_changed"
    } else if sent.system != system(call) {
        "system_changed"
    } else if sent.carried != call.carried().map(|block| block.print)
        || !examined.states.contains(&sent.state)
    {
        "messages_changed"
    } else {
        return Some(json!({"cache_miss_reason": null}));
    };
    let missed = sent.tokens.saturating_sub(read);
    Some(json!({"cache_miss_reason": {"type": kind, "cache_missed_input_tokens": missed}}))
}
