//! Top-level parameters: presence, type and range.

use serde_json::Value;

use super::Purpose;
use crate::anthropic::request::Call;
use crate::refusal::Refusal;

pub(crate) fn check(call: &Call, purpose: Purpose) -> Result<(), Refusal> {
    if purpose == Purpose::Answer {
        max_tokens(call)?;
    }
    if let Some(stream) = call.field("stream")
        && !stream.is_boolean()
    {
        return Err(Refusal::invalid("stream: Input should be a valid boolean"));
    }
    thinking(call)?;
    tool_choice(call)
}

fn max_tokens(call: &Call) -> Result<(), Refusal> {
    let Some(value) = call.fields.get("max_tokens") else {
        return Err(Refusal::invalid("max_tokens: Field required"));
    };
    let Some(asked) = value.as_u64() else {
        let message = if value.is_i64() {
            "max_tokens: Input should be greater than or equal to 0"
        } else {
            "max_tokens: Input should be a valid integer"
        };
        return Err(Refusal::invalid(message));
    };
    let most = call.known.model.max_output.get();
    if asked > most {
        return Err(Refusal::invalid(format!(
            "max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for {}",
            call.known.asked
        )));
    }
    Ok(())
}

fn thinking(call: &Call) -> Result<(), Refusal> {
    let Some(thinking) = call.field("thinking") else {
        return Ok(());
    };
    match thinking.get("type").and_then(Value::as_str) {
        Some("adaptive" | "disabled") => {}
        Some("enabled") => {
            let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
            let Some(budget) = budget else {
                return Err(Refusal::invalid(
                    "thinking.enabled.budget_tokens: Field required",
                ));
            };
            if budget < 1_024 {
                return Err(Refusal::invalid(
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
                ));
            }
            if call.fields.contains_key("max_tokens") && budget >= call.max_tokens() {
                return Err(Refusal::invalid(
                    "`max_tokens` must be greater than `thinking.budget_tokens`.",
                ));
            }
        }
        _ => {
            return Err(Refusal::invalid(
                "thinking.type: Input should be 'adaptive', 'enabled' or 'disabled'",
            ));
        }
    }
    let behaviour = thinking
        .get("block_binding")
        .and_then(|it| it.get("prefix_mismatch_behavior"));
    match behaviour.map(Value::as_str) {
        None | Some(Some("error" | "drop_block")) => Ok(()),
        Some(_) => Err(Refusal::invalid(
            "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
        )),
    }
}

fn tool_choice(call: &Call) -> Result<(), Refusal> {
    let Some(choice) = call.field("tool_choice") else {
        return Ok(());
    };
    match call.kind_of("tool_choice") {
        Some("none") => Ok(()),
        Some("auto" | "any" | "tool") if call.tools.is_empty() => Err(Refusal::invalid(
            "tool_choice may only be specified while providing tools.",
        )),
        Some("auto" | "any") => Ok(()),
        Some("tool") => {
            let name = choice.get("name").and_then(Value::as_str).unwrap_or("");
            if call.tools.iter().any(|tool| tool.name == name) {
                Ok(())
            } else {
                Err(Refusal::invalid(format!(
                    "Tool '{name}' not found in provided tools"
                )))
            }
        }
        _ => Err(Refusal::invalid(
            "tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'",
        )),
    }
}
