//! What is said to the model beside what the client said: the note about its own memory, and pins.

use context::note::RuntimeContext;
use context::{Part, Role};
use history::Change;
use serde_json::{Value, json};
use tokens::{Capability, Model, Provider};
use wire::api::{Dialect, Message, Request};

/// Something that is added to one message of a request, and its index among the messages.
///
/// It is kept as an edition and made again in every later request. What the header `anthropic-beta`
/// needs for it is said by [`betas`](super::betas).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// The message that is changed, or behind which something is put.
    pub message: usize,
    /// The change.
    pub change: Change,
}

/// The note, through the channel that the model has: always at the newest message, never between a call
/// and its result. `None` where there is nothing to say, or where the model has no channel at this place:
/// the newest message is its own, or it is a tool's and only the first message may be a system message.
///
/// | dialect | model | channel |
/// |---|---|---|
/// | Anthropic | with mid-conversation system messages | one that clears itself at the next user message; one that stays, where the client leaves its breakpoint to the provider |
/// | Anthropic | any other | a text block at the end of the newest user message |
/// | Chat | OpenAI's | a `system` message behind the newest message |
/// | Chat | any other: many templates take a system message only in front | a text block at the end of the newest user message |
/// | Responses | all | a `developer` message behind the newest message |
#[must_use]
pub fn note(request: &Request<'_>, model: &Model, facts: &RuntimeContext<'_>) -> Option<Addition> {
    let text = facts.render();
    let newest = newest(request).filter(|_| !text.is_empty())?;
    let change = match newest.dialect() {
        // An automatic breakpoint falls on the last block, which would be the note: what is cleared again
        // ends no prefix, and the next request would read nothing from behind the breakpoint before.
        Dialect::Anthropic
            if model.can(Capability::MidConversationSystem)
                && request.field("cache_control").is_some() =>
        {
            followed(&json!({"role": "system", "content": text}))
        }
        Dialect::Anthropic if model.can(Capability::MidConversationSystem) => {
            followed(&json!({"role": "system", "clear_at": "next_user_message", "content": text}))
        }
        Dialect::Anthropic => appended(&newest, &text)?,
        Dialect::Chat if model.provider == Provider::OpenAi => {
            followed(&json!({"role": "system", "content": text}))
        }
        Dialect::Chat if newest.role() == Role::User => appended(&newest, &text)?,
        Dialect::Chat => return None,
        Dialect::Responses => followed(&json!({"role": "developer", "content": text})),
    };
    Some(Addition {
        message: newest.index(),
        change,
    })
}

/// Whether a change that was made for one model can be shown to this one. A system message between others is
/// refused, or misunderstood, by models without such a channel; they are shown the conversation without it.
#[must_use]
pub fn fits(change: &Change, dialect: Dialect, model: &Model) -> bool {
    let Change::Followed(message) = change else {
        return true;
    };
    let takes_system = match dialect {
        Dialect::Anthropic => model.can(Capability::MidConversationSystem),
        Dialect::Chat => model.provider == Provider::OpenAi,
        Dialect::Responses => true,
    };
    // Within a text the quotes would be escaped.
    takes_system || !message.contains(r#""role":"system""#)
}

/// Pins restated at the newest message. `None` where `text` is empty or the newest message is the model's
/// own and no compaction.
///
/// | newest message | channel |
/// |---|---|
/// | the user's, on Anthropic also one of tool results | a block at its end |
/// | the provider's own summary | a `user` message behind it |
/// | a tool's, on Responses | a `developer` message behind it: a model could take a user's for a question |
/// | any other | a `user` message behind it |
#[must_use]
pub fn restate(request: &Request<'_>, text: &str) -> Option<Addition> {
    let last = request.message(request.len().checked_sub(1)?)?;
    let newest = newest(request).or_else(|| is_compaction(&last).then_some(last));
    let newest = newest.filter(|_| !text.trim().is_empty())?;
    let appended = appended(&newest, text).filter(|_| newest.role() == Role::User);
    let role = match (newest.dialect(), newest.role()) {
        (Dialect::Responses, Role::Tool) => "developer",
        _ => "user",
    };
    Some(Addition {
        message: newest.index(),
        change: appended.unwrap_or_else(|| followed(&json!({"role": role, "content": text}))),
    })
}

/// Whether a message is the provider's own summary and nothing else.
fn is_compaction(message: &Message<'_>) -> bool {
    let is_block =
        |part: &Part| matches!(part, Part::Opaque(it) if it.kind.as_str() == "compaction");
    let parts = message.draft().parts;
    !parts.is_empty() && parts.iter().all(is_block)
}

/// The newest message, unless it is the model's own or of a role that is not known.
fn newest<'r>(request: &'r Request<'_>) -> Option<Message<'r>> {
    let newest = request.message(request.len().checked_sub(1)?)?;
    let ours = matches!(newest.role(), Role::User | Role::Tool | Role::System);
    ours.then_some(newest)
}

fn followed(message: &Value) -> Change {
    Change::Followed(message.to_string().into())
}

/// A block at the end of `message`, where it has a place for one.
fn appended(message: &Message<'_>, text: &str) -> Option<Change> {
    let kind = match message.dialect() {
        Dialect::Responses => "input_text",
        Dialect::Anthropic | Dialect::Chat => "text",
    };
    let block = json!({"type": kind, "text": text}).to_string();
    message.edit().with_block(&block).render()?;
    Some(Change::Appended(block.into()))
}

#[cfg(test)]
mod tests {
    use super::{Change, RuntimeContext, fits, note};
    use context::Tokens;
    use tokens::ModelTable;
    use wire::api::{Dialect, Request};

    #[track_caller]
    fn check(member: &str, clears: bool) {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"hi"}}]{member}}}"#);
        let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
        let model = ModelTable::shipped().find("claude-opus-5-5");
        let facts = RuntimeContext {
            used: Some(Tokens::new(900)),
            ..RuntimeContext::default()
        };
        let Change::Followed(said) = note(&request, &model, &facts).unwrap().change else {
            panic!("a message of its own");
        };
        assert_eq!(said.contains("clear_at"), clears, "{said:?}");
    }

    #[test]
    fn a_system_message_between_others_is_shown_to_models_that_take_one() {
        let system = Change::Followed(r#"{"role":"system","content":"n"}"#.into());
        let user = Change::Followed(r#"{"role":"user","content":"\"role\":\"system\""}"#.into());
        let check = |model: &str, dialect, expected| {
            let model = ModelTable::shipped().find(model);
            assert_eq!(fits(&system, dialect, &model), expected, "{}", model.name);
            assert!(fits(&user, dialect, &model), "{}", model.name);
        };
        check("claude-opus-5-5", Dialect::Anthropic, true);
        check("claude-opus-4-5", Dialect::Anthropic, false);
        check("gpt-5.2", Dialect::Chat, true);
        check("llama-3.3-70b", Dialect::Chat, false);
        check("gpt-5.2", Dialect::Responses, true);
    }

    #[test]
    fn a_note_stays_where_the_breakpoint_would_fall_on_it() {
        check("", true);
        check(r#","cache_control":{"type":"ephemeral"}"#, false);
    }
}
