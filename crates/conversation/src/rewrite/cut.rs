//! Where a view may begin.

use context::{Part, Role};
use memchr::memmem;
use wire::api::{Dialect, Message, Request};

use super::RewriteError;
use crate::view::{Front, View};

/// Refuses a view whose view the provider would refuse. The supervisor cuts at legal places only;
/// this is the last look before the bytes leave.
pub(super) fn check(request: &Request<'_>, view: &View) -> Result<(), RewriteError> {
    let (from, count) = (view.from, request.len());
    let native = matches!(view.front, Front::Native { .. });
    if from > count || (from == count && !native) {
        return Err(RewriteError::NothingKept { from, count });
    }
    if native {
        carries(request, from)?;
    }
    if from == 0 {
        return Ok(());
    }
    let refused = |why| Err(RewriteError::IllegalCut { from, why });
    let first = request.message(from).map(|message| message.role());
    if request.dialect() == Dialect::Anthropic {
        if first == Some(Role::System) {
            return refused("it is a system message");
        }
        let last = from.checked_sub(1).and_then(|last| request.message(last));
        if native && first.is_some() && last.map(|message| message.role()) == first {
            return refused("the message before it is of the same role");
        }
    }
    // Results belong to the model's last message before them, so none may come before one is shown.
    let orphan = (from..count)
        .map_while(|index| request.message(index))
        .take_while(|message| message.role() != Role::Assistant)
        .any(|message| has_results(&message));
    if orphan {
        return refused("it stands between a call and its result");
    }
    Ok(())
}

/// Whether a message holds a tool result.
fn has_results(message: &Message<'_>) -> bool {
    match message.dialect() {
        Dialect::Anthropic => {
            let raw = message.raw().as_bytes();
            let is_result = |part: &Part| matches!(part, Part::Result(_));
            memmem::find(raw, b"tool_result").is_some()
                && message.draft().parts.iter().any(is_result)
        }
        Dialect::Chat | Dialect::Responses => message.role() == Role::Tool,
    }
}

/// Whether the provider's own summary may stand in front of what is shown.
fn carries(request: &Request<'_>, from: usize) -> Result<(), RewriteError> {
    match request.dialect() {
        Dialect::Chat => return Err(RewriteError::NotCarried("the interface has none")),
        Dialect::Responses => return Ok(()),
        Dialect::Anthropic => {}
    }
    let is_block =
        |part: &Part| matches!(part, Part::Opaque(opaque) if opaque.kind.as_str() == "compaction");
    let second = request.messages().skip(from).any(|message| {
        memmem::find(message.raw().as_bytes(), b"\"compaction\"").is_some()
            && message.draft().parts.iter().any(is_block)
    });
    if second {
        return Err(RewriteError::NotCarried("the client carries one already"));
    }
    Ok(())
}
