//! The client's own compaction: how its request is recognised, and what answers it.
//!
//! | asked by | recognised by | answered here |
//! |---|---|---|
//! | Anthropic's parameter `compaction` | the field | with the provider's own block for the same messages, or a sealed summary |
//! | OpenAI's `compaction_trigger` | the last item | with a sealed summary |
//! | `POST /v1/responses/compact` | the path | with the user's messages and a sealed summary |
//! | Anthropic's edit `compact_…`, OpenAI's `context_management` | the field | with a sealed summary when it is due, where the provider has none |
//! | Claude Code, Codex, opencode, Roo Code, the Anthropic SDK's helper, Gemini CLI and its relatives, older pi | the newest user text | yes, from a summary of all messages |
//! | LangChain, OpenHands, goose, pi | the newest user text | no: the conversation stands as text inside the prompt |
//!
//! Only the newest message is looked at, and in it only what the user's side says: a prompt that stands in
//! a tool's result or earlier in the conversation is content.

mod prompts;
mod reply;

use context::{Part, Role, Tokens};
use serde_json::Value;
use wire::api::Request;

pub use reply::{answer, answer_closed, answer_sealed};

/// A request in which the client compacts on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCompaction {
    /// The client, for the journal: `claude-code`, `codex`, `anthropic-api`, …
    pub client: &'static str,
    /// The number of messages that it covers: those before its prompt.
    pub covers: usize,
    /// The form of the answer.
    pub wants: Wants,
}

/// The form in which a client that compacts wants the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// A sealed block or item: the provider's own ([`answer_sealed`]), or one of ours ([`answer_closed`]).
    Sealed,
    /// The user's messages and a sealed item, as the path that does nothing but compact answers.
    Listed,
    /// Nothing now: the provider is to compact by itself above this size, if a size is named. Such
    /// a request is sent on like any other.
    Later(Option<Tokens>),
    /// A text about the messages of the request. See [`answer`].
    Text(Form),
    /// A text about something else than the messages of the request as a whole: about a conversation that
    /// stands as text inside the prompt, about the newest messages only, or to the user's special wishes.
    Foreign,
}

/// The wrapping of the text that a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// No wrapping.
    Plain,
    /// In `<summary>` and `</summary>`.
    Summary,
    /// In `<state_snapshot>` and `</state_snapshot>`.
    Snapshot,
}

/// Recognises the client's own compaction. `target` is the request's path and query; `newest` the newest
/// message's parts, where they were read already.
#[must_use]
pub fn own_compaction(
    target: &str,
    request: &Request<'_>,
    newest: Option<&[Part]>,
) -> Option<ClientCompaction> {
    let all = request.len();
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let compaction = &request.dialect().facts().compaction;
    let path = path.trim_end_matches('/');
    if compaction.path.is_some_and(|end| path.ends_with(end)) {
        return Some(sealed(compaction.client, all, Wants::Listed));
    }
    match request.compacts() {
        Some(covers) => Some(sealed(compaction.client, covers, Wants::Sealed)),
        None => by_prompt(request, newest).or_else(|| later(request)),
    }
}

const fn sealed(client: &'static str, covers: usize, wants: Wants) -> ClientCompaction {
    ClientCompaction {
        client,
        covers,
        wants,
    }
}

/// By the last text of the newest message, where it is the user's. Texts that a client puts behind it on
/// its own do not count.
fn by_prompt(request: &Request<'_>, read: Option<&[Part]>) -> Option<ClientCompaction> {
    let newest = request.message(request.len().checked_sub(1)?)?;
    if newest.role() != Role::User {
        return None;
    }
    let draft;
    let parts = match read {
        Some(parts) => parts,
        None => {
            draft = newest.draft();
            &draft.parts
        }
    };
    let mut texts = parts.iter().rev().map_while(|part| match part {
        Part::Text(text) => Some(prompts::without_reminders(text)),
        _ => None,
    });
    let (client, wants) = prompts::recognise(texts.find(|text| !text.is_empty())?)?;
    Some(ClientCompaction {
        client,
        covers: newest.index(),
        wants,
    })
}

/// Returns true if the client wants the answer to end behind the block of a compaction that is due.
#[must_use]
pub fn pauses(request: &Request<'_>) -> bool {
    let Some(field) = request.field("context_management") else {
        return false;
    };
    let management: Option<Value> = serde_json::from_str(field.value).ok();
    let edits = management
        .as_ref()
        .and_then(|it| it.get("edits")?.as_array());
    let pauses = |edit: &Value| edit.get("pause_after_compaction") == Some(&Value::Bool(true));
    edits.is_some_and(|edits| edits.iter().any(pauses))
}

/// By the threshold from which on the provider is to compact.
fn later(request: &Request<'_>) -> Option<ClientCompaction> {
    let field = request.field("context_management")?;
    if !field.value.contains("compact") {
        return None;
    }
    let management: Value = serde_json::from_str(field.value).ok()?;
    let edits = management.get("edits").unwrap_or(&management).as_array()?;
    let edit = edits.iter().find(|edit| {
        let kind = edit.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| kind == "compaction" || kind.starts_with("compact_"))
    })?;
    let trigger = edit.get("trigger").and_then(|trigger| trigger.get("value"));
    let at = trigger.or_else(|| edit.get("compact_threshold"));
    Some(ClientCompaction {
        client: request.dialect().facts().compaction.client,
        covers: request.len(),
        wants: Wants::Later(at.and_then(Value::as_u64).map(Tokens::new)),
    })
}

#[cfg(test)]
mod tests;
