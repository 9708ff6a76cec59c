//! System messages between other messages.

use tokens::Capability;

use crate::anthropic::content::{Kind, Role};
use crate::anthropic::request::Call;
use crate::refusal::Refusal;

pub(crate) fn check(call: &Call) -> Result<(), Refusal> {
    for (at, message) in call.messages.iter().enumerate() {
        let path = format!("messages.{at}");
        if message.role != Role::System {
            if message.has_clear_at {
                return Err(Refusal::extra(&format!("{path}.clear_at")));
            }
            continue;
        }
        if !call.known.model.can(Capability::MidConversationSystem) {
            return Err(Refusal::invalid(format!(
                "{path}.role: Input should be 'user' or 'assistant'"
            )));
        }
        for (place, block) in message.blocks.iter().enumerate() {
            let path = format!("{path}.content.{place}");
            let kind_fits = match block.kind {
                // The block has its own code, from the rules of compaction.
                Kind::Text | Kind::Compaction => true,
                Kind::ToolChange => !message.clears,
                _ => false,
            };
            if !kind_fits {
                return Err(Refusal::invalid(format!(
                    "{path}.type: Input should be 'text' in a system message"
                )));
            }
            if message.clears && block.mark.is_some() {
                return Err(Refusal::extra(&format!("{path}.text.cache_control")));
            }
        }
    }
    Ok(())
}
