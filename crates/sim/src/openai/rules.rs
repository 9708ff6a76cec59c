//! The documented rules of both interfaces.

use std::collections::BTreeSet;

use serde_json::Value;

use super::items::{Call, Item, verifies};
use crate::refusal::Refusal;
use crate::seal::Seal;

/// Parameters that both interfaces have.
pub(crate) fn parameters(call: &Call) -> Result<(), Refusal> {
    let values = |key: &str, known: &[&str]| match call.cache_option(key).map(Value::as_str) {
        None => Ok(()),
        Some(Some(value)) if known.contains(&value) => Ok(()),
        Some(_) => Err(invalid_value(&format!("prompt_cache_options.{key}"), known)),
    };
    values("mode", &["implicit", "explicit"])?;
    values("ttl", &["30m", "12h"])?;
    if let Some(stream) = call.field("stream")
        && !stream.is_boolean()
    {
        return Err(
            Refusal::invalid("Invalid type for 'stream': expected a boolean.")
                .coded("invalid_type")
                .about("stream"),
        );
    }
    if call.field("stream_options").is_some() && !call.streams() {
        return Err(Refusal::invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        .about("stream_options"));
    }
    let choice = call.field("tool_choice").and_then(Value::as_str);
    let tools = call
        .field("tools")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty());
    if choice.is_some_and(|choice| choice != "none") && !tools {
        return Err(
            Refusal::invalid("'tool_choice' is only allowed when 'tools' are specified.")
                .about("tool_choice"),
        );
    }
    Ok(())
}

fn invalid_value(param: &str, known: &[&str]) -> Refusal {
    let known: Vec<_> = known.iter().map(|value| format!("'{value}'")).collect();
    Refusal::invalid(format!(
        "Invalid value for '{param}'. Supported values are: {}.",
        known.join(", ")
    ))
    .coded("invalid_value")
    .about(param)
}

/// The messages of a chat.
pub(crate) fn chat(call: &Call) -> Result<(), Refusal> {
    if call.items.is_empty() {
        return Err(Refusal::invalid(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        )
        .coded("empty_array")
        .about("messages"));
    }
    let roles = [
        "system",
        "developer",
        "user",
        "assistant",
        "tool",
        "function",
    ];
    let mut open: Option<(usize, BTreeSet<&str>, BTreeSet<&str>)> = None;
    for (at, message) in call.items.iter().enumerate() {
        let role = message.text("role");
        if !roles.contains(&role) {
            return Err(invalid_value(&format!("messages[{at}].role"), &roles));
        }
        if role == "tool" {
            answer(at, message, &mut open)?;
            continue;
        }
        answered(open.take())?;
        let calls = call_ids(message);
        let content = message.value.get("content").is_some_and(|it| !it.is_null());
        if !content && calls.is_empty() && message.value.get("refusal").is_none() {
            return Err(Refusal::invalid(format!(
                "Invalid value for 'content': expected a string, got null. (messages.[{at}])"
            ))
            .about(format!("messages.[{at}].content")));
        }
        if !calls.is_empty() {
            open = Some((at, calls.clone(), calls));
        }
    }
    answered(open)
}

fn call_ids(message: &Item) -> BTreeSet<&str> {
    let calls = message.value.get("tool_calls").and_then(Value::as_array);
    calls
        .into_iter()
        .flatten()
        .filter_map(|call| call.get("id")?.as_str())
        .collect()
}

fn answer<'c>(
    at: usize,
    message: &'c Item,
    open: &mut Option<(usize, BTreeSet<&'c str>, BTreeSet<&'c str>)>,
) -> Result<(), Refusal> {
    let id = message.text("tool_call_id");
    let Some((_, all, left)) = open else {
        return Err(Refusal::invalid(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        )
        .about(format!("messages.[{at}].role")));
    };
    if !all.contains(id) {
        return Err(Refusal::invalid(format!(
            "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
        ))
        .about(format!("messages.[{at}].tool_call_id")));
    }
    left.remove(id);
    Ok(())
}

fn answered(open: Option<(usize, BTreeSet<&str>, BTreeSet<&str>)>) -> Result<(), Refusal> {
    match open {
        Some((at, _, left)) if !left.is_empty() => {
            let ids: Vec<_> = left.into_iter().collect();
            Err(Refusal::invalid(format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                ids.join(", ")
            ))
            .about(format!("messages.[{at}].role")))
        }
        _ => Ok(()),
    }
}

/// The items of a response. `before` of them came from an earlier one.
pub(crate) fn responses(call: &Call, seal: &Seal) -> Result<(), Refusal> {
    if call.items.is_empty() {
        return Err(Refusal::invalid("Missing required parameter: 'input'.")
            .coded("missing_required_parameter")
            .about("input"));
    }
    if call.field("previous_response_id").is_some() && call.field("conversation").is_some() {
        return Err(Refusal::invalid(
            "'previous_response_id' and 'conversation' are mutually exclusive.",
        )
        .coded("mutually_exclusive_parameters")
        .about("previous_response_id"));
    }
    if let Some(truncation) = call.field("truncation")
        && truncation != "auto"
        && truncation != "disabled"
    {
        return Err(invalid_value("truncation", &["auto", "disabled"]));
    }
    management(call)?;
    sealed_items(call, seal)?;
    unique(call)?;
    pairs(call)?;
    reasoning(call)
}

fn management(call: &Call) -> Result<(), Refusal> {
    let Some(edits) = call.field("context_management") else {
        return Ok(());
    };
    for (at, edit) in edits.as_array().into_iter().flatten().enumerate() {
        if edit.get("type").is_none_or(|kind| kind != "compaction") {
            let param = format!("context_management[{at}].type");
            return Err(invalid_value(&param, &["compaction"]));
        }
        let threshold = edit.get("compact_threshold").filter(|it| !it.is_null());
        if threshold.is_some_and(|value| value.as_u64().is_none()) {
            let param = format!("context_management[{at}].compact_threshold");
            return Err(Refusal::invalid(format!(
                "Invalid type for '{param}': expected an integer."
            ))
            .coded("invalid_type")
            .about(param));
        }
    }
    if !edits.is_array() {
        return Err(
            Refusal::invalid("Invalid type for 'context_management': expected an array.")
                .coded("invalid_type")
                .about("context_management"),
        );
    }
    Ok(())
}

fn sealed_items(call: &Call, seal: &Seal) -> Result<(), Refusal> {
    let last = call.items.len() - 1;
    for (at, item) in call.items.iter().enumerate() {
        match item.kind() {
            "compaction_trigger" if at != last => {
                return Err(Refusal::invalid(
                    "Invalid input: 'compaction_trigger' must be the final input item.",
                )
                .coded("invalid_value")
                .about(format!("input[{at}]")));
            }
            "compaction" if !verifies(seal, item.text("encrypted_content")) => {
                return Err(Refusal::invalid(
                    "The encrypted content of the compaction item could not be verified.",
                )
                .coded("invalid_encrypted_content")
                .about(format!("input[{at}].encrypted_content")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn unique(call: &Call) -> Result<(), Refusal> {
    let mut ids = BTreeSet::new();
    let twice = call
        .items
        .iter()
        .map(|item| item.text("id"))
        .find(|id| !id.is_empty() && !ids.insert(*id));
    match twice {
        Some(id) => Err(Refusal::invalid(format!(
            "Duplicate item found with id {id}. Remove duplicate items from your input and try again."
        ))
        .about("input")),
        None => Ok(()),
    }
}

/// Calls and outputs: an output follows its call, and every call has one.
fn pairs(call: &Call) -> Result<(), Refusal> {
    let mut open: Vec<&str> = Vec::new();
    let compacted = call
        .items
        .iter()
        .rposition(|item| item.kind() == "compaction");
    for (at, item) in call.items.iter().enumerate() {
        // Items that a compaction replaces are not checked any more.
        if compacted.is_some_and(|last| at <= last) {
            continue;
        }
        let id = item.text("call_id");
        match item.kind() {
            // The provider's own search.
            "tool_search_call" | "tool_search_output" if id.is_empty() => {}
            "function_call" | "custom_tool_call" | "tool_search_call" => open.push(id),
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                let Some(place) = open.iter().position(|call| *call == id) else {
                    return Err(Refusal::invalid(format!(
                        "No tool call found for function call output with call_id {id}."
                    ))
                    .about("input"));
                };
                open.remove(place);
            }
            _ => {}
        }
    }
    match open.first() {
        Some(id) => Err(
            Refusal::invalid(format!("No tool output found for function call {id}."))
                .about("input"),
        ),
        None => Ok(()),
    }
}

/// Reasoning is followed by what it led to.
fn reasoning(call: &Call) -> Result<(), Refusal> {
    for (at, item) in call.items.iter().enumerate() {
        if item.kind() != "reasoning" {
            continue;
        }
        let led_to = call.items.get(at + 1).is_some_and(|next| {
            let kind = next.kind();
            let spoken = kind == "message" && next.text("role") == "assistant";
            spoken || ["reasoning", "compaction"].contains(&kind) || kind.ends_with("_call")
        });
        if !led_to {
            return Err(Refusal::invalid(format!(
                "Item '{}' of type 'reasoning' was provided without its required following item.",
                item.text("id")
            ))
            .about("input"));
        }
    }
    Ok(())
}
