//! The shape of the list of messages. Consecutive messages of one role are taken for one turn.

use tokens::Capability;

use crate::anthropic::content::{Kind, Message, Role};
use crate::anthropic::request::Call;
use crate::refusal::Refusal;

pub(crate) fn check(call: &Call) -> Result<(), Refusal> {
    let Some(first) = call.messages.first() else {
        return Err(Refusal::invalid(
            "messages: at least one message is required",
        ));
    };
    let summarised = first
        .blocks
        .first()
        .is_some_and(|block| block.kind == Kind::Compaction);
    if first.role != Role::User && !summarised {
        return Err(Refusal::invalid(
            "messages: first message must use the \"user\" role",
        ));
    }
    let last = call.messages.len() - 1;
    for (at, message) in call.messages.iter().enumerate() {
        content(message, at, at == last)?;
    }
    ending(call)
}

fn content(message: &Message, at: usize, last: bool) -> Result<(), Refusal> {
    if message.blocks.is_empty() && !(last && message.role == Role::Assistant) {
        return Err(Refusal::invalid(format!(
            "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
        )));
    }
    for (place, block) in message.blocks.iter().enumerate() {
        let path = format!("messages.{at}.content.{place}");
        let wrong_side = match block.kind {
            Kind::ToolUse | Kind::Thinking | Kind::RedactedThinking => {
                message.role != Role::Assistant
            }
            Kind::ToolResult => message.role != Role::User,
            _ => false,
        };
        if wrong_side {
            return Err(Refusal::invalid(format!(
                "{path}: `{}` blocks may not be in `{}` messages",
                block.text("type"),
                message.role.as_str()
            )));
        }
        if block.kind == Kind::Text && block.text("text").is_empty() {
            return Err(Refusal::invalid(
                "messages: text content blocks must be non-empty",
            ));
        }
        if block.kind == Kind::Text && block.text("text").trim().is_empty() {
            return Err(Refusal::invalid(
                "messages: text content blocks must contain non-whitespace text",
            ));
        }
        if block.kind == Kind::ToolUse && !block.value.get("input").is_some_and(|it| it.is_object())
        {
            return Err(Refusal::invalid(format!(
                "{path}.tool_use.input: Input should be a valid dictionary"
            )));
        }
    }
    Ok(())
}

/// Checks the end of the list: some models refuse words put into the model's mouth.
fn ending(call: &Call) -> Result<(), Refusal> {
    let Some(last) = call.messages.last() else {
        return Ok(());
    };
    if last.role != Role::Assistant || call.compacts() {
        return Ok(());
    }
    // An unanswered call has its own, clearer refusal.
    let calls = last.blocks.iter().any(|block| block.kind == Kind::ToolUse);
    let ends_on = last.blocks.last().map(|block| block.kind);
    if calls || matches!(ends_on, Some(Kind::Compaction | Kind::Other)) {
        return Ok(());
    }
    if call.known.model.can(Capability::KeepsThinking) && !call.known.asked.contains("-4-5") {
        return Err(Refusal::invalid(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ));
    }
    let text = last.blocks.last().map_or("", |block| block.text("text"));
    if text.ends_with(char::is_whitespace) {
        return Err(Refusal::invalid(
            "messages: final assistant content cannot end with trailing whitespace",
        ));
    }
    Ok(())
}
