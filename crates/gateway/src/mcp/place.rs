//! Finds the conversation that a call is about. An MCP client does not say.

use std::time::Duration;

use history::ConversationId;
use serde_json::Value;
use tokio::time::sleep;

use super::answer::Trouble;
use crate::report::{Line, ReportError, Reports, Viewer, named};

/// The pauses in which a call may still be on its way through the gateway.
const PAUSES: usize = 5;
const PAUSE: Duration = Duration::from_millis(60);

/// A call as the client made it.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Value,
    /// The conversation that it names.
    pub(super) conversation: Option<&'a str>,
}

/// The conversation of a call: the one that it names; else the one in which an answer has just made it; else the
/// only one there is. Otherwise the call is refused with the candidates.
pub(super) async fn conversation(
    reports: &dyn Reports,
    viewer: Viewer,
    made: Made<'_>,
) -> Result<ConversationId, Trouble> {
    let mut callers = reports.claim(viewer, made.tool, made.arguments);
    if let ([one], None) = (callers.as_slice(), made.conversation) {
        return Ok(*one);
    }
    let known = reports.list(viewer).await?.conversations;
    // A conversation that its client compacted goes on as another one, and the agent still names the old one.
    if let Some(name) = made.conversation {
        return Ok(named(name, &known)?);
    }
    if let [only] = known.as_slice() {
        return ConversationId::parse(&only.id).ok_or_else(Trouble::none);
    }
    for _ in 0..PAUSES {
        if !callers.is_empty() {
            break;
        }
        sleep(PAUSE).await;
        callers = reports.claim(viewer, made.tool, made.arguments);
    }
    if let [one] = callers.as_slice() {
        return Ok(*one);
    }
    if callers.is_empty() && known.is_empty() {
        return Err(Trouble::none());
    }
    let ids: Vec<String> = callers.iter().map(ToString::to_string).collect();
    let may_be = |line: &&Line| ids.is_empty() || ids.contains(&line.id);
    Err(ReportError::which(known.iter().filter(may_be)).into())
}
